// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.sql.catalyst.expressions.{
  And,
  DynamicPruningSubquery,
  Expression,
  PredicateHelper
}
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * What a filter of joins says, apart from any plan that computes it. Two of these are equal if they
 * filter the same column by the same keys.
 *
 * @param keys of the scan, one for each source, and conditions that stand beside them, in terms of the positions
 *   of the relation's columns
 * @param sources the sides of joins that give the keys
 */
private[skipping] final case class KeysOfJoin(keys: Seq[Expression], sources: Seq[SideOfKeys])

/**
 * The side of a join that gives keys.
 *
 * @param build canonical plan of the side, without filters by keys of its own joins
 * @param keys of the join, in terms of the positions of the side's columns
 * @param positions of the filter's key among `keys`
 */
private[skipping] final case class SideOfKeys(
    build: LogicalPlan,
    keys: Seq[Expression],
    positions: Seq[Int])

private[skipping] object SideOfKeys extends PredicateHelper {
  def of(build: LogicalPlan, keys: Seq[Expression], positions: Seq[Int]): SideOfKeys =
    SideOfKeys(
      withoutKeys(build).canonicalized,
      keys.map(QueryPlan.normalizeExpressions(_, build.output).canonicalized),
      positions)

  /**
   * The side has the same rows with our filters by the keys of its own joins, and without. Spark's own
   * filters, on partition columns, may be by the keys of a join above the side.
   */
  private def withoutKeys(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries {
    case Filter(condition, r: LogicalRelation) =>
      splitConjunctivePredicates(condition)
        .filterNot(f => RuntimeFilters.isOfJoin(f) && ScanFilters.isOnData(f, r))
        .reduceOption(And).fold[LogicalPlan](r)(Filter(_, r))
    case Filter(condition, s: DataSourceV2ScanRelation) if condition.exists(isDynamic) =>
      FormatTable.of(s).fold(splitConjunctivePredicates(condition)) { table =>
        splitConjunctivePredicates(condition).filterNot(FormatTable.isOfJoin(_, s, table))
      }.reduceOption(And).fold[LogicalPlan](s)(Filter(_, s))
  }

  private def isDynamic(e: Expression): Boolean = e.isInstanceOf[DynamicPruningSubquery]
}

private[scan] object KeysOfJoin {
  def of(filter: Expression, r: LogicalRelation): KeysOfJoin = {
    val parts = filter.collect { case d: DynamicPruningSubquery => d }
    KeysOfJoin(
      // a comparison with a subquery is a key by itself
      (if (parts.isEmpty) Seq(filter)
       else parts.map(_.pruningKey) ++ RuntimeFilters.conditionsIn(filter))
        .map(QueryPlan.normalizeExpressions(_, r.output).canonicalized),
      parts.map(d =>
        SideOfKeys.of(d.buildQuery, d.buildKeys, RuntimeFilterBridge.positions(d))))
  }
}
