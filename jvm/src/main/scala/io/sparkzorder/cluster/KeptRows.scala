// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import java.math.BigInteger

import org.apache.spark.sql.types.{Decimal, DoubleType, FloatType}

import io.sparkzorder.bits.OrderedLongs
import io.sparkzorder.ordering.{BoundsIndex, LongBounds, WideBounds}
import io.sparkzorder.table.stats.{ColumnRange, FileRange}

/**
 * One ordering column of the files of a folder that a run leaves as they are.
 *
 * @param ranges of the files
 * @param values of each file that are not NULL
 * @param nulls of all files
 */
private[sparkzorder] final case class KeptColumn(
    ranges: IndexedSeq[ColumnRange],
    values: IndexedSeq[Long],
    nulls: Long)

/**
 * How the rows of a whole folder lie among the sampled values of the rows that a run rewrites.
 *
 * A point query asks for any value of the folder. If the side of a cell were measured by the rewritten
 * rows alone, an hour of new rows would look as wide in time as a year of all rows, and would be cut
 * by time again. So a side is measured by all rows of the folder ([[RankedColumn.share]]).
 *
 * The kept rows are known by the ranges of their files. The rows of a file that lie within the sampled
 * values are taken to be distributed as the sampled rows are. The share of its rows beyond the sampled
 * values comes from the values, where these are numbers.
 */
private[cluster] final class KeptRows private (
    rows: Double,
    nulls: Double,
    below: Array[Double],
    upTo: Array[Double]) {

  /** The share of the folder's rows from rank `lowest` to rank `highest`. */
  def share(lowest: Int, highest: Int): Double =
    if (highest < lowest) 0.0
    else {
      val ofNulls = if (lowest == 0) nulls else 0.0
      (ofNulls + between(math.max(1, lowest), highest)) / math.max(1.0, rows)
    }

  /** The share of the folder's values from rank `lowest`, at least 1, to rank `highest`. */
  def shareOfValues(lowest: Int, highest: Int): Double =
    between(lowest, highest) / math.max(1.0, rows - nulls)

  private def between(lowest: Int, highest: Int): Double =
    if (highest < lowest) 0.0 else math.max(0.0, upTo(highest) - below(lowest))
}

private[cluster] object KeptRows {

  /**
   * @param column a sample of the rows that are rewritten
   * @param rows that are rewritten
   */
  def of(column: RankedColumn, rows: Long, kept: KeptColumn): KeptRows = {
    val n = column.sorted.weights.length
    val weight = rows.toDouble / math.max(1, column.rows)
    // the rows of kept files for each sampled row of a rank, as differences between ranks
    val density = new Array[Double](n + 2)
    // rows of kept files whose values lie between two ranks: below(r) are those just below rank r
    val gaps = new Array[Double](n + 2)
    kept.ranges.indices.foreach { f =>
      val values = kept.values(f).toDouble
      val (least, most) = kept.ranges(f) match {
        case FileRange(min, max) =>
          (
            (column.distinct.slotOf(min) >> 1) + 1,
            (column.distinct.slotOf(max) + 1) >> 1)
        case _ => (1, n)
      }
      if (kept.ranges(f) != ColumnRange.Empty) {
        if (least > most) gaps(least) += values
        else {
          val (before, after) = beyond(column.distinct, kept.ranges(f))
          gaps(1) += before * values
          gaps(n + 1) += after * values
          val sampled = column.below(most + 1) - column.below(least)
          val each = (1 - before - after) * values / math.max(1, sampled)
          density(least) += each
          density(most + 1) -= each
        }
      }
    }
    val nulls = kept.nulls + column.nulls * weight
    val below = new Array[Double](n + 2)
    val upTo = new Array[Double](n + 2)
    var sum = nulls
    var each = weight
    upTo(0) = nulls
    (1 to n).foreach { r =>
      each += density(r)
      sum += gaps(r)
      below(r) = sum
      sum += math.max(0.0, each) * column.sorted.weights(r - 1)
      upTo(r) = sum
    }
    sum += gaps(n + 1)
    below(n + 1) = sum
    upTo(n + 1) = sum
    new KeptRows(sum, nulls, below, upTo)
  }

  /** The shares of a file's rows below and above all sampled values. */
  private def beyond(sampled: BoundsIndex, range: ColumnRange): (Double, Double) = range match {
    case FileRange(min, max) if sampled.length > 0 =>
      val last = sampled.length - 1
      val isBelow = sampled.slotOf(min) == 0
      val isAbove = sampled.slotOf(max) == 2 * sampled.length
      val numbers = for {
        from <- number(sampled, min)
        until <- number(sampled, max)
        if until > from && !from.isInfinite && !until.isInfinite
      } yield (from, until)
      numbers match {
        case Some((from, until)) =>
          (
            if (isBelow) (numberOf(sampled, 0) - from) / (until - from) else 0.0,
            if (isAbove) (until - numberOf(sampled, last)) / (until - from) else 0.0)
        case None =>
          val parts = 1.0 + (if (isBelow) 1 else 0) + (if (isAbove) 1 else 0)
          (if (isBelow) 1 / parts else 0.0, if (isAbove) 1 / parts else 0.0)
      }
    case _ => (0.0, 0.0)
  }

  private def number(sampled: BoundsIndex, value: Any): Option[Double] =
    sampled match {
      case b: LongBounds => Some(numberOf(b, b.order.toLong(value)))
      case b: WideBounds =>
        Some(b.order.unscaled(value.asInstanceOf[Decimal]).doubleValue)
      case _ => None
    }

  private def numberOf(sampled: BoundsIndex, i: Int): Double = (sampled, sampled.key(i)) match {
    case (b: LongBounds, key: java.lang.Long) => numberOf(b, key.longValue)
    case (_, key: BigInteger) => key.doubleValue
    case (_, key) => throw new IllegalArgumentException(s"$key is no number")
  }

  private def numberOf(bounds: LongBounds, ordered: Long): Double = bounds.order.dataType match {
    case DoubleType => OrderedLongs.toDouble(ordered)
    case FloatType => OrderedLongs.toFloat(ordered).toDouble
    case _ => ordered.toDouble
  }
}
