package io.sparkzorder.expressions

import java.nio.ByteBuffer

import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.bits.{ByteStrings, OrderedLongs}

object OrderedBits {

  /** The width of a string's ordered bits unless told otherwise. */
  val DefaultBytes = 8

  /**
   * The ordered bits of one Catalyst value, for use on the driver; null is all zero.
   *
   * @param bytes the width for STRING, CHAR, VARCHAR and BINARY; other types have their own
   */
  def of(dataType: DataType, value: Any, bytes: Int = DefaultBytes): Array[Byte] =
    OrderedType.require(dataType) match {
      case f: FixedOrder =>
        if (value == null) new Array[Byte](f.bytes)
        else firstBytes(f.toBits(f.toLong(value)), f.bytes)
      case w: WideDecimalOrder =>
        if (value == null) new Array[Byte](16) else wide(w.unscaled(value.asInstanceOf[Decimal]))
      case StringOrder =>
        padded(if (value == null) null else value.asInstanceOf[UTF8String].getBytes, bytes)
      case BinaryOrder => padded(value.asInstanceOf[Array[Byte]], bytes)
    }

  /** Negative, zero or positive by the unsigned order of two results of [[of]]. */
  def compare(a: Array[Byte], b: Array[Byte]): Int = ByteStrings.compare(a, b)

  private[expressions] def firstBytes(bits: Long, bytes: Int): Array[Byte] = {
    val out = new Array[Byte](bytes)
    var i = 0
    while (i < bytes) {
      out(i) = (bits >>> (56 - 8 * i)).toByte
      i += 1
    }
    out
  }

  private def wide(unscaled: java.math.BigInteger): Array[Byte] =
    ByteBuffer
      .allocate(16)
      .putLong(OrderedLongs.high(unscaled) ^ Long.MinValue)
      .putLong(unscaled.longValue)
      .array()

  private def padded(value: Array[Byte], bytes: Int): Array[Byte] = {
    val out = new Array[Byte](bytes)
    if (value != null) System.arraycopy(value, 0, out, 0, math.min(bytes, value.length))
    out
  }
}
