// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.{Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

import io.sparkzorder.bits.{HilbertCurve, ZValues}
import io.sparkzorder.expressions.{Hilbert, ZOrder}
import io.sparkzorder.expressions.sampling.ResolveSampledCalls
import io.sparkzorder.plans.Repeatability

/**
 * Computes the position of a row on a space-filling curve. The coordinates are the ranks of the values of
 * the row among all rows of the write. The ranks come from a sample, so the write reads its input twice:
 * first the ordering columns only, then all columns.
 */
private[ordered] object CurveOfInput {

  /** The number of bits of a position. */
  def bits(columns: Int): Int = columns * ZValues.bitsPerColumn(columns)

  /**
   * Why the query must not be read twice; None if it may. A second read of a join or an aggregate would be
   * slow. A second read of a query that may return other rows would make ranks that do not fit the rows.
   */
  def obstacle(query: LogicalPlan): Option[String] =
    query.collectFirst {
      case node if !isCheap(node) => s"the query has the operator ${node.nodeName}"
      case node if node.expressions.exists(SubqueryExpression.hasSubquery) =>
        "the query has a subquery"
    }.orElse(Repeatability.obstacle(query))

  private def isCheap(node: LogicalPlan): Boolean = node match {
    case _: Project | _: Filter | _: Union | _: Sort | _: SubqueryAlias => true
    case _: LocalRelation | _: Range | _: InMemoryRelation => true
    // scans of V2 sources are planned after this rule
    case _: HiveTableRelation | _: DataSourceV2Relation => true
    case l: LogicalRelation => l.relation.isInstanceOf[HadoopFsRelation]
    case _ => false
  }

  /**
   * @param columns the ordering columns, from the output of `query`
   * @param optimize Spark's optimizer. The sample must be optimized here, because the optimizer's rules for
   *   subqueries have run before writes are ordered
   */
  def of(
      columns: Seq[Expression],
      query: LogicalPlan,
      optimize: LogicalPlan => LogicalPlan): Expression = {
    val call = if (columns.size <= HilbertCurve.MaxColumns) Hilbert(columns) else ZOrder(columns)
    ResolveSampledCalls.bySample(query, Seq(call), optimize).head
  }
}
