// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.catalyst.expressions._

/**
 * A comparison of GREATEST or LEAST of several columns with a literal, as comparisons of the columns. Both
 * functions leave NULLs out.
 */
private[predicate] object Extremes {

  /**
   * A function from "negated" to a filter without GREATEST or LEAST. That filter is true in every row in which
   * the original is true, or false if negated; it may be true in further rows.
   */
  def unapply(filter: Expression): Option[Boolean => Expression] = {
    def flipped(c: BinaryComparison): BinaryComparison = c match {
      case LessThan(a, b) => GreaterThan(b, a)
      case LessThanOrEqual(a, b) => GreaterThanOrEqual(b, a)
      case GreaterThan(a, b) => LessThan(b, a)
      case GreaterThanOrEqual(a, b) => LessThanOrEqual(b, a)
      case EqualTo(a, b) => EqualTo(b, a)
      case other => other
    }
    filter match {
      case c: BinaryComparison =>
        (if (c.left.isInstanceOf[Literal]) flipped(c) else c) match {
          case _: EqualNullSafe => None
          case d => (d.left, d.right) match {
              case (Extreme(values, isGreatest), x: Literal) if x.value != null =>
                Some(negated => rewritten(values, isGreatest, d, x, negated))
              case _ => None
            }
        }
      case In(Extreme(values, _), list) if list.forall(_.isInstanceOf[Literal]) =>
        Some { negated =>
          // a value that is in the list may be hidden by another one
          if (negated) Literal(true) else values.map(In(_, list): Expression).reduce(Or(_, _))
        }
      case _ => None
    }
  }

  /** The values of a GREATEST or LEAST of several columns. */
  private object Extreme {
    def unapply(e: Expression): Option[(Seq[Expression], Boolean)] = e match {
      case _: Greatest | _: Least if e.references.size > 1 =>
        Some((e.children, e.isInstanceOf[Greatest]))
      case _ => None
    }
  }

  private def rewritten(
      values: Seq[Expression],
      isGreatest: Boolean,
      c: BinaryComparison,
      x: Literal,
      negated: Boolean): Expression = {
    def some(op: Expression => Expression) = values.map(op).reduce(Or(_, _))
    def every(op: Expression => Expression) =
      values.map(v => Or(op(v), IsNull(v)): Expression).reduce(And(_, _))
    def more(strict: Boolean)(v: Expression) =
      if (strict) GreaterThan(v, x) else GreaterThanOrEqual(v, x)
    def less(strict: Boolean)(v: Expression) = if (strict) LessThan(v, x) else LessThanOrEqual(v, x)
    def above(strict: Boolean) = if (isGreatest) some(more(strict)) else every(more(strict))
    def below(strict: Boolean) = if (isGreatest) every(less(strict)) else some(less(strict))
    (c, negated) match {
      case (_: GreaterThan, false) | (_: LessThanOrEqual, true) => above(strict = true)
      case (_: GreaterThanOrEqual, false) | (_: LessThan, true) => above(strict = false)
      case (_: LessThan, false) | (_: GreaterThanOrEqual, true) => below(strict = true)
      case (_: LessThanOrEqual, false) | (_: GreaterThan, true) => below(strict = false)
      case (_, false) => And(And(some(EqualTo(_, x)), above(strict = false)), below(strict = false))
      case (_, true) => Or(above(strict = true), below(strict = true))
    }
  }
}
