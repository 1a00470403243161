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
 * Gives scans of relations with a skipping index the keys that the other side of a join has, as
 * Spark's dynamic partition pruning does for partition columns. The plan gets Spark's own
 * expression for that, so Spark takes the keys from the broadcast that the join makes anyway, and
 * drops the filter if there is none.
 *
 * This rule runs last in the optimizer. Earlier, a side of a join could still change, and the
 * filter's copy of the side would no longer equal it. The subqueries of IN and EXISTS would not yet
 * be joins.
 */
private[sparkzorder] object JoinFilters extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    // Spark optimizes the plan of a subquery by itself, and later as a part of the query
    case _: Subquery => plan
    case _ if !isOn || plan.isStreaming || isDone(plan) => plan
    case _ =>
      try new JoinFilterInsertion(plan, conf, Accelerators.areHere).result
      catch {
        // the bounds of a table's files may be read by a job
        case PruningFailure(e) if !JobCancellation.isCauseOf(e) =>
          IndexPruning.failed("a table in a join", e)
          plan
      }
  }

  private def isOn: Boolean =
    Seq(Settings.Enabled, Settings.SkippingEnabled, Settings.SkippingDynamic)
      .forall(Settings.ofSession(_)) &&
      // without these, Spark does not plan the filters
      conf.dynamicPartitionPruningEnabled && conf.exchangeReuseEnabled

  /** Spark applies the last rules until the plan stays as it is. */
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
