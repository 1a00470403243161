// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.accelerators

import org.scalatest.tags.Slow

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, PlanExpression}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.sparkzorder.skipping.dynamic.{BothAdaptive, DynamicFuzzSuite, RandomStarSuite}
import io.sparkzorder.skipping.scan.{Neighbour, ShownNamesSuite}

/** Does what accelerators do to scans: it knows Spark's scan by its class, and asks for files while it plans. */
class StandInExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectQueryStagePrepRule(_ => NativeScans)
    extensions.injectColumnar(_ =>
      new ColumnarRule {
        override def preColumnarTransitions: Rule[SparkPlan] = NativeScans
      })
  }
}

object NativeScans extends Rule[SparkPlan] {
  val Key = "spark.test.standIn"

  override def apply(plan: SparkPlan): SparkPlan =
    if (SQLConf.get.getConfString(Key, "true") == "false") plan
    else plan.transformUp { case scan: FileSourceScanExec =>
      assert(scan.getClass == classOf[FileSourceScanExec], scan)
      assert(
        !scan.dataFilters.exists(_.exists {
          case _: ScalarSubquery => false
          case other => other.isInstanceOf[PlanExpression[_]]
        }),
        scan)
      scan.selectedPartitions
      val native = NativeScan(scan.relation, scan)
      scan.logicalLink.foreach(native.setLogicalLink)
      native
    }
}

case class NativeScan(@transient relation: HadoopFsRelation, scan: FileSourceScanExec)
    extends LeafExecNode {
  override def output: Seq[Attribute] = scan.output
  override def supportsColumnar: Boolean = scan.supportsColumnar
  override lazy val metrics: Map[String, SQLMetric] = scan.metrics
  // the numbers of files are counted while it plans
  override def resetMetrics(): Unit = ()
  override protected def doExecute(): RDD[InternalRow] = scan.execute()
  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = scan.executeColumnar()
  override protected def doCanonicalize(): SparkPlan = {
    val same = scan.canonicalized.asInstanceOf[FileSourceScanExec]
    NativeScan(same.relation, same)
  }
}

trait StandIn extends Neighbour {
  override protected def neighbour: String = classOf[StandInExtensions].getName
  override protected def isFirst: Boolean = true
}

abstract class StandInTests extends AcceleratorTests with StandIn {
  override protected def isNative(node: SparkPlan): Boolean = node.isInstanceOf[NativeScan]
  override protected def bySparkAlone[T](body: => T): T =
    inConf(NativeScans.Key -> "false", "spark.zorder.enabled" -> "false")(body)
}

/** Each Spark line has the stand-in. */
@Slow
class StandInSuite extends StandInTests with BothAdaptive {
  override protected def ways: Seq[(Boolean, Boolean)] = AcceleratorTests.All
}

/** A suite of one extension alone, which holds for two. */
@Slow
class StandInRandomStarSuite extends RandomStarSuite with StandIn

/** The listing is made while the accelerator plans. */
@Slow
class StandInShownNamesSuite extends ShownNamesSuite with StandIn

/** Random queries, whose scans all take keys from a second run of the other side. */
@Slow
class StandInDynamicFuzzSuite extends DynamicFuzzSuite with StandIn {

  /** True if some scan leaves files out. The stand-in does not tell why. */
  override protected def isPruned(df: DataFrame): Boolean =
    collectWithSubqueries(df.queryExecution.executedPlan) { case scan: NativeScan => scan }.exists(
      n =>
        n.metrics("numFiles").value < n.relation.inputFiles.length)
}
