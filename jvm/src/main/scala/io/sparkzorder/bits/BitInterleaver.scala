// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.bits

import java.math.BigInteger

/**
 * Interleaves the bits of n columns of any widths into bytes.
 *
 * The columns are aligned at their most significant bits. The output starts with the first bit of
 * every column, in the order of the columns. The second bit of every column follows, and so on. A
 * column that has no bits left contributes none, so the output has as many bits as all columns
 * together. The code works level by level. Level k consists of byte k of every column that is wider
 * than k bytes. The m bytes of a level become m bytes of output. Example: the bytes d6 and 61
 * (hexadecimal) give the bytes b6 and 29.
 *
 * An instance holds the columns of one row and is not thread-safe. Use one instance for each task.
 *
 * @param columns at least 1
 */
private[sparkzorder] final class BitInterleaver(columns: Int) {
  // The bits of a column are at the upper end of `high`, or in `high` and `low`, or in `arrays`.
  private val high = new Array[Long](columns)
  private val low = new Array[Long](columns)
  private val arrays = new Array[Array[Byte]](columns)
  private val widths = new Array[Int](columns)
  private val level = new Array[Byte](columns)

  /**
   * @param bits the column's bits, at the most significant end
   * @param bytes the column's width in bytes, 0 to 8
   */
  def set(column: Int, bits: Long, bytes: Int): Unit = set(column, bits, 0L, bytes)

  /**
   * @param upper the column's first 8 bytes
   * @param lower the column's next 8 bytes
   * @param bytes the column's width in bytes, 0 to 16
   */
  def set(column: Int, upper: Long, lower: Long, bytes: Int): Unit = {
    // storing a reference into an array costs more than this check
    if (arrays(column) != null) arrays(column) = null
    high(column) = upper
    low(column) = lower
    widths(column) = bytes
  }

  /** @param value a 128-bit integer; its ordered bits (see [[OrderedLongs]]) are 16 bytes wide */
  def set(column: Int, value: BigInteger): Unit =
    set(column, OrderedLongs.high(value) ^ Long.MinValue, value.longValue, 16)

  /** @param bytes the column's bytes, any number of them */
  def set(column: Int, bytes: Array[Byte]): Unit = {
    arrays(column) = bytes
    widths(column) = bytes.length
  }

  /** The interleaved bits. The result has as many bytes as the columns have together. */
  def result(): Array[Byte] = if (areEqualLongs) ofEqualLongs() else ofAnyWidths()

  /** The common case: integers of one width, in so few columns that a level fits into one long. */
  private def areEqualLongs: Boolean = {
    var equal = columns <= BitSpread.MaxStride && widths(0) <= 8
    var c = 0
    while (equal && c < columns) {
      equal = widths(c) == widths(0) && arrays(c) == null
      c += 1
    }
    equal
  }

  private def ofEqualLongs(): Array[Byte] = {
    val table = BitSpread.table(columns)
    val out = new Array[Byte](columns * widths(0))
    var at = 0
    var shift = 56
    while (at < out.length) {
      var z = 0L
      var c = 0
      while (c < columns) {
        z = (z << 1) | table((high(c) >>> shift).toInt & 0xff)
        c += 1
      }
      var rest = 8 * columns
      while (rest > 0) {
        rest -= 8
        out(at) = (z >>> rest).toByte
        at += 1
      }
      shift -= 8
    }
    out
  }

  private def ofAnyWidths(): Array[Byte] = {
    var total = 0L
    var deepest = 0
    var c = 0
    while (c < columns) {
      total += widths(c)
      deepest = math.max(deepest, widths(c))
      c += 1
    }
    val out = new Array[Byte](Math.toIntExact(total))
    var at = 0
    var depth = 0
    while (depth < deepest) {
      val m = gather(depth)
      writeLevel(m, out, at)
      at += m
      depth += 1
    }
    out
  }

  /** Puts byte `depth` of every column that has this byte into `level`. Returns their number. */
  private def gather(depth: Int): Int = {
    var m = 0
    var c = 0
    while (c < columns) {
      if (widths(c) > depth) {
        level(m) = byteAt(c, depth)
        m += 1
      }
      c += 1
    }
    m
  }

  private def byteAt(column: Int, depth: Int): Byte =
    if (arrays(column) != null) arrays(column)(depth)
    else if (depth < 8) (high(column) >>> (56 - 8 * depth)).toByte
    else (low(column) >>> (120 - 8 * depth)).toByte

  /**
   * Writes one level. Up to eight bytes are interleaved in one long. A larger level is interleaved in groups of
   * eight bytes. A group has eight chunks, each with one bit of every byte. Successive chunks start m bits apart.
   */
  private def writeLevel(m: Int, out: Array[Byte], at: Int): Unit =
    if (m <= BitSpread.MaxStride) {
      val z = group(0, m)
      var i = 0
      while (i < m) {
        out(at + i) = (z >>> (8 * (m - 1 - i))).toByte
        i += 1
      }
    } else {
      var from = 0
      while (from < m) {
        val width = math.min(BitSpread.MaxStride, m - from)
        scatter(group(from, width), width, out, 8L * at + from, m)
        from += width
      }
    }

  /** Interleaves the bytes `from until from + width` of the level into 8 chunks of `width` bits. */
  private def group(from: Int, width: Int): Long = {
    val table = BitSpread.table(width)
    var z = 0L
    var i = 0
    while (i < width) {
      z |= table(level(from + i) & 0xff) << (width - 1 - i)
      i += 1
    }
    z
  }

  /** Writes the 8 chunks of a group, the most significant first, at `bit`, `bit + stride`, ... */
  private def scatter(z: Long, width: Int, out: Array[Byte], bit: Long, stride: Int): Unit = {
    var k = 7
    var position = bit
    while (k >= 0) {
      val chunk = (z >>> (k * width)).toInt & ((1 << width) - 1)
      // a chunk of at most 8 bits touches at most two bytes
      val index = (position >>> 3).toInt
      val twoBytes = chunk << (16 - width - (position & 7).toInt)
      out(index) = (out(index) | (twoBytes >>> 8)).toByte
      if ((twoBytes & 0xff) != 0) out(index + 1) = (out(index + 1) | twoBytes).toByte
      position += stride
      k -= 1
    }
  }
}

/**
 * Z-values: the range ids of n columns, interleaved bit by bit into one non-negative long.
 *
 * The first column provides the most significant bit, and all columns have the same number of bits.
 * The sign bit is always 0, so sorting the longs as signed numbers gives the order of the Z-curve.
 */
private[sparkzorder] object ZValues {

  /** Every column needs at least one of the 63 bits below the sign bit. */
  val MaxColumns = 63

  /** Sixteen bits distinguish 65,536 ranges. A sample of a column distinguishes fewer. */
  val MaxBits = 16

  /**
   * The bits that each of `columns` columns gets: `min(16, floor(63 / columns))`.
   *
   * @param columns 1 to 63
   */
  def bitsPerColumn(columns: Int): Int = {
    require(
      columns >= 1 && columns <= MaxColumns,
      s"a Z-value takes 1 to $MaxColumns columns, not $columns")
    math.min(MaxBits, 63 / columns)
  }

  /**
   * The part of the Z-value that one column contributes; the Z-value is the OR of all parts.
   *
   * @param id the column's range id, 0 until `1 << bitsPerColumn(columns)`
   * @param column the column's index, 0 until `columns`
   */
  def part(id: Int, column: Int, columns: Int): Long = {
    val spread =
      if (columns <= BitSpread.MaxStride) {
        // an id has at most two bytes
        val table = BitSpread.table(columns)
        table(id & 0xff) | (table(id >>> 8) << (8 * columns))
      } else BitSpread.spread(id, bitsPerColumn(columns), columns)
    spread << (columns - 1 - column)
  }

  /** The Z-value of a row, from the range id of each column. */
  def interleave(ids: Array[Int]): Long = {
    var z = 0L
    var c = 0
    while (c < ids.length) {
      z |= part(ids(c), c, ids.length)
      c += 1
    }
    z
  }
}

/**
 * Spreads the bits of a byte, so that bits of other columns fit between them.
 *
 * The table for the stride `s` maps a byte to the long that has bit `k` of the byte at bit `k * s`.
 * Each of the eight tables has 256 longs, or 2 KB, so the table in use stays in the first-level
 * cache. With more than eight columns, [[BitInterleaver]] uses the tables for groups of eight
 * columns, and [[ZValues]] uses [[spread]] instead of a table.
 */
private[sparkzorder] object BitSpread {

  /** The greatest number of bytes that fit into a long when they are interleaved. */
  val MaxStride = 8

  private val tables: Array[Array[Long]] =
    Array.tabulate(MaxStride + 1)(stride => Array.tabulate(256)(spread(_, 8, stride)))

  /** @param stride 1 to 8 */
  def table(stride: Int): Array[Long] = tables(stride)

  /**
   * Spreads the low `bits` bits of a value: bit `k` moves to bit `k * stride`.
   *
   * @param value non-negative
   * @param bits the bits to move; `(bits - 1) * stride` is at most 63
   */
  def spread(value: Int, bits: Int, stride: Int): Long = {
    var z = 0L
    var k = 0
    while (k < bits) {
      z |= ((value >>> k) & 1L) << (k * stride)
      k += 1
    }
    z
  }
}
