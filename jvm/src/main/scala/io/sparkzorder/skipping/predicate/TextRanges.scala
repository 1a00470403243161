// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.StringType

import io.sparkzorder.skipping.values.Comparison

/**
 * Comparisons of one function of a text, such as `cast(s as int) >= 10 AND cast(s as int) <= 19`. The texts for
 * one of them are nearly all texts, because a number of any length begins with any digit. So both are
 * taken together before the texts are computed.
 */
private[predicate] object TextRanges {

  /** The conjuncts with one AND in the place of comparisons of one function. */
  def joined(conjuncts: Seq[Expression]): Seq[Expression] = {
    val of = conjuncts.map(compared(_).map(_._1.canonicalized))
    conjuncts.indices.flatMap { i =>
      of(i) match {
        case None => Some(conjuncts(i))
        case same if of.indexOf(same) < i => None
        case same => Some(conjuncts.indices.filter(of(_) == same).map(conjuncts).reduce(And))
      }
    }
  }

  /** The function and its comparisons, at least two. */
  def unapply(filter: Expression): Option[(Expression, Seq[(Comparison, Literal)])] = filter match {
    case And(left, right) =>
      val all = unapply(left).orElse(compared(left).map { case (e, c) => (e, Seq(c)) })
      for ((e, some) <- all; (other, one) <- compared(right) if e.semanticEquals(other))
        yield (e, some :+ one)
    case _ => None
  }

  private def compared(e: Expression): Option[(Expression, (Comparison, Literal))] = (e match {
    case LessThan(a, b: Literal) => Some((a, (Comparison.Less, b)))
    case LessThan(a: Literal, b) => Some((b, (Comparison.Greater, a)))
    case LessThanOrEqual(a, b: Literal) => Some((a, (Comparison.AtMost, b)))
    case LessThanOrEqual(a: Literal, b) => Some((b, (Comparison.AtLeast, a)))
    case GreaterThan(a, b: Literal) => Some((a, (Comparison.Greater, b)))
    case GreaterThan(a: Literal, b) => Some((b, (Comparison.Less, a)))
    case GreaterThanOrEqual(a, b: Literal) => Some((a, (Comparison.AtLeast, b)))
    case GreaterThanOrEqual(a: Literal, b) => Some((b, (Comparison.AtMost, a)))
    case _ => None
  }).filter { case (of, (_, literal)) => literal.value != null && isOfText(of) }

  private def isOfText(e: Expression): Boolean = e match {
    case _: Attribute | _: GetStructField => false
    case c => c.references.size == 1 && !Branches.in(c).isDefined &&
      c.references.head.dataType.isInstanceOf[StringType]
  }
}
