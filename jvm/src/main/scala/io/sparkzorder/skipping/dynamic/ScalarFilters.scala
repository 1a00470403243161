// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.execution.datasources.LogicalRelation

import io.sparkzorder.skipping.scan.ScanFilters

/**
 * Marks the comparisons with scalar subqueries whose value the listing of files may find out by a second run of
 * the subquery, where an accelerator may replace the scan. The mark is a copy of the comparison that is no
 * filter of rows ([[ScanFilters]] takes it out of the plan).
 */
private[dynamic] final class ScalarFilters(columns: PrunableColumns) extends PredicateHelper {

  def apply(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries {
    case f @ Filter(condition, r: LogicalRelation) =>
      splitConjunctivePredicates(condition).filter(isUseful(_, r))
        .map(DynamicPruningExpression(_): Expression).reduceOption(And)
        .fold(f)(marks => f.copy(condition = And(condition, marks)))
  }

  private def isUseful(filter: Expression, r: LogicalRelation): Boolean =
    ScanFilters.comparesWithSubquery(filter, r) && {
      val queries = filter.collect { case s: ScalarSubquery => s.plan }
      queries.forall(BuildSides.canRunAgain) &&
      filter.references.flatMap(a => columns.share(Seq(a), r)).reduceOption(_ min _).exists {
        share => BuildSides.isCheaper(queries, share, r)
      }
    }
}
