// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.types._

import io.sparkzorder.RandomInputs
import io.sparkzorder.index._
import io.sparkzorder.skipping.SkippingTestBase
import io.sparkzorder.skipping.values.{
  BytesPosition,
  ComparisonDomain,
  LiteralPosition,
  LongPosition
}
import io.sparkzorder.table.stats.ColumnStats

/** Indexes of imaginary files with few rows. */
abstract class ColumnFilesBase extends SkippingTestBase with RandomInputs {

  /** One index of files with these values of one column `c`. */
  protected def indexOf(t: DataType, files: Seq[Seq[Any]]): IndexContent =
    indexOf(Seq("c" -> t), files.map(_.map(Seq(_))))

  /**
   * One index of files with these rows each.
   *
   * @param columns the names and types of the values of a row
   */
  protected def indexOf(
      columns: Seq[(String, DataType)],
      files: Seq[Seq[Seq[Any]]]): IndexContent = {
    val leaves = LeafColumns(columns.map(c => Seq(c._1)))
    IndexContent.of(files.zipWithIndex.map { case (rows, i) =>
      val entries = columns.zipWithIndex.map { case ((name, t), k) =>
        LeafEntry(IndexedColumn(Seq(name), leafType(t)), statsOf(t, rows.map(_(k))))
      }
      FileEntry(s"f$i", 1L, 1L, rows.size.toLong, leaves, entries)
    })
  }

  private def leafType(t: DataType): LeafType = t match {
    case BooleanType => BooleanLeaf
    case ByteType => IntegerLeaf(8)
    case ShortType => IntegerLeaf(16)
    case IntegerType => IntegerLeaf(32)
    case LongType => IntegerLeaf(64)
    case DateType => DateLeaf
    case TimestampType => TimestampLeaf(millis = false, utc = true)
    case TimestampNTZType => TimestampLeaf(millis = false, utc = false)
    case FloatType => FloatLeaf
    case DoubleType => DoubleLeaf
    case d: DecimalType => DecimalLeaf(d.precision, d.scale)
    case BinaryType => BinaryLeaf
    case _ => StringLeaf
  }

  private def statsOf(t: DataType, values: Seq[Any]): ColumnStats = {
    val domain = ComparisonDomain.of(t).get
    val ends = values.filter(v => v != null && !isNaN(v)).map(LiteralPosition.of(_, domain).get)
      .sortWith {
        case (a: LongPosition, b: LongPosition) => a.low < b.low
        case (a: BytesPosition, b: BytesPosition) =>
          ByteValues.compare(a.low, 0, a.low.length, b.low) < 0
        case _ => false
      }.map {
        case LongPosition(low, _) => low
        case BytesPosition(low, _, _) => low
      }
    val nulls = values.count(_ == null).toLong
    if (ends.isEmpty || values.exists(isNaN)) ColumnStats(nulls, null, null, known = false)
    else ColumnStats(nulls, ends.head, ends.last, known = true, noNaN = true)
  }

  protected def isNaN(value: Any): Boolean = value match {
    case d: Double => d.isNaN
    case f: Float => f.isNaN
    case _ => false
  }
}
