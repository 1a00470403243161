// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import scala.reflect.ClassTag

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}

/**
 * What one scan of a fact table read, and what the table has.
 *
 * @param isForKeys true if the scan belongs to a side of a join that ran once more for its keys
 */
final case class ScanCounts(
    table: String,
    files: Long,
    bytes: Long,
    allFiles: Int,
    allBytes: Long,
    isForKeys: Boolean = false)

/**
 * What a plan did when it was run. Exchanges and subqueries of a side of a join that runs once more for its
 * keys do not count: our rule has decided that this run costs less than the files that the keys prune.
 *
 * @param exchanges exchanges that were computed, without those that were reused
 * @param subqueries subqueries that were computed, without those that were reused
 */
final case class PlanCounts(
    scans: Seq[ScanCounts],
    exchanges: Int,
    reusedExchanges: Int,
    subqueries: Int,
    reusedSubqueries: Int)

object PlanCounts extends AdaptiveSparkPlanHelper {

  def of(executed: SparkPlan, scans: Seq[ScanCounts]): PlanCounts =
    PlanCounts(
      scans,
      nodes[Exchange](executed).size,
      nodes[ReusedExchangeExec](executed).size,
      nodes[BaseSubqueryExec](executed).count(!_.isInstanceOf[ReusedSubqueryExec]),
      nodes[ReusedSubqueryExec](executed).size)

  /**
   * True for the name of the subquery that runs a side of a join once more. Spark gives this name to the
   * subquery of a filter by the keys of a join, unless the keys come from the broadcast of the join.
   */
  def isRunForKeys(subquery: String): Boolean = subquery.startsWith("dynamicpruning#")

  /** Each node once, also where expressions share the subquery that has the node. */
  private def nodes[T <: SparkPlan](plan: SparkPlan)(implicit tag: ClassTag[T]): Seq[T] = {
    val seen =
      java.util.Collections.newSetFromMap(
        new java.util.IdentityHashMap[SparkPlan, java.lang.Boolean])
    val forKeys = collectWithSubqueries(plan) {
      case run: SubqueryExec if isRunForKeys(run.name) => run.child
    }
    forKeys.foreach(collectWithSubqueries(_) { case node => node }.foreach(seen.add))
    collectWithSubqueries(plan) { case tag(node) => node }.filter(seen.add)
  }
}
