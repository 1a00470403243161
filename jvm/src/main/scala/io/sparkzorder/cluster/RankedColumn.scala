// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import java.math.BigInteger

import scala.collection.mutable

import org.apache.spark.sql.types.{DataType, Decimal, DoubleType, FloatType}

import io.sparkzorder.bits.OrderedLongs
import io.sparkzorder.ordering.{BoundsIndex, LongBounds, SortedSample, WideBounds}
import io.sparkzorder.table.stats.{ColumnRange, FileRange}

/**
 * A sampled column with its values replaced by ranks: 0 for NULL, and r for the r-th least of the
 * distinct values. The code that cuts a folder into files needs only the ranks, so it is the same
 * for all types.
 *
 * @param sorted the distinct values with the number of rows of each
 * @param distinct the same distinct values, as an index for searches
 * @param ranks the rank of each sampled row, in the order of the rows
 * @param kept how all rows of the folder lie among the sampled values; None if the sample is of all these rows
 */
private[sparkzorder] final class RankedColumn(
    val dataType: DataType,
    val sorted: SortedSample,
    val distinct: BoundsIndex,
    val ranks: Array[Int],
    kept: Option[KeptRows] = None)
    extends KeyColumn {

  override def ranked: RankedColumn = this

  /**
   * The same sample with more values, so that cuts can lie at these values. No sampled row has such a value.
   *
   * @param keys see [[io.sparkzorder.ordering.BoundsIndex.key]]
   */
  def withValues(keys: Seq[AnyRef]): RankedColumn = {
    val n = distinct.length
    // an even slot is a gap, where a new value goes
    val missing = keys.map(k => distinct.slotOfKey(k) -> k).filter(_._1 % 2 == 0)
      .groupBy(_._1 >> 1).map { case (gap, own) =>
        gap -> BoundsIndex.sortedKeys(distinct.order, own.map(_._2))
      }
    if (missing.isEmpty) this
    else {
      val all = new mutable.ArrayBuffer[AnyRef]
      val weights = new mutable.ArrayBuilder.ofDouble
      val moved = new Array[Int](n + 1)
      (0 to n).foreach { i =>
        missing.getOrElse(i, Nil).foreach { key =>
          all += key
          weights += 0.0
        }
        if (i < n) {
          all += distinct.key(i)
          weights += sorted.weights(i)
          moved(i + 1) = all.length
        }
      }
      val merged = BoundsIndex.ofKeys(distinct.order, all.toArray)
      new RankedColumn(
        dataType,
        new SortedSample(weights.result(), taken => merged.take(taken)),
        merged,
        ranks.map(moved(_)))
    }
  }

  /**
   * The same sample, whose shares are those of all rows of the folder.
   *
   * @param rows the number of rows that are rewritten, of which this is the sample
   * @param kept the rows of the folder that are not rewritten
   */
  def among(rows: Long, kept: KeptColumn): RankedColumn =
    new RankedColumn(dataType, sorted, distinct, ranks, Some(KeptRows.of(this, rows, kept)))

  override def rows: Int = ranks.length

  /** `below(r)` counts the sampled rows of ranks below `r`, for `r` up to the greatest rank + 1. */
  val below: Array[Int] = {
    val counts = new Array[Int](sorted.weights.length + 2)
    val nulls = rows - sorted.weights.sum.toInt
    counts(1) = nulls
    var r = 1
    while (r <= sorted.weights.length) {
      counts(r + 1) = counts(r) + sorted.weights(r - 1).toInt
      r += 1
    }
    counts
  }

  def nulls: Int = below(1)

  /**
   * The ranks of the least and the greatest sampled value in a range. If no sampled value lies in the range, the first
   * rank is above the second.
   */
  def ranksIn(range: FileRange): (Int, Int) =
    // an odd slot is a sampled value, an even slot is the gap below one (see BoundsIndex)
    ((distinct.slotOf(range.min) >> 1) + 1, (distinct.slotOf(range.max) + 1) >> 1)

  /** The share of the folder's rows whose rank lies in `lowest .. highest`. */
  def share(lowest: Int, highest: Int): Double =
    kept.fold((below(highest + 1) - below(lowest)).toDouble / math.max(1, rows))(
      _.share(lowest, highest))

  /** The share of the folder's values, without NULL, whose rank lies in `lowest .. highest`. */
  def shareOfValues(lowest: Int, highest: Int): Double =
    kept.fold((below(highest + 1) - below(lowest)).toDouble / math.max(1, rows - nulls))(
      _.shareOfValues(lowest, highest))

  /** The rank, at least 1, of the value below which this share of all values (without NULL) lies. */
  def rankAt(share: Double): Int = {
    val wanted = nulls + share * (rows - nulls)
    var (low, high) = (1, math.max(1, sorted.weights.length))
    // the least rank r such that more than `wanted` rows have a rank up to r
    while (low < high) {
      val middle = (low + high) >>> 1
      if (below(middle + 1) > wanted) high = middle else low = middle + 1
    }
    low
  }

  /**
   * The greatest rank of a value that begins below the share `until`, but at least the rank at the share `from`. If
   * both shares are equal, the rank of the value at this share.
   */
  def rankUntil(from: Double, until: Double): Int = {
    val last = rankAt(until)
    val isPast = until > from && below(last) >= nulls + until * (rows - nulls)
    math.max(rankAt(from), if (isPast) last - 1 else last)
  }
}

/**
 * One ordering column of the files of a folder that a run leaves as they are.
 *
 * @param ranges the range of each file
 * @param values the number of values of each file, without NULL
 * @param nulls the number of NULLs of all files
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
 * The kept rows are known only by the statistics of their files. If the values are numbers, the share of a file's
 * rows beyond all sampled values is the share of its range there. The other rows of the file are assumed to be
 * distributed like the sampled rows in its range.
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
   * @param rows the number of rows that are rewritten
   */
  def of(column: RankedColumn, rows: Long, kept: KeptColumn): KeptRows = {
    val n = column.sorted.weights.length
    val weight = rows.toDouble / math.max(1, column.rows)
    // kept rows per sampled row: density(r) is the change from rank r - 1 to rank r
    val density = new Array[Double](n + 2)
    // kept rows with values between two sampled values: gaps(r) is their number just below rank r
    val gaps = new Array[Double](n + 2)
    kept.ranges.indices.foreach { f =>
      val values = kept.values(f).toDouble
      val (least, most) = kept.ranges(f) match {
        case range: FileRange => column.ranksIn(range)
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

  /**
   * The shares of a file's rows below and above all sampled values. If the values are not numbers, the parts of
   * the range below, within and above the sampled values are assumed to have equally many rows.
   */
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
