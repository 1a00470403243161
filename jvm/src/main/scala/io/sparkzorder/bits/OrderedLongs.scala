package io.sparkzorder.bits

import java.math.BigInteger

/**
 * Longs whose signed order is Spark's order of a value of fixed width.
 *
 * Integers, dates and times are such longs as they are; here is what needs more, and the step from
 * an ordered long to bytes that compare unsigned.
 */
object OrderedLongs {

  /** -0.0 equals 0.0, and every NaN is one value above all others, as Spark orders them. */
  def ofFloat(value: Float): Long = {
    // adding 0.0 turns -0.0 into 0.0; floatToIntBits has one NaN
    val bits = java.lang.Float.floatToIntBits(value + 0.0f)
    // a negative float's other bits grow as it falls, so they are flipped
    (bits ^ ((bits >> 31) & Int.MaxValue)).toLong
  }

  /** -0.0 equals 0.0, and every NaN is one value above all others, as Spark orders them. */
  def ofDouble(value: Double): Long = {
    val bits = java.lang.Double.doubleToLongBits(value + 0.0d)
    bits ^ ((bits >> 63) & Long.MaxValue)
  }

  def ofBoolean(value: Boolean): Long = if (value) 1L else 0L

  /**
   * Ordered bits at the most significant end of a long, zeros below.
   *
   * @param ordered an ordered long of a signed type
   * @param bytes the type's width, 1 to 8
   */
  def toBits(ordered: Long, bytes: Int): Long = (ordered << (64 - 8 * bytes)) ^ Long.MinValue

  /** The upper half of a 128-bit integer: ordered as a signed long. */
  def high(value: BigInteger): Long =
    // the shift allocates, and most numbers are short
    if (value.bitLength < 64) value.signum >> 31 else value.shiftRight(64).longValue

  /** The lower half of a 128-bit integer, its sign bit flipped: ordered as a signed long. */
  def low(value: BigInteger): Long = value.longValue ^ Long.MinValue

  /**
   * The first eight bytes, zero-padded on the right, the sign bit flipped: ordered as a signed long
   * where two byte strings differ in their first eight bytes.
   */
  def prefix(bytes: Array[Byte]): Long = prefixBits(bytes) ^ Long.MinValue

  /** The first eight bytes, zero-padded on the right: ordered as an unsigned long. */
  def prefixBits(bytes: Array[Byte]): Long = {
    val n = math.min(8, bytes.length)
    var p = 0L
    var i = 0
    while (i < n) {
      p |= (bytes(i) & 0xffL) << (56 - 8 * i)
      i += 1
    }
    p
  }
}
