package io.sparkzorder.skipping.predicate

import java.util.Arrays

import io.sparkzorder.index.{ByteStats, ByteValues, LongStats, StatValues}

/**
 * The values for which a predicate on one column holds: sorted intervals that do not overlap. A file may
 * hold a match only where its own bounds overlap one of them.
 */
private[sparkzorder] sealed trait Intervals {

  /** All other values of the domain. */
  def complement: Intervals
}

/**
 * Intervals of ordered longs.
 *
 * @param lows least value of each
 * @param highs greatest value of each, included
 */
private[sparkzorder] final class LongIntervals(val lows: Array[Long], val highs: Array[Long])
    extends Intervals {

  def contains(value: Long): Boolean = {
    val i = firstFrom(value)
    i < lows.length && lows(i) <= value
  }

  /** Position of the first interval that does not end below a value. */
  def firstFrom(value: Long): Int = {
    val at = Arrays.binarySearch(highs, value)
    if (at >= 0) at else -at - 1
  }

  override def complement: LongIntervals = {
    val (from, to) = (Array.newBuilder[Long], Array.newBuilder[Long])
    def add(low: Long, high: Long): Unit = if (low <= high) {
      from += low
      to += high
    }
    if (lows.isEmpty) add(Long.MinValue, Long.MaxValue)
    else {
      if (lows.head > Long.MinValue) add(Long.MinValue, lows.head - 1)
      (1 until lows.length).foreach(i => add(highs(i - 1) + 1, lows(i) - 1))
      if (highs.last < Long.MaxValue) add(highs.last + 1, Long.MaxValue)
    }
    new LongIntervals(from.result(), to.result())
  }
}

/**
 * One end of an interval of byte strings in unsigned order.
 *
 * @param value null where the interval has no end
 */
private[sparkzorder] final case class ByteEnd(value: Array[Byte], inclusive: Boolean) {
  def isEndless: Boolean = value == null

  /** The same end for the interval beyond it: included there if it is not included here. */
  def outside: ByteEnd = ByteEnd(value, !inclusive)

  /** @param beyond above 0 if a bound lies on the interval's side of this end, 0 if it is equal */
  def isReachedBy(beyond: Int): Boolean = beyond > 0 || (beyond == 0 && inclusive)
}

/** Intervals of byte strings. */
private[sparkzorder] final class ByteIntervals(lows: Array[ByteEnd], highs: Array[ByteEnd])
    extends Intervals {

  override def complement: ByteIntervals =
    if (lows.isEmpty) ByteIntervals(Intervals.Endless, Intervals.Endless)
    else {
      val between = highs.init.zip(lows.tail).map { case (a, b) => (a.outside, b.outside) }.toSeq
      val below = if (lows.head.isEndless) Nil else Seq((Intervals.Endless, lows.head.outside))
      val above = if (highs.last.isEndless) Nil else Seq((highs.last.outside, Intervals.Endless))
      val all = below ++ between ++ above
      new ByteIntervals(all.map(_._1).toArray, all.map(_._2).toArray)
    }

  /** Whether file `i` with these bounds overlaps an interval. */
  def overlap(min: ByteValues, max: ByteValues, i: Int): Boolean = {
    // the first interval that does not end below the least value
    var (from, until) = (0, highs.length)
    while (from < until) {
      val middle = (from + until) >>> 1
      val end = highs(middle)
      if (end.isEndless || end.isReachedBy(-min.compare(i, end.value))) until = middle
      else from = middle + 1
    }
    from < lows.length &&
    (lows(from).isEndless || lows(from).isReachedBy(max.compare(i, lows(from).value)))
  }
}

private[sparkzorder] object ByteIntervals {
  def apply(low: ByteEnd, high: ByteEnd): ByteIntervals =
    new ByteIntervals(Array(low), Array(high))
}

private[sparkzorder] object Intervals {
  val Endless: ByteEnd = ByteEnd(null, inclusive = false)

  /** No value at all. */
  val none: LongIntervals = between(1L, 0L)

  /** The longs between two, both included. */
  def between(low: Long, high: Long): LongIntervals =
    if (low > high) new LongIntervals(Array.emptyLongArray, Array.emptyLongArray)
    else new LongIntervals(Array(low), Array(high))

  def ofLongs(values: Seq[Long]): LongIntervals = {
    val sorted = values.distinct.sorted.toArray
    new LongIntervals(sorted, sorted)
  }

  def ofBytes(values: Seq[Array[Byte]]): ByteIntervals = {
    val ends = values.sortWith((a, b) => ByteValues.compare(a, 0, a.length, b) < 0)
      .map(ByteEnd(_, inclusive = true)).toArray
    new ByteIntervals(ends, ends)
  }

  /** The byte strings that begin with a prefix. */
  def ofPrefix(prefix: Array[Byte]): ByteIntervals = {
    val raised = prefix.lastIndexWhere(_ != -1)
    val above =
      if (raised < 0) Endless
      else {
        val next = Arrays.copyOf(prefix, raised + 1)
        next(raised) = (next(raised) + 1).toByte
        ByteEnd(next, inclusive = false)
      }
    ByteIntervals(ByteEnd(prefix, inclusive = true), above)
  }
}

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
