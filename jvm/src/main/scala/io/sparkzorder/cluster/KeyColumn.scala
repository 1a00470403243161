// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import scala.collection.mutable

import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.ordering.{BoundsIndex, FixedOrder, LongBounds, OrderedType, SortedSample}

/**
 * The values of one ordering column in the sampled rows of a folder, in the order of the rows. A
 * sample may have millions of rows, so a value of a type of fixed width is kept in eight bytes.
 */
private[sparkzorder] sealed trait KeyColumn {
  def rows: Int

  /** The rank of every row; see [[RankedColumn]]. */
  def ranked: RankedColumn
}

/** Takes the values of a [[KeyColumn]] one by one. */
private[sparkzorder] sealed trait KeyColumnBuilder {

  /** @param value a Catalyst value, or null for NULL; a value is copied if it may point to a row */
  def add(value: Any): Unit
  def result(): KeyColumn
}

private[sparkzorder] object KeyColumn {

  /** Some rows of several samples of one column, as one sample. */
  private[sparkzorder] def pooled(parts: Seq[(RankedColumn, Seq[Int])]): KeyColumn = {
    val dataType = parts.head._1.dataType
    val keys: Array[AnyRef] = parts.flatMap { case (column, rows) =>
      rows.map(r =>
        if (column.ranks(r) == 0) null else column.distinct.key(column.ranks(r) - 1))
    }.toArray
    val sorted = SortedSample.ofKeys(dataType, keys.filter(_ != null), null)
    val distinct = sorted.all
    val ranks = keys.map(k => if (k == null) 0 else 1 + (distinct.slotOfKey(k) >> 1))
    new RankedKeys(new RankedColumn(dataType, sorted, distinct, ranks))
  }

  def newBuilder(dataType: DataType): KeyColumnBuilder = OrderedType.require(dataType) match {
    case f: FixedOrder => new LongKeysBuilder(f)
    case _ => new ObjectKeysBuilder(dataType)
  }
}

private final class LongKeysBuilder(order: FixedOrder) extends KeyColumnBuilder {
  private val keys = new mutable.ArrayBuilder.ofLong
  private val nulls = new java.util.BitSet
  private var n = 0

  override def add(value: Any): Unit = {
    if (value == null) nulls.set(n) else keys += order.toLong(value)
    n += 1
  }

  override def result(): KeyColumn = new LongKeys(order, keys.result(), nulls, n)
}

/** @param keys the values that are not NULL, as ordered longs, in the order of the rows */
private final class LongKeys(
    order: FixedOrder,
    keys: Array[Long],
    nulls: java.util.BitSet,
    override val rows: Int)
    extends KeyColumn {

  override def ranked: RankedColumn = {
    val sorted = SortedSample.ofOrderedLongs(order, keys.clone())
    val distinct = sorted.all.asInstanceOf[LongBounds]
    val ranks = new Array[Int](rows)
    var next = 0
    var r = 0
    while (r < rows) {
      if (!nulls.get(r)) {
        ranks(r) = 1 + (distinct.slot(keys(next)) >> 1)
        next += 1
      }
      r += 1
    }
    new RankedColumn(order.dataType, sorted, distinct, ranks)
  }
}

private final class ObjectKeysBuilder(dataType: DataType) extends KeyColumnBuilder {
  private val values = new mutable.ArrayBuilder.ofRef[AnyRef]

  override def add(value: Any): Unit = values += (value match {
    case s: UTF8String => s.clone()
    case d: Decimal => d.clone()
    case other => other.asInstanceOf[AnyRef]
  })

  override def result(): KeyColumn = new ObjectKeys(dataType, values.result())
}

private final class ObjectKeys(dataType: DataType, values: Array[AnyRef]) extends KeyColumn {
  override def rows: Int = values.length

  override def ranked: RankedColumn = {
    val sorted = SortedSample(dataType, values.filter(_ != null).toArray[Any], null)
    val distinct = sorted.all
    val ranks = values.map(v => if (v == null) 0 else 1 + (distinct.slotOf(v) >> 1))
    new RankedColumn(dataType, sorted, distinct, ranks)
  }
}

private final class RankedKeys(override val ranked: RankedColumn) extends KeyColumn {
  override def rows: Int = ranked.rows
}

/**
 * A sampled column with its values replaced by ranks: 0 for NULL, and r for the r-th least of the
 * distinct values. The code that cuts a folder into files needs only the ranks, so it is the same
 * for all types.
 *
 * @param sorted the distinct values with the number of rows of each
 * @param distinct the same distinct values, as an index for searches
 * @param ranks the rank of each sampled row, in the order of the rows
 * @param kept the other rows of the folder; None if the sample is one of the whole folder
 */
private[sparkzorder] final class RankedColumn(
    val dataType: DataType,
    val sorted: SortedSample,
    val distinct: BoundsIndex,
    val ranks: Array[Int],
    kept: Option[KeptRows] = None) {

  /**
   * The same sample with more values, of which it has no rows, so that cuts can lie at them.
   *
   * @param keys see [[io.sparkzorder.ordering.BoundsIndex.key]]
   */
  def withValues(keys: Seq[AnyRef]): RankedColumn = {
    val n = distinct.length
    // an even slot is a gap, where a new value goes
    val missing = keys.map(k => distinct.slotOfKey(k) -> k).filter(_._1 % 2 == 0)
      .groupBy(_._1 >> 1).map { case (gap, own) =>
        val sorted = BoundsIndex.ofSortedDistinct(distinct, own.map(_._2))
        gap -> sorted
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
      val merged = BoundsIndex.ofKeys(distinct, all.toArray)
      new RankedColumn(
        dataType,
        new SortedSample(weights.result(), taken => merged.take(taken)),
        merged,
        ranks.map(moved(_)))
    }
  }

  /** The same sample, measured by all rows of the folder: by its own `rows` and by kept ones. */
  def among(rows: Long, kept: KeptColumn): RankedColumn =
    new RankedColumn(dataType, sorted, distinct, ranks, Some(KeptRows.of(this, rows, kept)))

  def rows: Int = ranks.length

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

  /** The share of the folder's rows whose rank lies in `lowest .. highest`. */
  def share(lowest: Int, highest: Int): Double =
    kept.fold((below(highest + 1) - below(lowest)).toDouble / math.max(1, rows))(
      _.share(lowest, highest))

  /** The share of the folder's values, without NULL, whose rank lies in `lowest .. highest`. */
  def shareOfValues(lowest: Int, highest: Int): Double =
    kept.fold((below(highest + 1) - below(lowest)).toDouble / math.max(1, rows - nulls))(
      _.shareOfValues(lowest, highest))

  /** The rank of the value below which a share of all values lies; 1 at least. */
  def rankAt(share: Double): Int = {
    val wanted = nulls + share * (rows - nulls)
    var (low, high) = (1, math.max(1, sorted.weights.length))
    // the least rank such that the rows up to it are more than wanted
    while (low < high) {
      val middle = (low + high) >>> 1
      if (below(middle + 1) > wanted) high = middle else low = middle + 1
    }
    low
  }

  /** The greatest rank of an interval of shares that does not hold its upper end. */
  def rankUntil(from: Double, until: Double): Int = {
    val last = rankAt(until)
    val isPast = until > from && below(last) >= nulls + until * (rows - nulls)
    math.max(rankAt(from), if (isPast) last - 1 else last)
  }
}
