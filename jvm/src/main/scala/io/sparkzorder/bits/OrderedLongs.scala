// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.bits

import java.math.BigInteger

/**
 * An ordered long stands for a value of a column. The signed order of ordered longs is Spark's
 * order of these values.
 *
 * Integers, dates and times are ordered longs already. This object converts BOOLEAN, FLOAT and DOUBLE to ordered longs,
 * and a 128-bit integer to two longs. Of a byte string it converts the first eight bytes, which order strings only
 * where they differ. It also converts ordered longs to ordered bits, which compare as unsigned bytes.
 */
private[sparkzorder] object OrderedLongs {

  /** As in Spark's order, -0.0 and 0.0 are one value, and all NaNs are one value above all others. */
  def ofFloat(value: Float): Long = {
    // adding 0.0 turns -0.0 into 0.0; floatToIntBits returns the same bits for every NaN
    val bits = java.lang.Float.floatToIntBits(value + 0.0f)
    // The bits of a negative float, apart from the sign bit, increase when the float decreases. So
    // these bits are flipped.
    (bits ^ ((bits >> 31) & Int.MaxValue)).toLong
  }

  /** As in Spark's order, -0.0 and 0.0 are one value, and all NaNs are one value above all others. */
  def ofDouble(value: Double): Long = {
    val bits = java.lang.Double.doubleToLongBits(value + 0.0d)
    bits ^ ((bits >> 63) & Long.MaxValue)
  }

  /** The inverse of [[ofFloat]]. */
  def toFloat(ordered: Long): Float = {
    val bits = ordered.toInt
    java.lang.Float.intBitsToFloat(bits ^ ((bits >> 31) & Int.MaxValue))
  }

  /** The inverse of [[ofDouble]]. */
  def toDouble(ordered: Long): Double =
    java.lang.Double.longBitsToDouble(ordered ^ ((ordered >> 63) & Long.MaxValue))

  def ofBoolean(value: Boolean): Long = if (value) 1L else 0L

  /**
   * The ordered bits of an ordered long, at the most significant end of the result.
   *
   * @param ordered an ordered long of a signed type
   * @param bytes the type's width, 1 to 8
   */
  def toBits(ordered: Long, bytes: Int): Long = (ordered << (64 - 8 * bytes)) ^ Long.MinValue

  /** The upper half of a 128-bit integer, which is ordered as a signed long. */
  def high(value: BigInteger): Long =
    // shiftRight allocates an object. Most numbers fit into 64 bits, and for them the sign is
    // enough.
    if (value.bitLength < 64) value.signum >> 31 else value.shiftRight(64).longValue

  /**
   * The lower half of a 128-bit integer with its top bit flipped. Among integers with an equal upper half,
   * the signed order of these longs is the order of the integers.
   */
  def low(value: BigInteger): Long = value.longValue ^ Long.MinValue

  /**
   * The first eight bytes, zero-padded on the right, with the sign bit flipped. If two results differ,
   * their signed order is the order of the byte strings. Equal results say nothing: the byte strings may
   * differ after the eighth byte, or in trailing zeros.
   */
  def prefix(bytes: Array[Byte]): Long = prefixBits(bytes) ^ Long.MinValue

  /** The first eight bytes, zero-padded on the right, as a long in unsigned order. */
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

/** Ordered bits as byte arrays, for the SQL function `ordered_bits`. */
private[sparkzorder] object OrderedBytes {

  /** The first `bytes` bytes of `bits`, the most significant first. */
  def of(bits: Long, bytes: Int): Array[Byte] = {
    val out = new Array[Byte](bytes)
    var i = 0
    while (i < bytes) {
      out(i) = (bits >>> (56 - 8 * i)).toByte
      i += 1
    }
    out
  }

  /** The 16 ordered bytes of a 128-bit integer. */
  def of(value: BigInteger): Array[Byte] = {
    val out = new Array[Byte](16)
    val high = OrderedLongs.high(value) ^ Long.MinValue
    val low = value.longValue
    var i = 0
    while (i < 8) {
      out(i) = (high >>> (56 - 8 * i)).toByte
      out(i + 8) = (low >>> (56 - 8 * i)).toByte
      i += 1
    }
    out
  }

  /** The first `bytes` bytes of a byte string, zero-padded on the right. */
  def padded(value: Array[Byte], bytes: Int): Array[Byte] = {
    val out = new Array[Byte](bytes)
    System.arraycopy(value, 0, out, 0, math.min(bytes, value.length))
    out
  }
}
