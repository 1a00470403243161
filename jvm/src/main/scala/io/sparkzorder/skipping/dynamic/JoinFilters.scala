// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Subquery}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import io.sparkzorder.conf.Settings
import io.sparkzorder.skipping.scan.{Accelerators, FormatTable, PruningFailure, ScanFilters}

/**
 * Filters the scan of one side of a join by the keys of the other side, if the bounds of the scanned files are
 * known: from a skipping index, or from the metadata of a Delta or Iceberg table. Spark's dynamic partition
 * pruning does the same for partition columns. The rule uses Spark's own expression for dynamic pruning. Spark
 * therefore takes the keys from the broadcast that the join makes anyway. If there is no broadcast, Spark drops the
 * filter, except where [[BuildSides]] allows that the side runs once more for its keys.
 *
 * This rule runs last in the optimizer. Earlier, a side of a join could still change, and would then differ
 * from the copy of the side in the filter. Also, subqueries of IN and EXISTS would not be joins yet.
 */
private[sparkzorder] object JoinFilters extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    // Spark optimizes the plan of a subquery alone first, and later as a part of the query
    case _: Subquery => plan
    case _ if !isOn || plan.isStreaming || isDone(plan) => plan
    case _ =>
      // reading the bounds of the files of a table may start a job, which the user may cancel
      PruningFailure.orElse(plan, "the keys of joins prune no files")(
        new JoinFilterInsertion(plan, conf, Accelerators.areHere).result)
  }

  private def isOn: Boolean =
    Seq(Settings.Enabled, Settings.SkippingEnabled, Settings.SkippingDynamic)
      .forall(Settings.ofSession(_)) &&
      // without these two settings, Spark does not plan dynamic filters
      conf.dynamicPartitionPruningEnabled && conf.exchangeReuseEnabled

  /**
   * True if the plan already has the filters of this rule: Spark applies the last rules repeatedly, until
   * nothing changes.
   */
  private def isDone(plan: LogicalPlan): Boolean = plan.collectWithSubqueries {
    case Filter(condition, r: LogicalRelation)
        if BoundsOfKeys.isIn(condition) || hasDynamic(condition)(ScanFilters.isOnData(_, r)) => r
    case Filter(condition, s: DataSourceV2ScanRelation)
        if BoundsOfKeys.isIn(condition) || hasDynamic(condition)(_ => true) &&
          FormatTable.of(s).exists(t => hasDynamic(condition)(FormatTable.isOnData(_, s, t))) => s
  }.nonEmpty

  private def hasDynamic(condition: Expression)(isOurs: Expression => Boolean): Boolean =
    condition.exists(e => e.isInstanceOf[DynamicPruning] && isOurs(e))
}

/**
 * Marks comparisons with scalar subqueries. For a marked comparison, the listing of files may run the subquery a
 * second time to get its value. This is for sessions in which an accelerator may replace the scan. The mark is a
 * copy of the comparison that does not filter rows: [[ScanFilters]] takes the copy out of the plan.
 */
private[dynamic] final class ScalarFilters(columns: PrunableColumns) extends PredicateHelper {

  def apply(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries {
    case f @ Filter(condition, r: LogicalRelation) =>
      splitConjunctivePredicates(condition).filter(isUseful(_, r))
        .map(DynamicPruningExpression(_): Expression).reduceOption(And)
        .fold(f)(marks => f.copy(condition = And(condition, marks)))
  }

  private def isUseful(filter: Expression, r: LogicalRelation): Boolean =
    ScanFilters.dataComparesWithSubquery(filter, r) && {
      val queries = filter.collect { case s: ScalarSubquery => s.plan }
      queries.forall(BuildSides.canRunAgain) &&
      filter.references.flatMap(a => columns.share(Seq(a), r)).reduceOption(_ min _).exists {
        share => columns.isCheaper(queries, share, r)
      }
    }
}
