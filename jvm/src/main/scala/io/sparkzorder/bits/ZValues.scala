// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.bits

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

  /** The largest stride at which the eight bits of a byte fit into a long. */
  val MaxStride = 8

  private val tables: Array[Array[Long]] =
    Array.tabulate(MaxStride + 1)(stride => Array.tabulate(256)(spreadByte(_, stride)))

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

  private def spreadByte(byte: Int, stride: Int): Long = spread(byte, 8, stride)
}
