// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import scala.reflect.ClassTag

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}

/** What one scan of a fact table read, and what the table has. */
final case class ScanCounts(table: String, files: Long, bytes: Long, allFiles: Int, allBytes: Long)

/**
 * What a plan did when it was run.
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

  /** Each node once, also where expressions share the subquery that has the node. */
  private def nodes[T <: SparkPlan](plan: SparkPlan)(implicit tag: ClassTag[T]): Seq[T] = {
    val seen =
      java.util.Collections.newSetFromMap(new java.util.IdentityHashMap[T, java.lang.Boolean])
    collectWithSubqueries(plan) { case tag(node) => node }.filter(seen.add)
  }
}
