// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.math.BigInteger
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import scala.util.Try

import org.apache.parquet.internal.column.columnindex.BinaryTruncator
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.{LogicalTypeAnnotation, PrimitiveType, Types}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

import io.sparkzorder.bits.OrderedLongs

/**
 * Converts bounds from footers to the form of the index: an ordered `java.lang.Long`, or bytes whose
 * unsigned order is the order of the values. Null means that the bound is unknown.
 */
private[sparkzorder] object IndexValue {

  /**
   * Strings and binaries are cut to this number of bytes, and then to the bytes that tell them apart
   * ([[SeparatingBounds]]). OPTIMIZE cuts the bounds in Parquet footers to the same length.
   */
  val MaxBytes = 2000

  private val string: PrimitiveType =
    Types.required(PrimitiveTypeName.BINARY).as(LogicalTypeAnnotation.stringType()).named("s")
  private val binary: PrimitiveType = Types.required(PrimitiveTypeName.BINARY).named("b")

  /** Both bounds of a column; None if one of them is unknown, or if the minimum is above the maximum. */
  def bounds(min: Any, max: Any, t: LeafType): Option[(Any, Any)] = {
    val (least, greatest) = (of(min, t, isMax = false), of(max, t, isMax = true))
    // bounds whose min is above the max cannot be trusted
    if (least == null || greatest == null || compare(least, greatest) > 0) None
    else Some((least, greatest))
  }

  private def of(value: Any, t: LeafType, isMax: Boolean): Any = (value, t) match {
    case (b: java.lang.Boolean, BooleanLeaf) => OrderedLongs.ofBoolean(b)
    case (n: Number, FloatLeaf | DoubleLeaf) =>
      if (n.doubleValue.isNaN) null else OrderedLongs.ofDouble(n.doubleValue)
    case (n: Number, d: DecimalLeaf) => decimal(BigInteger.valueOf(n.longValue), d)
    case (b: Binary, d: DecimalLeaf) =>
      if (b.length == 0) null else decimal(new BigInteger(b.getBytes), d)
    case (n: Number, _: IntegerLeaf | DateLeaf | _: TimestampLeaf) => n.longValue
    case (b: Binary, StringLeaf) => cut(b, string, isMax)
    case (b: Binary, BinaryLeaf) => cut(b, binary, isMax)
    case _ => null
  }

  private def decimal(unscaled: BigInteger, d: DecimalLeaf): Any =
    if (d.inLongs) {
      // a file may hold a value that exceeds the precision, and the bound must fit into the column of the
      // index
      if (unscaled.bitLength < (if (d.inInts) 32 else 64)) unscaled.longValue else null
    } else wide(unscaled).orNull

  /** 16 bytes whose unsigned order is the order of the numbers; None for a number that needs more bytes. */
  def wide(unscaled: BigInteger): Option[Array[Byte]] =
    if (unscaled.bitLength > 127) None
    else {
      val bytes = unscaled.toByteArray
      val out = new Array[Byte](16)
      Arrays.fill(out, (unscaled.signum >> 31).toByte)
      System.arraycopy(bytes, 0, out, 16 - bytes.length, bytes.length)
      out(0) = (out(0) ^ 0x80).toByte
      Some(out)
    }

  /** The inverse of [[wide]]. */
  def unscaled(wide: Array[Byte]): BigInteger = {
    val bytes = wide.clone()
    bytes(0) = (bytes(0) ^ 0x80).toByte
    new BigInteger(bytes)
  }

  /**
   * A bound of at most [[MaxBytes]] bytes, or null if there is no such bound, or if the bound of a string is not valid
   * UTF-8. A longer minimum is cut off at the end. A longer maximum is cut off and rounded up. A string is cut between
   * two characters.
   */
  private def cut(value: Binary, t: PrimitiveType, isMax: Boolean): Any = {
    val bytes = cut(value, t, isMax, MaxBytes)
    // a maximum that cannot be rounded up is returned uncut
    if (bytes.length > MaxBytes || (t eq string) && !isText(bytes)) null else bytes
  }

  private def cut(value: Binary, t: PrimitiveType, isMax: Boolean, length: Int): Array[Byte] = {
    val truncator = BinaryTruncator.getTruncator(t)
    val short =
      if (value.length <= length) value
      else if (isMax) truncator.truncateMax(value, length)
      else truncator.truncateMin(value, length)
    short.getBytes
  }

  /**
   * A bound of at most `length` bytes. An exception is a maximum that cannot be rounded up, because all its bytes are
   * `0xFF`, or because Parquet cannot increase any character of a string. Such a maximum is returned uncut.
   */
  private[index] def shortened(
      value: Array[Byte],
      t: LeafType,
      isMax: Boolean,
      length: Int): Array[Byte] = {
    val kind = if (t == StringLeaf) string else binary
    cut(Binary.fromConstantByteArray(value), kind, isMax, length)
  }

  private def isText(bytes: Array[Byte]): Boolean =
    Try(UTF_8.newDecoder().decode(java.nio.ByteBuffer.wrap(bytes))).isSuccess

  private def compare(a: Any, b: Any): Int = (a, b) match {
    case (x: Long, y: Long) => java.lang.Long.compare(x, y)
    case (x: Array[Byte], y: Array[Byte]) => ByteValues.compare(x, 0, x.length, y)
    case _ => throw new IllegalArgumentException(s"bounds of two kinds: $a and $b")
  }
}

/**
 * Shortens the bounds of strings and binaries. A bound keeps the bytes that distinguish it from its neighbours among
 * all bounds of the column. So an index of long texts stays small, and still tells files apart whose texts have a
 * long common prefix, such as URLs.
 */
private[index] object SeparatingBounds {

  /** The number of bytes that are kept in any case. */
  val Least = 64

  /** The number of bytes that are kept behind the prefix that a bound shares with a neighbour. */
  private val More = 16

  /**
   * @param more the number of bytes to keep behind the shared prefix; larger than usual if files that are added
   *   later will have bounds between these bounds
   */
  def of(content: IndexContent, more: Int = More): IndexContent =
    content.copy(columns = content.columns.map { case (column, values) =>
      (values.min, values.max, column.leafType) match {
        case (ByteStats(min), ByteStats(max), t @ (StringLeaf | BinaryLeaf))
            if isLong(min) || isLong(max) =>
          column -> cut(values, min, max, t, more)
        case _ => column -> values
      }
    })

  private def isLong(values: ByteValues): Boolean =
    (0 until values.size).exists(values.length(_) > Least)

  private def cut(
      values: ColumnValues,
      min: ByteValues,
      max: ByteValues,
      t: LeafType,
      more: Int): ColumnValues = {
    val n = min.size
    def isBounded(i: Int) = (values.flags(i) & ColumnValues.Bounded) != 0
    // bounds are numbered: the minima from 0 to n - 1, and then the maxima from n on
    def value(i: Int) = if (i < n) min(i) else max(i - n)
    def compare(a: Int, b: Int) = {
      val (left, right) = (if (a < n) min else max, if (b < n) min else max)
      left.compare(a % n, right, b % n)
    }
    val sorted = (0 until 2 * n).filter(i => isBounded(i % n)).toArray
      .sortWith((a, b) => compare(a, b) < 0)
    val shared = new Array[Int](2 * n)
    // equal bounds are treated together, because they have the same neighbours
    var from = 0
    var before = 0
    while (from < sorted.length) {
      var until = from + 1
      while (until < sorted.length && compare(sorted(from), sorted(until)) == 0) until += 1
      val after =
        if (until == sorted.length) 0
        else ByteValues.shared(value(sorted(from)), value(sorted(until)))
      (from until until).foreach(k => shared(sorted(k)) = math.max(before, after))
      before = after
      from = until
    }
    def shortened(i: Int) = {
      val length = math.max(Least, shared(i) + more)
      val whole = value(i)
      if (whole.length <= length) whole
      else IndexValue.shortened(whole, t, isMax = i >= n, length)
    }
    val (low, high) = (new ByteValues.Builder(n), new ByteValues.Builder(n))
    (0 until n).foreach { i =>
      low.add(shortened(i))
      high.add(shortened(n + i))
    }
    values.copy(min = ByteStats(low.result()), max = ByteStats(high.result()))
  }
}
