// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.lang.Long.numberOfTrailingZeros

import io.sparkzorder.index.{ByteStats, ByteValues, LongStats, StatValues}
import io.sparkzorder.skipping.values.{ByteIntervals, ComparisonDomain, Intervals, LongIntervals}

/**
 * The test of a predicate that is true for the values in some intervals.
 *
 * @param hasNaN true if the column may hold NaN, which is [[ComparisonDomain.NaN]]
 * @param ofNulls true if rows match where the column is NULL
 * @param ofNaN true if rows match where the column is NaN
 */
private[sparkzorder] abstract class IntervalTest(
    of: ColumnDomains,
    val intervals: Intervals,
    val hasNaN: Boolean,
    val ofNulls: Boolean,
    ofNaN: Boolean)
    extends ColumnTest(of, ofNulls, ofValues = true, ofNaN) {

  /**
   * The result of the index of values of the column. It is looked up once, and only if the bounds leave
   * files.
   */
  private lazy val asked: Option[AskedValues] = of.values.map { known =>
    val left = FileTest.all(of.count)
    byBounds(left, 0)
    known.ask(intervals, left)
  }

  private def byBounds(words: Array[Long], from: Int): Unit = super.restrict(words, from)

  override def restrict(words: Array[Long], from: Int): Unit = {
    byBounds(words, from)
    if (of.values.isDefined && words.exists(_ != 0)) {
      asked.flatMap(_.mayHave).foreach { mayHave =>
        var i = 0
        while (i < words.length) {
          val nulls = if (ofNulls) ~of.noNulls(from + i) else 0L
          words(i) &= mayHave(from + i) | nulls
          i += 1
        }
      }
    }
  }

  /**
   * Why the index of values of the column was not used, or not for all files; None if there is nothing to
   * say.
   */
  def noteOfValues: Option[String] = asked.flatMap(_.note)
}

private[sparkzorder] object IntervalTest {

  /**
   * @param hasNaN true if the column may hold NaN, which is [[ComparisonDomain.NaN]]
   * @param ofNulls true if rows match where the column is NULL
   */
  def apply(
      column: ColumnDomains,
      intervals: Intervals,
      hasNaN: Boolean,
      ofNulls: Boolean): FileTest = intervals match {
    case none if none.isEmpty => if (ofNulls) new NullTest(column, isNull = true) else Never
    case longs: LongIntervals => new OfLongs(column, longs, hasNaN, ofNulls)
    case bytes: ByteIntervals => new OfBytes(column, bytes, ofNulls)
  }

  private final class OfLongs(
      column: ColumnDomains,
      intervals: LongIntervals,
      hasNaN: Boolean,
      ofNulls: Boolean)
      extends IntervalTest(
        column,
        intervals,
        hasNaN,
        ofNulls,
        ofNaN = hasNaN && intervals.contains(ComparisonDomain.NaN)) {
    private val (min, max) = (longs(column.min), longs(column.max))
    private val (lows, highs) = (intervals.lows, intervals.highs)
    private val isOne = lows.length == 1
    private val (low, high) = (lows(0), highs(0))

    override protected def inBlock(block: Int): Int = column.blocks match {
      case b: LongBlocks =>
        val i = intervals.firstFrom(b.leastMin(block))
        if (i == lows.length || lows(i) > b.greatestMax(block)) ColumnTest.NoFile
        else {
          val j = intervals.firstFrom(b.greatestMin(block))
          if (j < lows.length && lows(j) <= b.leastMax(block)) ColumnTest.EveryFile
          else ColumnTest.SomeFiles
        }
      case _ => ColumnTest.SomeFiles
    }

    override protected def mayMatch(first: Int, wanted: Long): Long =
      if (!isOne) inMany(first, wanted)
      else if (low == Long.MinValue) upTo(first, wanted)
      else if (high == Long.MaxValue) downTo(first, wanted)
      else inOne(first, wanted)

    // These loops visit only the files whose bit is set in `wanted`.
    private def upTo(first: Int, wanted: Long): Long = {
      var (bits, left) = (0L, wanted)
      while (left != 0) {
        val i = numberOfTrailingZeros(left)
        if (min(first + i) <= high) bits |= 1L << i
        left &= left - 1
      }
      bits
    }

    private def downTo(first: Int, wanted: Long): Long = {
      var (bits, left) = (0L, wanted)
      while (left != 0) {
        val i = numberOfTrailingZeros(left)
        if (max(first + i) >= low) bits |= 1L << i
        left &= left - 1
      }
      bits
    }

    private def inOne(first: Int, wanted: Long): Long = {
      var (bits, left) = (0L, wanted)
      while (left != 0) {
        val i = numberOfTrailingZeros(left)
        if (max(first + i) >= low && min(first + i) <= high) bits |= 1L << i
        left &= left - 1
      }
      bits
    }

    private def inMany(first: Int, wanted: Long): Long = {
      var (bits, left) = (0L, wanted)
      while (left != 0) {
        val i = numberOfTrailingZeros(left)
        if (intervals.overlaps(min(first + i), max(first + i))) bits |= 1L << i
        left &= left - 1
      }
      bits
    }
  }

  private final class OfBytes(column: ColumnDomains, intervals: ByteIntervals, ofNulls: Boolean)
      extends IntervalTest(column, intervals, hasNaN = false, ofNulls, ofNaN = false) {
    private val (min, max) = (bytes(column.min), bytes(column.max))

    override protected def inBlock(block: Int): Int = column.blocks match {
      case b: ByteBlocks =>
        if (!intervals.overlap(min, b.leastMin(block), max, b.greatestMax(block))) ColumnTest.NoFile
        else if (intervals.overlap(min, b.greatestMin(block), max, b.leastMax(block))) {
          ColumnTest.EveryFile
        } else ColumnTest.SomeFiles
      case _ => ColumnTest.SomeFiles
    }

    override protected def mayMatch(first: Int, wanted: Long): Long = {
      var (bits, left) = (0L, wanted)
      while (left != 0) {
        val i = numberOfTrailingZeros(left)
        if (intervals.overlap(min, first + i, max, first + i)) bits |= 1L << i
        left &= left - 1
      }
      bits
    }
  }

  // otherwise the column has only NULL counts, and no file has bounds
  private def longs(values: StatValues): Array[Long] = values match {
    case LongStats(l) => l
    case _ => Array.emptyLongArray
  }

  private def bytes(values: StatValues): ByteValues = values match {
    case ByteStats(b) => b
    case _ => new ByteValues(Array.emptyByteArray, Array.emptyIntArray)
  }
}
