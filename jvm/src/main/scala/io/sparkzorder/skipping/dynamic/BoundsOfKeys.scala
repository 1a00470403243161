// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{Max, Min}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan, Project}

import io.sparkzorder.skipping.scan.{RuntimeFilters, SideOfKeys}

/**
 * A bound for a key of the other side of a join, which each row of this side gives.
 *
 * @param value an expression over the columns of this side
 * @param isLower true if the key is not less than the value
 * @param isInclusive true if the key may be the value
 */
private[dynamic] final case class KeyBound(
    value: Expression,
    isLower: Boolean,
    isInclusive: Boolean)

/**
 * The least lower bound and the greatest upper bound that the rows of one side of a join give for a key of
 * the other side. They come from a scalar subquery over a copy of the side.
 */
private[dynamic] final class BoundsOfKeys(val build: LogicalPlan, bounds: Seq[KeyBound])
    extends KeySource {
  override def onFiles(key: Expression): Expression = BoundsOfKeys.test(key, build, bounds)
  override def onRows(key: Expression): Expression = onFiles(key)
  override def isOnRows: Boolean = true
  override def isForRecord: Boolean = false
  override def canRunAgain: Boolean = true
  override def fresh: BoundsOfKeys = new BoundsOfKeys(build, bounds)
  override def forRows: BoundsOfKeys = fresh

  // a side with one row ends in an aggregate, and Spark reuses the shuffle of this aggregate
  override def isFree: Boolean = BoundsOfKeys.isOneRow(build)

  override lazy val form: Any =
    (SideOfKeys.of(build, bounds.map(_.value), Nil), bounds.map(b => (b.isLower, b.isInclusive)))
}

private[dynamic] object BoundsOfKeys {

  /**
   * A row of the other side has a match only if its key is above the least lower bound and below the
   * greatest upper bound. If the side has no rows, or only bounds that are NULL, the subquery returns NULL,
   * the test is true for no key, and indeed no key has a match.
   */
  def test(key: Expression, build: LogicalPlan, bounds: Seq[KeyBound]): Expression = {
    val extremes = bounds.map { b =>
      // if the query succeeds, a row whose bound cannot be computed has no match, so its bound may be NULL
      val value = TotalExpressions.orNull(b.value)
      (if (b.isLower) Min(value) else Max(value)).toAggregateExpression()
    }
    val row = CreateNamedStruct(extremes.zipWithIndex.flatMap { case (e, i) =>
      Seq(Literal(s"bound$i"), e)
    })
    val subquery =
      ScalarSubquery(Aggregate(Nil, Seq(Alias(row, RuntimeFilters.OfBounds)()), build))
    bounds.zipWithIndex.map { case (b, i) =>
      val extreme = GetStructField(subquery, i)
      (b.isLower, b.isInclusive) match {
        case (true, true) => GreaterThanOrEqual(key, extreme)
        case (true, false) => GreaterThan(key, extreme)
        case (false, true) => LessThanOrEqual(key, extreme)
        case (false, false) => LessThan(key, extreme)
      }
    }.reduce[Expression](And)
  }

  /** True for a filter that [[test]] has made. */
  def isIn(filter: Expression): Boolean = filter.exists {
    case s: ScalarSubquery => s.plan.output.headOption.exists(_.name == RuntimeFilters.OfBounds)
    case _ => false
  }

  def isOneRow(plan: LogicalPlan): Boolean = plan match {
    case a: Aggregate => a.groupingExpressions.isEmpty
    case p: Project => isOneRow(p.child)
    case f: Filter => isOneRow(f.child)
    case _ => false
  }
}
