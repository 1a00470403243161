package io.sparkzorder.bits

import java.math.BigInteger

/** Ordered bits as byte arrays, the results of `ordered_bits`. */
object OrderedBytes {

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
