// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

import io.sparkzorder.skipping.values.OrderedValue

/**
 * A condition that a difference lies between two numbers. Examples are `f.day - d.day BETWEEN 0 AND 5`,
 * `datediff(f.d, d.d) = 1` and `abs(f.day - d.day) <= 5`. A value of one operand then gives bounds for the
 * other.
 *
 * Spark's differences may overflow and wrap around: differences of integers outside of ANSI mode, and
 * differences of dates always. A difference can only wrap to a small number if the operands are near
 * opposite ends of their type. So the two numbers must be small, and a value beyond half the range of its
 * type gives no bounds. A condition with only one number (`f.day - d.day <= 5`) is not used: a difference
 * that wraps is negative and would satisfy the condition, although `f.day` is far above `d.day`.
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

  /** Finds the conjuncts that limit a difference on both sides, one conjunct alone or two together. */
  def in(conjuncts: Seq[Expression]): Seq[KeyDistances] = {
    val found = conjuncts.flatMap(said)
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

  /** The limits that one conjunct sets to a difference. */
  private final case class Said(of: Expression, least: Option[Long], greatest: Option[Long])

  private def said(conjunct: Expression): Option[Said] = conjunct match {
    case EqualTo(d, Whole(n)) => Some(Said(d, Some(n), Some(n)))
    case EqualTo(Whole(n), d) => Some(Said(d, Some(n), Some(n)))
    case GreaterThanOrEqual(d, Whole(n)) => Some(Said(d, Some(n), None))
    case GreaterThan(d, Whole(n)) => Some(Said(d, Some(n + 1), None))
    case LessThanOrEqual(d, Whole(n)) => Some(atMost(d, n))
    case LessThan(d, Whole(n)) => Some(atMost(d, n - 1))
    case LessThanOrEqual(Whole(n), d) => Some(Said(d, Some(n), None))
    case LessThan(Whole(n), d) => Some(Said(d, Some(n + 1), None))
    case GreaterThanOrEqual(Whole(n), d) => Some(atMost(d, n))
    case GreaterThan(Whole(n), d) => Some(atMost(d, n - 1))
    case _ => None
  }

  private def atMost(e: Expression, n: Long): Said = e match {
    case a: Abs if failsAtLeast(a) => Said(a.child, Some(-n), Some(n))
    case d => Said(d, None, Some(n))
  }

  /**
   * True if `abs` fails on the least value of its type. Outside of ANSI mode, `abs` returns this value
   * unchanged, which is negative, so the difference would satisfy `abs(x) <= 5`.
   */
  private def failsAtLeast(abs: Abs): Boolean = OrderedValue.range(abs.dataType).exists { range =>
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
    case DateDiff(to, from) if to.dataType == DateType && from.dataType == DateType =>
      Some((to, from))
    case _ => None
  }

  private def hasDistances(t: DataType): Boolean = t == IntegerType || t == LongType

  private def mostOf(t: DataType): Long = OrderedValue.range(t).get._2

  /** `value` plus `distance`; `end` if the value is too near an end of its type. */
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
