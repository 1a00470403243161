// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import org.apache.spark.sql.catalyst.expressions.DynamicPruning
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Subquery}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import io.sparkzorder.conf.Settings
import io.sparkzorder.skipping.scan.{
  Accelerators,
  FormatTable,
  IndexPruning,
  PruningFailure,
  ScanFilters
}
import io.sparkzorder.util.JobCancellation

/**
 * Filters the scan of a relation with a skipping index by the keys of the other side of a join, as Spark's
 * dynamic partition pruning does for partition columns. The rule uses Spark's own expression for dynamic
 * pruning. Spark therefore takes the keys from the broadcast that the join makes anyway, and drops the
 * filter if there is no broadcast.
 *
 * This rule runs last in the optimizer. Earlier, a side of a join could still change, and would then differ
 * from the copy of the side in the filter. Also, subqueries of IN and EXISTS would not be joins yet.
 */
private[sparkzorder] object JoinFilters extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    // Spark optimizes the plan of a subquery by itself, and later as a part of the query
    case _: Subquery => plan
    case _ if !isOn || plan.isStreaming || isDone(plan) => plan
    case _ =>
      try new JoinFilterInsertion(plan, conf, Accelerators.areHere).result
      catch {
        // Reading the bounds of the files of a table may start a job. If the user cancels this job, the
        // query must fail.
        case PruningFailure(e) if !JobCancellation.isCauseOf(e) =>
          IndexPruning.failed("a table in a join", e)
          plan
      }
  }

  private def isOn: Boolean =
    Seq(Settings.Enabled, Settings.SkippingEnabled, Settings.SkippingDynamic)
      .forall(Settings.ofSession(_)) &&
      // without these two settings, Spark does not plan dynamic filters
      conf.dynamicPartitionPruningEnabled && conf.exchangeReuseEnabled

  /**
   * True if the plan already has our filters: Spark applies the last rules repeatedly, until nothing
   * changes.
   */
  private def isDone(plan: LogicalPlan): Boolean = plan.collectWithSubqueries {
    case Filter(condition, r: LogicalRelation)
        if condition.exists {
          case d: DynamicPruning => ScanFilters.isOnData(d, r)
          case _ => false
        } || BoundsOfKeys.isIn(condition) => r
    case Filter(condition, s: DataSourceV2ScanRelation)
        if BoundsOfKeys.isIn(condition) || condition.exists(_.isInstanceOf[DynamicPruning]) &&
          FormatTable.of(s).exists(t =>
            condition.exists {
              case d: DynamicPruning => FormatTable.isOnData(d, s, t)
              case _ => false
            }) => s
  }.nonEmpty
}
