// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import org.apache.spark.sql.Column
import org.apache.spark.sql.functions.{call_function, lit}

/**
 * The functions of spark-zorder for Scala, by their SQL names. The session needs the extension
 * `io.sparkzorder.ZOrderExtensions`.
 *
 * @groupname bits Bits of values
 * @groupname order Order of rows
 */
object functions {

  /**
   * Interleaves the bits of all columns. The most significant bits of all columns come first. Among
   * bits of equal significance, the bit of the first column comes first.
   *
   * `interleave_bits(lit(0), lit(99), lit(50))` is `X'00000000000000000009901A'`. All bits of a
   * NULL are 0. Negative integers sort after positive ones.
   *
   * @param columns TINYINT, SMALLINT, INT, BIGINT or BINARY, in any mix; at least one
   * @return BINARY, never null, as wide as the columns together
   * @group bits
   * @since 0.3.0
   */
  def interleave_bits(columns: Column*): Column = call_function("interleave_bits", columns: _*)

  /**
   * Bytes whose unsigned order is Spark's order of the column. A string gives its first 8 bytes.
   *
   * `ordered_bits(lit(-1))` is `X'7FFFFFFF'`. All bytes of a NULL are 0, -0.0 equals 0.0, and NaN
   * is the greatest value.
   *
   * @param column of an orderable atomic type
   * @return BINARY, never null, of the type's width
   * @group bits
   * @since 0.3.0
   */
  def ordered_bits(column: Column): Column = call_function("ordered_bits", column)

  /**
   * Like `ordered_bits(column)`, with the width for STRING, CHAR, VARCHAR and BINARY.
   *
   * `ordered_bits(lit("ab"), 3)` is `X'616200'`.
   *
   * @param bytes 1 to 64; ignored for types of fixed width
   * @return BINARY, never null, of the given width or of the type's fixed width
   * @group bits
   * @since 0.3.0
   */
  def ordered_bits(column: Column, bytes: Int): Column =
    call_function("ordered_bits", column, lit(bytes))

  /**
   * Divides the rows of the query into 1024 ranges of the column with about the same number of rows
   * each, and returns the number of the row's range.
   *
   * The values 1, 2, 3, 4 get the ids 128, 384, 640, 896. NULL gets 0. Spark samples the input of
   * an operator once for all calls in that operator. Does not work in streams.
   *
   * @param column of an orderable atomic type
   * @return INT from 0 to 1023, never null
   * @group order
   * @since 0.3.0
   */
  def range_partition_id(column: Column): Column = call_function("range_partition_id", column)

  /**
   * Like `range_partition_id(column)`, with the number of ranges. The sample gives at most 4096 bounds, so more than
   * 4096 ranges have very different numbers of rows, and of more than 8193 ranges some stay empty.
   *
   * @param n at least 1
   * @return INT from 0 to `n - 1`, never null
   * @group order
   * @since 0.3.0
   */
  def range_partition_id(column: Column, n: Int): Column =
    call_function("range_partition_id", column, lit(n))

  /**
   * The number of bounds below the value of the column. Needs no sample, so it works in streams.
   *
   * `range_partition_id(lit(15), array(lit(10), lit(20)))` is 1. NULL is 0.
   *
   * @param column of an orderable atomic type
   * @param bounds a literal ARRAY in ascending order, without NULL and with at least one element
   * @return INT from 0 to the number of bounds, never null
   * @group order
   * @since 0.3.0
   */
  def range_partition_id(column: Column, bounds: Column): Column =
    call_function("range_partition_id", column, bounds)

  /**
   * The Hilbert index of the columns' range ids. Clusters like `zorder`. In addition, the curve never jumps:
   * consecutive points of the curve are neighbours, so rows with close indices have similar ranks in every column.
   *
   * With one column, the result never decreases as the column increases, but different values can share a result.
   * For one column with the values 7 and 7, both indices are 32768. NULL has range id 0. Spark
   * samples the input of an operator once for all calls in that operator. Does not work in streams.
   *
   * @param columns of orderable atomic types; 1 to 9 of them
   * @return BIGINT of at least 0, never null
   * @group order
   * @since 0.3.0
   */
  def hilbert(columns: Column*): Column = call_function("hilbert", columns: _*)

  /**
   * The Z-value of the columns' range ids: `df.sort(zorder($"a", $"b"))` clusters by both columns
   * equally. Rows with close Z-values mostly have similar ranks in every column.
   *
   * With one column, the result never decreases as the column increases, but different values can share a result.
   * For one column with the values 7 and 7, both Z-values are 32768. NULL has range id 0. Spark
   * samples the input of an operator once for all calls in that operator. Does not work in streams.
   *
   * @param columns of orderable atomic types; 1 to 63 of them
   * @return BIGINT of at least 0, never null
   * @group order
   * @since 0.3.0
   */
  def zorder(columns: Column*): Column = call_function("zorder", columns: _*)

  /**
   * The Z-value of the columns' own bits, `interleave_bits(ordered_bits(c1), ...)`. Needs no
   * sample, so it works in streams. If the ranges of the columns differ, one column dominates the
   * order.
   *
   * `zorder_by_value(lit(-1))` is `X'7FFFFFFF'`. All bits of a NULL are 0.
   *
   * @param columns of orderable atomic types; at least one
   * @return BINARY, never null
   * @group order
   * @since 0.3.0
   */
  def zorder_by_value(columns: Column*): Column = call_function("zorder_by_value", columns: _*)
}
