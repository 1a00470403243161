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
   * The bits of all columns interleaved, the most significant bits and the first column first.
   *
   * `interleave_bits(lit(0), lit(99), lit(50))` is `X'00000000000000000009901A'`. NULL counts as zero
   * bits. Negative integers come after positive ones.
   *
   * @param columns TINYINT, SMALLINT, INT, BIGINT or BINARY, in any mix; at least one
   * @return BINARY, never null, as wide as the columns together
   * @group bits
   * @since 0.1.0
   */
  def interleave_bits(columns: Column*): Column = call_function("interleave_bits", columns: _*)

  /**
   * Bytes whose unsigned order is Spark's order of the column; the first 8 bytes of a string.
   *
   * `ordered_bits(lit(-1))` is `X'7FFFFFFF'`. NULL is all zero, -0.0 equals 0.0, NaN is greatest.
   *
   * @param column of an orderable atomic type
   * @return BINARY, never null, of the type's width
   * @group bits
   * @since 0.1.0
   */
  def ordered_bits(column: Column): Column = call_function("ordered_bits", column)

  /**
   * As `ordered_bits(column)`, with the width for STRING, CHAR, VARCHAR and BINARY.
   *
   * `ordered_bits(lit("ab"), 3)` is `X'616200'`.
   *
   * @param bytes 1 to 64; types of fixed width keep their own
   * @group bits
   * @since 0.1.0
   */
  def ordered_bits(column: Column, bytes: Int): Column =
    call_function("ordered_bits", column, lit(bytes))

  /**
   * The range id of the column within the rows of the query, of 1024 ranges of about as many rows.
   *
   * Of the values 1, 2, 3, 4 the ids are 128, 384, 640, 896. NULL is 0. Samples its input once for all
   * calls of an operator; not for streams.
   *
   * @param column of an orderable atomic type
   * @return INT from 0 to 1023, never null
   * @group order
   * @since 0.1.0
   */
  def range_partition_id(column: Column): Column = call_function("range_partition_id", column)

  /**
   * As `range_partition_id(column)`, with the number of ranges.
   *
   * @param n at least 1
   * @return INT from 0 to `n - 1`, never null
   * @group order
   * @since 0.1.0
   */
  def range_partition_id(column: Column, n: Int): Column =
    call_function("range_partition_id", column, lit(n))

  /**
   * The number of bounds below the column; no sampling, so it works in streams too.
   *
   * `range_partition_id(lit(15), array(lit(10), lit(20)))` is 1. NULL is 0.
   *
   * @param column of an orderable atomic type
   * @param bounds a literal ARRAY in ascending order, without NULL and with at least one element
   * @return INT from 0 to the number of bounds, never null
   * @group order
   * @since 0.1.0
   */
  def range_partition_id(column: Column, bounds: Column): Column =
    call_function("range_partition_id", column, bounds)

  /**
   * The Hilbert index of the columns' range ids: as `zorder`, and rows that follow each other in its
   * order are near each other in every column.
   *
   * Of the one column values 7 and 7 it is 32768. A NULL counts as range id 0. Samples its input once
   * for all calls of an operator; not for streams.
   *
   * @param columns of orderable atomic types; 1 to 9 of them
   * @return BIGINT of at least 0, never null
   * @group order
   * @since 0.1.0
   */
  def hilbert(columns: Column*): Column = call_function("hilbert", columns: _*)

  /**
   * The Z-value of the columns' range ids: `df.sort(zorder($"a", $"b"))` clusters by both alike.
   *
   * Of the one column values 7 and 7 it is 32768. A NULL counts as range id 0. Samples its input once
   * for all calls of an operator; not for streams.
   *
   * @param columns of orderable atomic types; 1 to 63 of them
   * @return BIGINT of at least 0, never null
   * @group order
   * @since 0.1.0
   */
  def zorder(columns: Column*): Column = call_function("zorder", columns: _*)

  /**
   * The Z-value of the columns' own bits, `interleave_bits(ordered_bits(c1), ...)`: needs no sample,
   * so it works in streams, but skews where the columns' ranges differ.
   *
   * `zorder_by_value(lit(-1))` is `X'7FFFFFFF'`. A NULL counts as zero bits.
   *
   * @param columns of orderable atomic types; at least one
   * @return BINARY, never null
   * @group order
   * @since 0.1.0
   */
  def zorder_by_value(columns: Column*): Column = call_function("zorder_by_value", columns: _*)
}
