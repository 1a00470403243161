// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.SparkConf
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.planning.ScanOperation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.{
  FileSourceStrategy,
  HadoopFsRelation,
  InMemoryFileIndex,
  LogicalRelation
}
import org.apache.spark.sql.execution.datasources.v2.{
  DataSourceV2ScanRelation,
  DataSourceV2Strategy,
  FileScan
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.ZOrderSessionSuite

/** A session with another extension, which is named before ours or after ours. */
trait Neighbour extends ZOrderSessionSuite {

  protected def neighbour: String
  protected def isFirst: Boolean

  override protected def sparkConf: SparkConf = {
    val conf = super.sparkConf
    val others = conf.get("spark.sql.extensions")
    conf.set(
      "spark.sql.extensions",
      if (isFirst) s"$neighbour,$others" else s"$others,$neighbour")
  }
}

trait StrangerFirst extends Neighbour {
  override protected def neighbour: String = classOf[StrangeExtensions].getName
  override protected def isFirst: Boolean = true
}

trait StrangerLast extends StrangerFirst {
  override protected def isFirst: Boolean = false
}

/** Plans every scan of files by Spark's own strategies, as Delta's extension does. */
class StrangeExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectPlannerStrategy(_ => LimitOfFiles)
    extensions.injectPlannerStrategy(_ => StrangeStrategy)
  }
}

/** Plans nothing, and refuses scans of many files where that is wanted, as Kyuubi's extension does. */
object LimitOfFiles extends SparkStrategy {
  val Key = "spark.test.limitOfFiles"

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    plan match {
      case ScanOperation(_, _, _, scan: LogicalRelation) => scan.relation match {
          case HadoopFsRelation(files: InMemoryFileIndex, _, _, _, _, _) =>
            val limit = SQLConf.get.getConfString(Key, Int.MaxValue.toString).toInt
            if (files.allFiles().size > limit) throw new IllegalStateException("too many files")
          case _ =>
        }
      case _ =>
    }
    Nil
  }
}

object StrangeStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case ScanOperation(_, _, _, scan: LogicalRelation)
        if scan.relation.isInstanceOf[HadoopFsRelation] => FileSourceStrategy(plan)
    case _ =>
      plan.collectFirst { case r: DataSourceV2ScanRelation => r.scan } match {
        case Some(scan: FileScan) =>
          new DataSourceV2Strategy(SparkLine.session(scan.sparkSession))(plan)
        case _ => Nil
      }
  }
}
