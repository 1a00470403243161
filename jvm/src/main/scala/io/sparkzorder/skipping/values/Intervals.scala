// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.util.Arrays

import org.apache.spark.unsafe.types.ByteArray

import io.sparkzorder.index.{ByteValues, IndexValue}
import io.sparkzorder.index.values.ValueHash

/**
 * A set of values of one domain: intervals that are sorted and do not overlap. A file may hold a value of
 * the set only if the range from the min to the max of the file overlaps one of the intervals.
 *
 * The values are the longs or the byte strings of a [[ComparisonDomain]]. Intervals of the two
 * kinds cannot be mixed, except that [[Intervals.none]] fits both.
 */
private[sparkzorder] sealed trait Intervals {

  /** The number of intervals. */
  def size: Int

  final def isEmpty: Boolean = size == 0

  /** All other values of the domain. */
  def complement: Intervals

  /** At most [[Intervals.MaxCoarse]] intervals that hold all values of this set. */
  def coarser: Intervals

  /** The values that are in this set or in `other`. */
  final def union(other: Intervals): Intervals = Intervals.union(Seq(this, other))

  /** The values that are in this set and in `other`. */
  final def intersect(other: Intervals): Intervals =
    if (isEmpty || other.isEmpty) Intervals.none
    else {
      val (outside, otherOutside) = (complement, other.complement)
      // The complement of all values is empty, and `union` of two empty sets is `none`, whose complement is
      // all longs. That would be wrong for two sets of all byte strings.
      if (outside.isEmpty) other
      else if (otherOutside.isEmpty) this
      else outside.union(otherOutside).complement
    }
}

/**
 * Intervals of ordered longs.
 *
 * @param lows least value of each interval, ascending
 * @param highs greatest value of each interval, included, ascending
 */
private[sparkzorder] final class LongIntervals private[values] (
    val lows: Array[Long],
    val highs: Array[Long])
    extends Intervals {

  override def size: Int = lows.length

  /** The least and the greatest value of each interval. */
  def ranges: Seq[(Long, Long)] = lows.zip(highs).toSeq

  override def coarser: LongIntervals = Intervals.ofLongRanges(Intervals.joined(ranges))

  /** The values that are in both sets. */
  def intersect(other: LongIntervals): LongIntervals =
    Intervals.ofLongRanges(complement.ranges ++ other.complement.ranges).complement

  def contains(value: Long): Boolean = overlaps(value, value)

  /** True if some value from `min` to `max`, both included, is in the set. */
  def overlaps(min: Long, max: Long): Boolean = {
    val i = firstFrom(min)
    i < lows.length && lows(i) <= max
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

  override def equals(other: Any): Boolean = other match {
    case that: LongIntervals =>
      Arrays.equals(lows, that.lows) && Arrays.equals(highs, that.highs)
    case _ => false
  }
  override def hashCode(): Int = 31 * Arrays.hashCode(lows) + Arrays.hashCode(highs)
  override def toString: String =
    ranges.map { case (l, h) => s"[$l, $h]" }.mkString("{", ", ", "}")
}

/** Intervals of byte strings. The first may begin, and the last may end, without a bound. */
private[sparkzorder] final class ByteIntervals private[values] (
    val lows: Array[ByteEnd],
    val highs: Array[ByteEnd])
    extends Intervals {

  override def size: Int = lows.length

  /** The two ends of each interval. */
  def ranges: Seq[(ByteEnd, ByteEnd)] = lows.zip(highs).toSeq

  override def coarser: ByteIntervals = Intervals.ofByteRanges(Intervals.joined(ranges))

  override def complement: ByteIntervals =
    if (lows.isEmpty) ByteIntervals.all
    else {
      val between = highs.init.zip(lows.tail).map { case (a, b) => (a.outside, b.outside) }.toSeq
      val below = if (lows.head.isEndless) Nil else Seq((Intervals.Endless, lows.head.outside))
      val above = if (highs.last.isEndless) Nil else Seq((highs.last.outside, Intervals.Endless))
      val all = below ++ between ++ above
      new ByteIntervals(all.map(_._1).toArray, all.map(_._2).toArray)
    }

  /** True if some value from `min` to `max`, both included, may be in the set. */
  def overlaps(min: Array[Byte], max: Array[Byte]): Boolean = {
    val i = firstFrom(ByteArray.compareBinary(min, _))
    i < lows.length &&
    (lows(i).isEndless || lows(i).isReachedBy(ByteArray.compareBinary(max, lows(i).value)))
  }

  /** Whether some value from value `i` of `min` to value `j` of `max` may be in the set. */
  def overlap(min: ByteValues, i: Int, max: ByteValues, j: Int): Boolean = {
    val from = firstFrom(min.compare(i, _))
    from < lows.length &&
    (lows(from).isEndless || lows(from).isReachedBy(max.compare(j, lows(from).value)))
  }

  /**
   * Position of the first interval that does not end below a value.
   *
   * @param compare compares the value with the given byte string
   */
  def firstFrom(compare: Array[Byte] => Int): Int = {
    var (from, until) = (0, highs.length)
    while (from < until) {
      val middle = (from + until) >>> 1
      val end = highs(middle)
      if (end.isEndless || end.isReachedBy(-compare(end.value))) until = middle
      else from = middle + 1
    }
    from
  }

  override def toString: String = {
    def text(end: ByteEnd) =
      if (end.isEndless) "" else end.value.map(b => f"$b%02x").mkString
    ranges.map { case (l, h) =>
      s"${if (l.inclusive) "[" else "("}${text(l)}, ${text(h)}${if (h.inclusive) "]" else ")"}"
    }.mkString("{", ", ", "}")
  }
}

private[sparkzorder] object ByteIntervals {

  /** All byte strings. */
  val all: ByteIntervals = of(ByteEnd.Endless, ByteEnd.Endless)

  /** One interval, which must not be empty. */
  def of(low: ByteEnd, high: ByteEnd): ByteIntervals = new ByteIntervals(Array(low), Array(high))
}

private[sparkzorder] object Intervals {
  val Endless: ByteEnd = ByteEnd.Endless

  /** No value at all, for both kinds of domains. */
  val none: Intervals = ofLongRanges(Nil)

  /** The longs from `low` to `high`, both included. */
  def between(low: Long, high: Long): LongIntervals = ofLongRanges(Seq((low, high)))

  def ofLongs(values: Seq[Long]): LongIntervals = ofLongRanges(values.map(v => (v, v)))

  /** @param ranges in any order, both ends included; a range with `low > high` has no value */
  def ofLongRanges(ranges: Seq[(Long, Long)]): LongIntervals = {
    val (lows, highs) = (Array.newBuilder[Long], Array.newBuilder[Long])
    var open = false
    var (low, high) = (0L, 0L)
    ranges.filter(r => r._1 <= r._2).sortBy(_._1).foreach { case (l, h) =>
      // neighbours become one interval: there is no long between them
      if (open && (l <= high || l - 1 == high)) high = math.max(high, h)
      else {
        if (open) { lows += low; highs += high }
        open = true
        low = l
        high = h
      }
    }
    if (open) { lows += low; highs += high }
    new LongIntervals(lows.result(), highs.result())
  }

  def ofBytes(values: Seq[Array[Byte]]): ByteIntervals =
    ofByteRanges(values.map(v => (ByteEnd(v, inclusive = true), ByteEnd(v, inclusive = true))))

  /** @param ranges in any order; a range whose ends leave no value between them is left out */
  def ofByteRanges(ranges: Seq[(ByteEnd, ByteEnd)]): ByteIntervals = {
    val (lows, highs) = (Array.newBuilder[ByteEnd], Array.newBuilder[ByteEnd])
    var (low, high): (ByteEnd, ByteEnd) = (null, null)
    ranges.filter(r => r._2.sharesWith(r._1)).sortWith((a, b) => a._1.isBelow(b._1))
      .foreach { case (l, h) =>
        if (low != null && high.touches(l)) high = if (high.endsBelow(h)) h else high
        else {
          if (low != null) { lows += low; highs += high }
          low = l
          high = h
        }
      }
    if (low != null) { lows += low; highs += high }
    new ByteIntervals(lows.result(), highs.result())
  }

  /** The byte strings that begin with a prefix. */
  def ofPrefix(prefix: Array[Byte]): ByteIntervals = {
    val (low, high) = rangeOfPrefix(prefix)
    ByteIntervals.of(low, high)
  }

  /** The two ends of the byte strings that begin with a prefix. */
  def rangeOfPrefix(prefix: Array[Byte]): (ByteEnd, ByteEnd) = {
    val raised = prefix.lastIndexWhere(_ != -1)
    val above =
      if (raised < 0) Endless
      else {
        val next = Arrays.copyOf(prefix, raised + 1)
        next(raised) = (next(raised) + 1).toByte
        ByteEnd(next, inclusive = false)
      }
    (ByteEnd(prefix, inclusive = true), above)
  }

  /** The texts of a set, each with `prefix` before it. */
  def behind(prefix: Array[Byte], set: ByteIntervals): ByteIntervals = {
    val (least, greatest) = rangeOfPrefix(prefix)
    ofByteRanges(set.ranges.map { case (low, high) =>
      (
        if (low.isEndless) least else low.copy(value = prefix ++ low.value),
        if (high.isEndless) greatest else high.copy(value = prefix ++ high.value))
    })
  }

  /** The values that are in any of the sets. Longs and byte strings cannot be mixed. */
  def union(sets: Seq[Intervals]): Intervals = sets.filterNot(_.isEmpty) match {
    case Seq() => none
    case Seq(one) => one
    case some =>
      val longs = some.collect { case s: LongIntervals => s.ranges }
      val bytes = some.collect { case s: ByteIntervals => s.ranges }
      require(longs.isEmpty || bytes.isEmpty, s"longs among byte strings: $some")
      if (bytes.isEmpty) ofLongRanges(longs.flatten) else ofByteRanges(bytes.flatten)
  }

  private[values] val MaxCoarse = 256

  /** The given sorted ranges. If there are more than `MaxCoarse`, neighbours are joined. */
  private[values] def joined[T](ranges: Seq[(T, T)]): Seq[(T, T)] =
    if (ranges.size <= MaxCoarse) ranges
    else {
      ranges.grouped((ranges.size + MaxCoarse - 1) / MaxCoarse)
        .map(g => (g.head._1, g.last._2)).toSeq
    }
}

/**
 * One end of an interval of byte strings in unsigned order.
 *
 * @param value null where the interval has no bound on this side
 */
private[sparkzorder] final case class ByteEnd(value: Array[Byte], inclusive: Boolean) {
  def isEndless: Boolean = value == null

  /** The end of the neighbouring interval at the same value. One of the two ends includes the value. */
  def outside: ByteEnd = ByteEnd(value, !inclusive)

  /**
   * True if this end of the interval does not exclude a value.
   *
   * @param beyond positive if the value lies on the interval's side of this end, 0 if it is equal to this
   *   end
   */
  def isReachedBy(beyond: Int): Boolean = beyond > 0 || (beyond == 0 && inclusive)

  /** For two low ends: whether the interval of this end begins first. */
  def isBelow(low: ByteEnd): Boolean =
    !low.isEndless && (isEndless || {
      val o = order(low)
      o < 0 || (o == 0 && inclusive && !low.inclusive)
    })

  /** For two high ends: whether the interval of this end ends first. */
  def endsBelow(high: ByteEnd): Boolean =
    !isEndless && (high.isEndless || {
      val o = order(high)
      o < 0 || (o == 0 && !inclusive && high.inclusive)
    })

  /** For this high end and a low end: whether an interval between the two ends may hold a value. */
  def sharesWith(low: ByteEnd): Boolean =
    isEndless || low.isEndless || {
      val o = order(low)
      o > 0 || (o == 0 && inclusive && low.inclusive)
    }

  /** For this high end and a low end: whether no value lies between the two. */
  def touches(low: ByteEnd): Boolean =
    isEndless || low.isEndless || {
      val o = order(low)
      o > 0 || (o == 0 && (inclusive || low.inclusive))
    }

  private def order(other: ByteEnd): Int = ByteArray.compareBinary(value, other.value)
}

private[sparkzorder] object ByteEnd {

  /** The end of an interval that has no bound on this side. */
  val Endless: ByteEnd = ByteEnd(null, inclusive = false)
}

/**
 * A set of a few single values. The index of values looks up the hash of each value.
 *
 * @param size the number of values
 * @param hashes the hashes of the values for a seed
 */
private[sparkzorder] final class SingleValues private (
    val size: Int,
    val hashes: Long => Array[Long])

private[sparkzorder] object SingleValues {

  /**
   * @return None if the set has more than `most` values, or byte strings that are not single values, or if
   *   the values of the domain have no hashes
   */
  def of(values: Intervals, domain: ComparisonDomain, most: Int): Option[SingleValues] =
    values match {
      case longs: LongIntervals => ofLongs(longs, most)
      case bytes: ByteIntervals => ofBytes(bytes, domain, most)
    }

  private def ofLongs(intervals: LongIntervals, most: Int): Option[SingleValues] = {
    // the width of an interval that is too wide for a long is negative
    val widths = intervals.lows.indices.map(i => intervals.highs(i) - intervals.lows(i))
    if (widths.exists(w => w < 0 || w >= most)) None
    else Some(widths.map(_ + 1).sum).filter(_ <= most).map { count =>
      val all = intervals.lows.indices.iterator
        .flatMap(i => Iterator.range(0, widths(i).toInt + 1).map(intervals.lows(i) + _)).toArray
      new SingleValues(count.toInt, seed => all.map(ValueHash.ofLong(_, seed)))
    }
  }

  private def ofBytes(
      intervals: ByteIntervals,
      domain: ComparisonDomain,
      most: Int): Option[SingleValues] = {
    val areSingle = intervals.size <= most && intervals.ranges.forall { case (low, high) =>
      !low.isEndless && !high.isEndless && low.inclusive && high.inclusive &&
      java.util.Arrays.equals(low.value, high.value)
    }
    val all = intervals.lows.map(_.value)
    domain match {
      case _ if !areSingle => None
      case BytesDomain =>
        Some(new SingleValues(all.length, seed => all.map(ValueHash.ofBytes(_, seed))))
      case WideDecimals(_) =>
        val numbers = all.map(IndexValue.unscaled)
        Some(new SingleValues(all.length, seed => numbers.map(ValueHash.ofUnscaled(_, seed))))
      case _ => None
    }
  }
}
