// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.types._

import io.sparkzorder.skipping.values.{Comparison, OrderedValue}

/**
 * Finds conditions of a join by which the rows of one side restrict the keys of the other side. Conjuncts that are
 * equalities of two keys are left out, because [[JoinFilterInsertion]] handles such equalities. An equality inside a
 * disjunction is found, such as `f.k = d.a` in `f.k = d.a OR f.k = d.b`.
 *
 * @param stream the side whose keys are restricted
 * @param build the side that supplies the values
 */
private[dynamic] final class KeyConditions(stream: LogicalPlan, build: LogicalPlan)
    extends PredicateHelper {
  import KeyConditions._

  /** The restrictions in the conjuncts of a condition. A row of `stream` with a partner meets each restriction. */
  def in(condition: Expression): Seq[OneOf] = {
    val parts = splitConjunctivePredicates(condition)
    val bounds = byKey(
      parts.flatMap(compared).collect { case (k, b: Bounds) => (k, b) } ++
        KeyDistances.in(parts).flatMap(of))
    val own = parts.filter(isOfBuild)
    bounds.map(b => OneOf(Seq(b), own, None)) ++
      parts.map(alternatives).filter(_.nonEmpty).flatMap(oneOf(_, own))
  }

  /** The conditions of which at least one must hold; empty if `condition` is not a disjunction. */
  private def alternatives(condition: Expression): Seq[Expression] = condition match {
    case o: Or => splitDisjunctivePredicates(o)
    // a membership in values of one row, such as `k IN (a, a + 1)`
    case In(value, values) if values.size <= MaxAlternatives => values.map(EqualTo(value, _))
    case ArrayContains(CreateArray(values, _), value) if values.size <= MaxAlternatives =>
      values.map(EqualTo(value, _))
    case _ => Nil
  }

  /** True for a condition that reads only columns of `build` and cannot fail on any row. */
  private def isOfBuild(condition: Expression): Boolean =
    isOf(condition, build) && TotalExpressions.isTotal(condition)

  /**
   * A disjunction of conditions. None if no condition restricts a key, or if some condition neither restricts a
   * key nor passes [[isOfBuild]].
   *
   * @param own conditions on the build side alone, as in [[OneOf]]
   */
  private def oneOf(conditions: Seq[Expression], own: Seq[Expression]): Option[OneOf] = {
    val (ofBuild, ofKeys) = conditions.partition(isOfBuild)
    val restrictions = ofKeys.map { condition =>
      val found = splitConjunctivePredicates(condition).flatMap(compared)
      found.collectFirst { case (k, e: Equal) => (k, e: Restriction) }
        .orElse(byKey(found.collect { case (k, b: Bounds) => (k, b) }).headOption)
    }
    if (restrictions.isEmpty || restrictions.contains(None)) None
    else {
      val found = restrictions.flatten
      val unless = ofBuild.reduceOption(Or)
      // if one restriction is no equality, all become bounds: a scan cannot take an OR of key sets and comparisons
      val isEqual = unless.isEmpty && found.forall(_._2.isInstanceOf[Equal])
      val keys = if (isEqual) found else found.map { case (k, r) => (k, r.asBounds) }
      Some(OneOf(keys, own, unless))
    }
  }

  private def byKey(found: Seq[(Expression, Bounds)]): Seq[(Expression, Restriction)] =
    found.map(_._1.canonicalized).distinct.map { key =>
      val same = found.filter(_._1.canonicalized == key)
      (same.head._1, Bounds(same.flatMap(_._2.bounds)))
    }

  /** A key of `stream` and its restriction, if the condition compares the key with a value of `build`. */
  private def compared(condition: Expression): Option[(Expression, Restriction)] = condition match {
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
      isInclusive: Boolean): Option[(Expression, Restriction)] = {
    def of(key: Expression, value: Expression, isLower: Boolean) = sides(key, value).map {
      case (k, v) => (k, Bounds(Seq(KeyBound(v, isLower, isInclusive))))
    }
    of(greater, less, isLower = true).orElse(of(less, greater, isLower = false))
  }

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

  /**
   * The greatest number of elements of a list, as in `k IN (a, a + 1)`. The build side may have to run once more for
   * each element, because the values must be known when files are pruned.
   */
  private val MaxAlternatives = 8

  /**
   * A disjunction of restrictions. If two rows match, then the row of the stream side meets the restriction of at
   * least one of `keys`, or the row of the build side meets `unless`.
   *
   * @param keys each key of the stream side with its restriction
   * @param own conditions on the build side alone, which every row of that side with a partner meets
   * @param unless a condition on the build side. A row that meets the condition matches every row. An example is
   *   `d.k IS NULL` in `d.k = f.k OR d.k IS NULL`
   */
  final case class OneOf(
      keys: Seq[(Expression, Restriction)],
      own: Seq[Expression],
      unless: Option[Expression]) {

    /**
     * The rows of the build side that can match: `own` is true, and `unless` is true or no bound is NULL.
     *
     * @param side the plan of the build side
     * @param bounds the bounds of one of `keys`
     */
    def rows(side: LogicalPlan, bounds: Seq[KeyBound]): LogicalPlan = {
      val sets: Expression =
        bounds.map(b => IsNotNull(TotalExpressions.orNull(b.value))).reduce[Expression](And)
      Filter((own :+ unless.fold(sets)(Or(sets, _))).reduce(And), side)
    }
  }

  /** How a row of the build side restricts the key of a matching row. */
  sealed trait Restriction {

    /** The same restriction as bounds. An equality becomes a lower and an upper bound of the same value. */
    def asBounds: Bounds
  }

  final case class Equal(value: Expression) extends Restriction {
    override def asBounds: Bounds = Bounds(
      Seq(true, false).map(isLower => KeyBound(value, isLower, isInclusive = true)))
  }

  final case class Bounds(bounds: Seq[KeyBound]) extends Restriction {
    override def asBounds: Bounds = this
  }
}

/**
 * A condition that a difference lies between two numbers. Examples are `f.day - d.day BETWEEN 0 AND 5`,
 * `datediff(f.d, d.d) = 1` and `abs(f.day - d.day) <= 5`. A value of one operand then gives bounds for the
 * other.
 *
 * Spark's differences may overflow and wrap around: differences of integers outside of ANSI mode, and differences
 * of dates always. A difference can only wrap to a small number if the operands are near opposite ends of their
 * type. So the two numbers may be at most a quarter of the greatest value of the type, and a value above half of
 * the greatest value gives no bounds. A condition with only one number (`f.day - d.day <= 5`) is not used: a
 * difference that wraps is negative and would satisfy the condition, although `f.day` is far above `d.day`.
 *
 * @param from the first operand of the difference `from - to`
 * @param to the second operand
 * @param least the least difference that satisfies the condition
 * @param greatest the greatest difference that satisfies the condition
 */
private[dynamic] final case class KeyDistances(
    from: Expression,
    to: Expression,
    least: Long,
    greatest: Long) {
  import KeyDistances._

  /** @param value an expression that equals `to` in each row that the join returns */
  def boundsOfFrom(value: Expression): KeyConditions.Bounds = bounds(value, least, greatest)

  /** @param value an expression that equals `from` in each row that the join returns */
  def boundsOfTo(value: Expression): KeyConditions.Bounds = bounds(value, -greatest, -least)

  private def bounds(value: Expression, lower: Long, upper: Long): KeyConditions.Bounds = {
    val Some((first, last)) = OrderedValue.range(value.dataType): @unchecked
    KeyConditions.Bounds(Seq(
      KeyBound(moved(value, lower, first), isLower = true, isInclusive = true),
      KeyBound(moved(value, upper, last), isLower = false, isInclusive = true)))
  }
}

private[dynamic] object KeyDistances {

  /**
   * Finds the differences that the conjuncts limit on both sides. One conjunct can give both limits, or two can.
   */
  def in(conjuncts: Seq[Expression]): Seq[KeyDistances] = {
    val found = conjuncts.flatMap(limitsIn)
    found.map(_.of.canonicalized).distinct.flatMap { form =>
      val same = found.filter(_.of.canonicalized == form)
      for {
        (from, to) <- difference(same.head.of)
        least <- same.flatMap(_.least).reduceOption(_ max _)
        greatest <- same.flatMap(_.greatest).reduceOption(_ min _)
        if Seq(least, greatest).forall(_.abs <= mostOf(from.dataType) / 4)
      } yield KeyDistances(from, to, least, greatest)
    }
  }

  /** The least and the greatest value that one conjunct allows for a difference; None where it sets no limit. */
  private final case class Limits(of: Expression, least: Option[Long], greatest: Option[Long])

  private def limitsIn(conjunct: Expression): Option[Limits] = conjunct match {
    case EqualTo(d, Whole(n)) => Some(Limits(d, Some(n), Some(n)))
    case EqualTo(Whole(n), d) => Some(Limits(d, Some(n), Some(n)))
    case Comparison.WithLiteral(d, comparison, Whole(n)) => Some(comparison match {
        case Comparison.AtLeast => Limits(d, Some(n), None)
        case Comparison.Greater => Limits(d, Some(n + 1), None)
        case Comparison.AtMost => atMost(d, n)
        case Comparison.Less => atMost(d, n - 1)
      })
    case _ => None
  }

  private def atMost(e: Expression, n: Long): Limits = e match {
    case a: Abs if failsOnLeast(a) => Limits(a.child, Some(-n), Some(n))
    case d => Limits(d, None, Some(n))
  }

  /**
   * True if `abs` fails on the least value of its type. Outside of ANSI mode, `abs` returns this value
   * unchanged, which is negative, so the difference would satisfy `abs(x) <= 5`.
   */
  private def failsOnLeast(abs: Abs): Boolean = OrderedValue.range(abs.dataType).exists { range =>
    val least = Literal(OrderedValue.ofLong(abs.dataType)(range._1), abs.dataType)
    Try(abs.withNewChildren(Seq(least)).eval()).isFailure
  }

  private object Whole {
    def unapply(e: Expression): Option[Long] = (e match {
      case Literal(n: Int, IntegerType) => Some(n.toLong)
      case Literal(n: Long, LongType) => Some(n)
      case _ => None
    }).filter(_.abs <= Long.MaxValue / 4)
  }

  private def difference(e: Expression): Option[(Expression, Expression)] = e match {
    case Subtract(from, to, _) if from.dataType == to.dataType && hasDistances(from.dataType) =>
      Some((from, to))
    // DateDiff(end, start) is end - start
    case DateDiff(end, start) if end.dataType == DateType && start.dataType == DateType =>
      Some((end, start))
    case _ => None
  }

  private def hasDistances(t: DataType): Boolean = t == IntegerType || t == LongType

  private def mostOf(t: DataType): Long = OrderedValue.range(t).get._2

  /**
   * `value` plus `distance`. The result is `end` if `value` is so near an end of its type that the sum could wrap.
   */
  private def moved(value: Expression, distance: Long, end: Long): Expression = {
    val t = value.dataType
    def literal(n: Long) = Literal(OrderedValue.ofLong(t)(n), t)
    val most = mostOf(t) / 2
    val sum =
      if (t == DateType) DateAdd(value, Literal(distance.toInt))
      else Add(value, literal(distance))
    // if `value` is NULL, the condition of the If is not true, and the sum is NULL
    If(Or(LessThan(value, literal(-most)), GreaterThan(value, literal(most))), literal(end), sum)
  }
}
