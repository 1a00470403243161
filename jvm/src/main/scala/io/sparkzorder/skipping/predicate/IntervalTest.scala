package io.sparkzorder.skipping.predicate

import io.sparkzorder.index.{ByteStats, ByteValues, LongStats, StatValues}

/** A predicate that holds for the values in some intervals. */
private[sparkzorder] object IntervalTest {

  /**
   * @param hasNaN the column may hold NaN, which is [[ComparisonDomain.NaN]]
   * @param ofNulls rows match where the column is NULL
   */
  def apply(
      column: ColumnDomains,
      intervals: Intervals,
      hasNaN: Boolean,
      ofNulls: Boolean): FileTest = intervals match {
    case longs: LongIntervals if longs.lows.isEmpty && !ofNulls => Never
    case longs: LongIntervals =>
      new OfLongs(column, longs, ofNulls, hasNaN && longs.contains(ComparisonDomain.NaN))
    case bytes: ByteIntervals => new OfBytes(column, bytes, ofNulls)
  }

  private final class OfLongs(
      column: ColumnDomains,
      intervals: LongIntervals,
      ofNulls: Boolean,
      ofNaN: Boolean)
      extends ColumnTest(column, ofNulls, ofValues = true, ofNaN) {
    private val (min, max) = (longs(column.min), longs(column.max))
    private val (lows, highs) = (intervals.lows, intervals.highs)

    override protected def mayMatch(from: Int, until: Int): Long =
      if (lows.length == 1) inOne(lows(0), highs(0), from, until) else inMany(from, until)

    private def inOne(low: Long, high: Long, from: Int, until: Int): Long = {
      var bits = 0L
      var i = from
      while (i < until) {
        if (max(i) >= low && min(i) <= high) bits |= 1L << i
        i += 1
      }
      bits
    }

    private def inMany(from: Int, until: Int): Long = {
      var bits = 0L
      var i = from
      while (i < until) {
        val next = intervals.firstFrom(min(i))
        if (next < lows.length && lows(next) <= max(i)) bits |= 1L << i
        i += 1
      }
      bits
    }
  }

  private final class OfBytes(column: ColumnDomains, intervals: ByteIntervals, ofNulls: Boolean)
      extends ColumnTest(column, ofNulls, ofValues = true, ofNaN = false) {
    private val (min, max) = (bytes(column.min), bytes(column.max))

    override protected def mayMatch(from: Int, until: Int): Long = {
      var bits = 0L
      var i = from
      while (i < until) {
        if (intervals.overlap(min, max, i)) bits |= 1L << i
        i += 1
      }
      bits
    }
  }

  // the column has only null counts, and no file has bounds
  private def longs(values: StatValues): Array[Long] = values match {
    case LongStats(l) => l
    case _ => Array.emptyLongArray
  }

  private def bytes(values: StatValues): ByteValues = values match {
    case ByteStats(b) => b
    case _ => new ByteValues(Array.emptyByteArray, Array.emptyIntArray)
  }
}
