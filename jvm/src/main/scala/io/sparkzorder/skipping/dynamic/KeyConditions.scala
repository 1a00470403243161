// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}

/**
 * Conditions of a join, other than its equalities, by which the rows of one side say something of the keys
 * of the other side.
 *
 * @param stream the side whose keys are told
 * @param build the side that tells
 */
private[dynamic] final class KeyConditions(stream: LogicalPlan, build: LogicalPlan)
    extends PredicateHelper {
  import KeyConditions._

  /** What the parts of a condition say. Each is true for every row that has a partner. */
  def in(condition: Expression): Seq[OneOf] = {
    val parts = splitConjunctivePredicates(condition)
    val bounds = together(
      parts.flatMap(compared).collect { case (k, b: Bounds) => (k, b) } ++
        KeyDistances.in(parts).flatMap(of))
    val own = ofBuild(parts)
    bounds.map(b => OneOf(Seq(b), own)) ++
      parts.map(ways).filter(_.nonEmpty).flatMap(oneOf(_, own))
  }

  /** The conditions of which one must hold; none if the condition is no choice. */
  private def ways(condition: Expression): Seq[Expression] = condition match {
    case o: Or => splitDisjunctivePredicates(o)
    // a membership in values of one row, such as `k IN (a, a + 1)`
    case In(value, values) if values.size <= MaxWays => values.map(EqualTo(value, _))
    case ArrayContains(CreateArray(values, _), value) if values.size <= MaxWays =>
      values.map(EqualTo(value, _))
    case _ => Nil
  }

  /** Conditions on rows of the side that tells. */
  private def ofBuild(parts: Seq[Expression]): Seq[Expression] =
    parts.filter(p => isOf(p, build) && TotalExpressions.isTotal(p))

  /** Each way must say something. */
  private def oneOf(conditions: Seq[Expression], own: Seq[Expression]): Option[OneOf] = {
    val ways = conditions.map { way =>
      val found = splitConjunctivePredicates(way).flatMap(compared)
      found.collectFirst { case (k, e: Equal) => (k, e: Said) }
        .orElse(together(found.collect { case (k, b: Bounds) => (k, b) }).headOption)
    }
    if (ways.contains(None)) None
    else {
      val found = ways.flatten
      // one scan takes filters by keys alone, or comparisons alone
      val isEqual = found.forall(_._2.isInstanceOf[Equal])
      Some(OneOf(if (isEqual) found else found.map { case (k, said) => (k, said.asBounds) }, own))
    }
  }

  private def together(found: Seq[(Expression, Bounds)]): Seq[(Expression, Said)] =
    found.map(_._1.canonicalized).distinct.map { key =>
      val same = found.filter(_._1.canonicalized == key)
      (same.head._1, Bounds(same.flatMap(_._2.bounds)))
    }

  /** A key of the side that is told, and what a comparison says of it. */
  private def compared(condition: Expression): Option[(Expression, Said)] = condition match {
    case EqualTo(a, b) => sides(a, b).orElse(sides(b, a)).map { case (k, v) => (k, Equal(v)) }
    case GreaterThan(a, b) => bound(a, b, isInclusive = false)
    case GreaterThanOrEqual(a, b) => bound(a, b, isInclusive = true)
    case LessThan(a, b) => bound(b, a, isInclusive = false)
    case LessThanOrEqual(a, b) => bound(b, a, isInclusive = true)
    case _ => None
  }

  private def bound(
      greater: Expression,
      less: Expression,
      isInclusive: Boolean): Option[(Expression, Said)] =
    sides(greater, less).map { case (k, v) =>
      (k, Bounds(Seq(KeyBound(v, isLower = true, isInclusive))))
    }.orElse(sides(less, greater).map { case (k, v) =>
      (k, Bounds(Seq(KeyBound(v, isLower = false, isInclusive))))
    })

  private def sides(key: Expression, value: Expression): Option[(Expression, Expression)] =
    if (isOf(key, stream) && isOf(value, build) && key.dataType == value.dataType) {
      Some((key, value))
    } else None

  private def of(distance: KeyDistances): Option[(Expression, Bounds)] =
    sides(distance.from, distance.to).map { case (k, v) => (k, distance.boundsOfFrom(v)) }
      .orElse(sides(distance.to, distance.from).map { case (k, v) => (k, distance.boundsOfTo(v)) })

  private def isOf(e: Expression, side: LogicalPlan): Boolean =
    e.deterministic && e.references.nonEmpty && e.references.subsetOf(side.outputSet) &&
      !e.exists(_.isInstanceOf[PlanExpression[_]])
}

private[dynamic] object KeyConditions {

  /** Each alternative of a membership may take a second run of the other side. */
  private val MaxWays = 8

  /**
   * Keys, of which one is as a row of the other side says.
   *
   * @param own conditions that the row of the other side meets
   */
  final case class OneOf(ways: Seq[(Expression, Said)], own: Seq[Expression]) {

    /** The rows of the other side that can set some bounds to a partner. */
    def rows(side: LogicalPlan, bounds: Seq[KeyBound]): LogicalPlan =
      Filter(
        (own ++ bounds.map(b => IsNotNull(TotalExpressions.orNull(b.value)))).reduce(And),
        side)
  }

  sealed trait Said {
    def asBounds: Bounds
  }

  final case class Equal(value: Expression) extends Said {
    override def asBounds: Bounds = Bounds(
      Seq(true, false).map(isLower => KeyBound(value, isLower, isInclusive = true)))
  }

  final case class Bounds(bounds: Seq[KeyBound]) extends Said {
    override def asBounds: Bounds = this
  }
}
