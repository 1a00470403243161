// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.lang.Long.numberOfTrailingZeros

import org.apache.spark.sql.catalyst.expressions._

import io.sparkzorder.index.{ByteStats, LongStats}

/** How the values of two columns compare in the rows that match. */
private[predicate] sealed trait PairRelation

private[predicate] object PairRelation {
  case object Less extends PairRelation
  case object AtMost extends PairRelation
  case object Greater extends PairRelation
  case object AtLeast extends PairRelation
  case object Equal extends PairRelation
  case object Different extends PairRelation

  /** None for comparisons in which NULL can match. */
  def of(c: BinaryComparison, negated: Boolean): Option[PairRelation] = c match {
    case _: LessThan => Some(if (negated) AtLeast else Less)
    case _: LessThanOrEqual => Some(if (negated) Greater else AtMost)
    case _: GreaterThan => Some(if (negated) AtMost else Greater)
    case _: GreaterThanOrEqual => Some(if (negated) Less else AtLeast)
    case _: EqualTo => Some(if (negated) Different else Equal)
    case _ => None
  }
}

/**
 * A comparison of two columns. A file may hold a match if some value between the bounds of one
 * column and some value between those of the other compare so.
 */
private[predicate] final class PairTest(
    a: ColumnDomains,
    b: ColumnDomains,
    relation: PairRelation,
    hasNaN: Boolean)
    extends FileTest {
  import ColumnDomains._

  override def restrict(words: Array[Long], from: Int): Unit = {
    var w = 0
    while (w < words.length) {
      var left = words(w)
      while (left != 0) {
        val bit = java.lang.Long.lowestOneBit(left)
        if (!mayMatch((from + w) * 64 + numberOfTrailingZeros(bit))) words(w) &= ~bit
        left ^= bit
      }
      w += 1
    }
  }

  private def mayMatch(i: Int): Boolean = {
    val (ofA, ofB) = (a.info(i), b.info(i))
    def has(bit: Int) = (ofA & ofB & bit) != 0
    if (((ofA | ofB) & NoValues) != 0) false
    else if (!has(Bounded) || (hasNaN && !has(NoNaN))) true
    else {
      relation match {
        case PairRelation.Less => compare(a, true, b, false, i) < 0
        case PairRelation.AtMost => compare(a, true, b, false, i) <= 0
        case PairRelation.Greater => compare(b, true, a, false, i) < 0
        case PairRelation.AtLeast => compare(b, true, a, false, i) <= 0
        case PairRelation.Equal =>
          compare(a, true, b, false, i) <= 0 && compare(b, true, a, false, i) <= 0
        case PairRelation.Different =>
          compare(a, true, b, false, i) < 0 || compare(b, true, a, false, i) < 0
      }
    }
  }

  /** Compares the min or max of one column in file `i` with that of the other. */
  private def compare(
      left: ColumnDomains,
      leftMin: Boolean,
      right: ColumnDomains,
      rightMin: Boolean,
      i: Int): Int = {
    val l = if (leftMin) left.min else left.max
    val r = if (rightMin) right.min else right.max
    (l, r) match {
      case (LongStats(x), LongStats(y)) => java.lang.Long.compare(x(i), y(i))
      case (ByteStats(x), ByteStats(y)) => x.compare(i, y(i))
      case _ => throw new IllegalArgumentException("bounds of two kinds")
    }
  }
}
