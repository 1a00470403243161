package io.sparkzorder.bits

/**
 * Search in sorted longs, made for many look-ups in a few thousand bounds.
 *
 * A guide table maps the value's distance from the smallest bound, scaled down by a shift, to the few
 * bounds of that bucket; within them the search has no branch that a processor could guess wrong.
 *
 * @param sorted ascending; equal neighbours are allowed; not to be changed
 */
final class GuidedBounds(val sorted: Array[Long]) extends Serializable {

  private val shift: Int = GuidedBounds.shiftFor(sorted)
  private val guide: Array[Int] = GuidedBounds.guideFor(sorted, shift)

  def length: Int = sorted.length

  /** The number of bounds below `value`, which is the index of the first bound not below it. */
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

object GuidedBounds {

  /** Leaves two to four times as many buckets as there are bounds, at most. */
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
