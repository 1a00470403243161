// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.bits

/**
 * Searches sorted longs: fast for many look-ups in a few thousand bounds.
 *
 * A guide table divides the range of the bounds into buckets of equal width and maps each bucket to the few bounds
 * in it. The search within a bucket has no branch that depends on the compared values, because the processor could
 * not predict such a branch.
 *
 * @param sorted ascending, with or without equal neighbours; must not be changed afterwards
 */
private[sparkzorder] final class GuidedBounds(val sorted: Array[Long]) extends Serializable {

  private val shift: Int = GuidedBounds.shiftFor(sorted)
  private val guide: Array[Int] = GuidedBounds.guideFor(sorted, shift)

  /** The number of bounds below `value`. This is also the index of the first bound `>= value`. */
  def lowerBound(value: Long): Int = {
    val n = sorted.length
    if (n == 0 || value <= sorted(0)) 0
    else if (value > sorted(n - 1)) n
    else {
      // unsigned: the distance of two longs may exceed Long.MaxValue
      val bucket = ((value - sorted(0)) >>> shift).toInt
      within(guide(bucket), guide(bucket + 1), value)
    }
  }

  private def within(from: Int, until: Int, value: Long): Int = {
    var base = from
    var n = until - from
    while (n > 0) {
      val half = (n + 1) >>> 1
      val bound = sorted(base + half - 1)
      // -1 if bound < value, else 0, without a jump and without overflow
      val below = ((bound & ~value) | (~(bound ^ value) & (bound - value))) >> 63
      base += half & below.toInt
      n -= half
    }
    base
  }
}

private[sparkzorder] object GuidedBounds {

  /**
   * The number of bits by which a distance from the first bound is shifted right to give its
   * bucket. There are at most four buckets for each bound.
   */
  private def shiftFor(sorted: Array[Long]): Int =
    if (sorted.length < 2) 63
    else {
      val span = sorted(sorted.length - 1) - sorted(0)
      val spanBits = 64 - java.lang.Long.numberOfLeadingZeros(span)
      val bucketBits = 33 - Integer.numberOfLeadingZeros(sorted.length)
      math.max(0, spanBits - bucketBits)
    }

  /** `guide(b)`: the number of bounds in the buckets below `b`. */
  private def guideFor(sorted: Array[Long], shift: Int): Array[Int] = {
    val n = sorted.length
    if (n == 0) return Array.empty
    val last = ((sorted(n - 1) - sorted(0)) >>> shift).toInt
    val guide = new Array[Int](last + 2)
    var i = 0
    var bucket = 0
    while (bucket <= last) {
      guide(bucket) = i
      while (i < n && ((sorted(i) - sorted(0)) >>> shift).toInt == bucket) i += 1
      bucket += 1
    }
    guide(last + 1) = n
    guide
  }
}

/**
 * Narrows the search among sorted values of any width. Each value has a prefix: a long, such as one
 * made of the first eight bytes of a string. The order of the prefixes agrees with the order of the
 * values. The caller compares in full only the bounds that share the prefix of the searched value.
 *
 * @param prefixes the prefixes of the bounds, ascending; neighbours may be equal
 */
private[sparkzorder] final class PrefixedBounds(prefixes: Array[Long]) extends Serializable {

  private val first = new GuidedBounds(prefixes)

  private val runEnds: Array[Int] = {
    val ends = new Array[Int](prefixes.length)
    var i = prefixes.length - 1
    while (i >= 0) {
      val sharesNext = i + 1 < prefixes.length && prefixes(i + 1) == prefixes(i)
      ends(i) = if (sharesNext) ends(i + 1) else i + 1
      i -= 1
    }
    ends
  }

  def length: Int = prefixes.length

  /** The number of bounds whose prefix is below `prefix`. */
  def runStart(prefix: Long): Int = first.lowerBound(prefix)

  /**
   * The exclusive end of the run of bounds with this prefix. The run starts at `runStart`. The end
   * equals `runStart` if no bound has this prefix.
   */
  def runEnd(runStart: Int, prefix: Long): Int =
    if (runStart < prefixes.length && prefixes(runStart) == prefix) runEnds(runStart) else runStart
}
