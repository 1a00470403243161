// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{FileSourceScanExec, LeafExecNode, SparkPlan}
import org.apache.spark.sql.execution.datasources.HadoopFsRelation

/**
 * Comet asks for the files of a scan while it plans, and keeps the answer. A server plans a query before it
 * runs the query, and the keys of joins are not known then. Adaptive execution calls this rule for each
 * stage when the query runs: a node that has an older answer is copied, with the nodes that it holds, and
 * the copy asks again. So all scans of an execution have listings of this execution.
 *
 * Spark drops a copy that equals its original, so the index of the copy is another one.
 */
private[sparkzorder] object ListedAgain extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan =
    if (!Accelerators.areHere) plan
    else plan.transformUp {
      case scan: LeafExecNode if !scan.isInstanceOf[FileSourceScanExec] =>
        relationOf(scan).flatMap { case (relation, files) =>
          files.ofExecution.map(now =>
            copyOf(scan, files, relation.copy(location = now)(relation.sparkSession)))
        }.getOrElse(scan)
    }

  private def relationOf(node: SparkPlan): Option[(HadoopFsRelation, ZOrderFileIndex)] =
    node.productIterator.collectFirst {
      case r @ HadoopFsRelation(ours: ZOrderFileIndex, _, _, _, _, _) => (r, ours)
    }

  private def copyOf(
      node: SparkPlan,
      before: ZOrderFileIndex,
      now: HadoopFsRelation): SparkPlan = {
    val copy = node.makeCopy(node.productIterator.map {
      case r: HadoopFsRelation if r.location eq before => now
      case held: SparkPlan => copyOf(held, before, now)
      case other => other.asInstanceOf[AnyRef]
    }.toArray)
    node.logicalLink.foreach(copy.setLogicalLink)
    copy
  }
}
