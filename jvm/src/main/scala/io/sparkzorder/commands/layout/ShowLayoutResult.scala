// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.layout

import java.sql.Timestamp

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, Expression, Hex}
import org.apache.spark.sql.types._

import io.sparkzorder.index.ValuesSummary
import io.sparkzorder.log.publish.RetainedFiles
import io.sparkzorder.report.{ColumnLayout, UnitReads}
import io.sparkzorder.table.stats.FileRange

/**
 * The row that SHOW LAYOUT returns for a column.
 *
 * @param zone session time zone, in which timestamps are shown
 * @param ofTable warnings of the whole table
 * @param values the index of the column's values; None if there is none
 */
private[sparkzorder] final class ShowLayoutResult(
    layout: ColumnLayout,
    retained: RetainedFiles,
    zone: String,
    ofTable: Seq[String],
    values: Option[ValuesSummary]) {

  def toRow: Row = Row(
    layout.column.name,
    layout.files.count,
    layout.rows,
    rounded(layout.files.perPointQuery),
    rounded(layout.files.ideal),
    orNull(layout.files.excess),
    Row(rounded(layout.depth.mean), layout.depth.max, layout.depth.histogram),
    layout.distinctAtLeast,
    orNull(layout.nulls.filter(_ => layout.rows > 0).map(_.toDouble / layout.rows)),
    orNull(layout.sortedness),
    units(layout.rowGroups),
    layout.pages.map(units).orNull,
    retained.bytes,
    retained.untilMs.map(new Timestamp(_)).orNull,
    (ofTable ++ layout.warnings).reduceOption(_ + "; " + _).orNull,
    ranges,
    values.map(v => Row(v.files, math.max(0L, layout.files.count - v.files), v.bytes)).orNull)

  private def units(u: UnitReads): Row =
    Row(u.count, rounded(u.perPointQuery), rounded(u.ideal), orNull(u.excess))

  /**
   * The ranges of at most `MaxRanges` files, at even distances in the list of files. The rows of all columns show the
   * same files.
   */
  private def ranges: Seq[Row] = {
    val text = new ValueText(layout.column.dataType, zone)
    val step = math.max(1.0, layout.ranges.size.toDouble / ShowLayoutResult.MaxRanges)
    val chosen = math.min(layout.ranges.size, ShowLayoutResult.MaxRanges)
    (0 until chosen).map { i =>
      layout.ranges((i * step).toInt) match {
        case (rows, Some(FileRange(min, max))) => Row(text(min), text(max), rows)
        case (rows, None) => Row(null, null, rows)
      }
    }
  }

  private def orNull(x: Option[Double]): java.lang.Double =
    x.map(d => Double.box(rounded(d))).orNull

  // the numbers are sums of many shares, and their last digits are rounding errors
  private def rounded(x: Double): Double = math.rint(x * 1e6) / 1e6
}

private[sparkzorder] object ShowLayoutResult {
  val MaxRanges = 4096

  private val depth = new StructType()
    .add("mean", DoubleType, nullable = false)
    .add("max", LongType, nullable = false)
    .add("histogram", MapType(LongType, LongType, valueContainsNull = false), nullable = false)

  private val units = new StructType()
    .add("count", LongType, nullable = false)
    .add("perPointQuery", DoubleType, nullable = false)
    .add("ideal", DoubleType, nullable = false)
    .add("excess", DoubleType)

  private val values = new StructType()
    .add("files", LongType, nullable = false)
    .add("filesUncovered", LongType, nullable = false)
    .add("bytes", LongType, nullable = false)

  private val range = new StructType()
    .add("min", StringType)
    .add("max", StringType)
    .add("rows", LongType, nullable = false)

  /** Columns of the result, as the SQL reference documents them. */
  val schema: StructType = new StructType()
    .add("column", StringType, nullable = false)
    .add("files", LongType, nullable = false)
    .add("rows", LongType, nullable = false)
    .add("filesPerPointQuery", DoubleType, nullable = false)
    .add("ideal", DoubleType, nullable = false)
    .add("excess", DoubleType)
    .add("overlapDepth", depth, nullable = false)
    .add("distinctAtLeast", LongType, nullable = false)
    .add("nullShare", DoubleType)
    .add("sortedness", DoubleType)
    .add("rowGroups", units, nullable = false)
    .add("pages", units)
    .add("retainedBytes", LongType, nullable = false)
    .add("retainedUntil", TimestampType)
    .add("warning", StringType)
    .add("fileRanges", ArrayType(range, containsNull = false), nullable = false)
    .add("values", values)
}

/**
 * Values as text, cast to STRING by Spark. BINARY is shown as hexadecimal digits, and long texts are cut.
 *
 * @param zone time zone of timestamps
 */
private[sparkzorder] final class ValueText(dataType: DataType, zone: String) {
  private val value = BoundReference(0, dataType, nullable = false)
  private val shown: Expression =
    if (dataType == BinaryType) Hex(value) else Cast(value, StringType, Some(zone))

  /** @param v a Catalyst value, not null */
  def apply(v: Any): String = shown.eval(InternalRow(v)).toString.take(ValueText.MaxLength)
}

private[sparkzorder] object ValueText {
  val MaxLength = 128
}
