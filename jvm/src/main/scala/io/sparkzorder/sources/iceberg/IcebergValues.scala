// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import java.nio.ByteBuffer

import org.apache.iceberg.DataFile
import org.apache.iceberg.types.{Conversions, Type}

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.sources.FileColumnInfo
import io.sparkzorder.table.stats.{ColumnRange, FileRange}

/**
 * What manifests say of one column of a file, with bounds as Catalyst values. Bounds of texts and
 * bytes may be cut; they still hold all values.
 *
 * @param id of the column's field
 */
private[iceberg] final class IcebergValues(id: Int, stored: Type, dataType: DataType) {

  def of(file: DataFile): FileColumnInfo = {
    val counted = count(file.valueCounts)
    val nulls = count(file.nullValueCounts)
    val values = for { c <- counted; n <- nulls } yield c - n
    val range =
      if (values.contains(0L)) ColumnRange.Empty
      else rangeOf(file, values).getOrElse(ColumnRange.Unknown)
    FileColumnInfo(range, count(file.columnSizes).getOrElse(0L), values.getOrElse(file.recordCount))
  }

  private def rangeOf(file: DataFile, values: Option[Long]): Option[FileRange] = {
    val least = bound(file.lowerBounds)
    val greatest = bound(file.upperBounds)
    // bounds leave NaN out, which is the greatest value in Spark's order
    val nans = count(file.nanValueCounts).getOrElse(0L)
    if (nans == 0) for { a <- least; b <- greatest } yield FileRange(a, b)
    else if (values.contains(nans)) Some(FileRange(nan, nan))
    else least.map(FileRange(_, nan))
  }

  private def nan: Any = if (dataType == FloatType) Float.NaN else Double.NaN

  private def count(counts: java.util.Map[Integer, java.lang.Long]): Option[Long] =
    Option(counts).flatMap(c => Option(c.get(id))).map(_.longValue)

  private def bound(bounds: java.util.Map[Integer, ByteBuffer]): Option[Any] =
    Option(bounds).flatMap(b => Option(b.get(id)))
      .flatMap(b => Option(Conversions.fromByteBuffer[Any](stored, b))).flatMap(catalyst)

  private def catalyst(value: Any): Option[Any] = (dataType, value) match {
    case (IntegerType | DateType, i: Integer) => Some(i.intValue)
    case (LongType | TimestampType | TimestampNTZType, l: java.lang.Long) => Some(l.longValue)
    case (FloatType, f: java.lang.Float) => Some(f.floatValue)
    case (DoubleType, d: java.lang.Double) => Some(d.doubleValue)
    case (BooleanType, b: java.lang.Boolean) => Some(b.booleanValue)
    // bytes that are no UTF-8 are read as U+FFFD: the value is another one then
    case (_: StringType, s) =>
      Some(s.toString).filterNot(_.contains('\uFFFD')).map(UTF8String.fromString)
    case (d: DecimalType, b: java.math.BigDecimal) => Some(Decimal(b, d.precision, d.scale))
    case (BinaryType, b: ByteBuffer) =>
      val bytes = new Array[Byte](b.remaining)
      b.duplicate().get(bytes)
      Some(bytes)
    case _ => None
  }
}
