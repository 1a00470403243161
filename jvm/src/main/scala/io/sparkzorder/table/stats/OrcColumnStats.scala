// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.stats

import scala.util.Try

import org.apache.hadoop.hive.common.`type`.HiveDecimal
import org.apache.orc._
import org.apache.orc.OrcFile.{WriterImplementation, WriterVersion}
import org.apache.orc.TypeDescription.Category
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.LogicalTypeAnnotation.{
  DecimalLogicalTypeAnnotation,
  TimeLogicalTypeAnnotation
}
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

import org.apache.spark.sql.catalyst.util.{DateTimeUtils, RebaseDateTime}

import io.sparkzorder.table.OrcLeaf

/**
 * Converts the statistics of a storage unit of ORC (a file, a stripe or a stride) to [[ColumnStats]]. The
 * values have the Java classes of the Parquet type that corresponds to the type of the column. These
 * statistics are not reliable and become unknown:
 *
 * - FLOAT and DOUBLE if a value is NaN. A stride that begins with NaN loses its bounds, and the bounds of
 *   the stripe and of the file then ignore all values of this stride. The sum of the column is NaN in this
 *   case.
 * - CHAR if a bound has a character below the space. ORC and Spark pad values with spaces in some places
 *   and not in others. The order depends on the padding only if there are characters below the space: 'a' is less
 *   than 'a' with a tab, but 'a' with a space is greater.
 * - Days before 1582 and instants before 1900. Calendars and old writers count them differently.
 * - Statistics of writers with known errors: all statistics before HIVE-8732, timestamps before ORC-135,
 *   decimals before ORC-517, and TINYINT of the C++ writer before ORC-1725, which read the bytes as
 *   unsigned. For writers other than the Java writer it is unknown whether they had the errors of ORC-135
 *   and ORC-517, so their timestamps and decimals become unknown, too.
 * - A count of 0 values in rows, by a writer that is not known to count the values of each column. The format allows a
 *   file without the count, and ORC's reader then says 0.
 *
 * Bounds of TIMESTAMP are those of a wall clock. In another zone, or in an hour that occurs twice, they differ from the
 * values. Who prunes by these bounds must widen them, as `FooterEntries` does.
 *
 * @param version the version of the writer of the file
 */
private[sparkzorder] final class OrcColumnStats(version: WriterVersion) {
  private type Range = Option[(Any, Any)]

  // Only the sum shows that a value is NaN. Other writers may not write the sum, and their bounds are not used.
  private val writesSums = Set(WriterImplementation.ORC_JAVA, WriterImplementation.ORC_CPP)(
    version.getWriterImplementation)

  private val countsValues =
    OrcColumnStats.WritersThatCount(version.getWriterImplementation)

  /**
   * @param all the statistics of the unit, by column number
   * @param rows the number of rows of the unit
   */
  def of(all: Array[ColumnStatistics], leaf: OrcLeaf, rows: Long): ColumnStats =
    // The statistics of the root column count all rows of the unit. If this count differs from `rows`, the
    // statistics are missing or wrong.
    if (leaf.id >= all.length || all(0).getNumberOfValues != rows) ColumnStats.unknown
    else of(all(leaf.id), leaf, rows)

  /** Like the other `of`, for the statistics of one column whose counts were checked. */
  def of(s: ColumnStatistics, leaf: OrcLeaf, rows: Long): ColumnStats = {
    val values = s.getNumberOfValues
    val bytes = math.max(0L, s.getBytesOnDisk)
    if (leaf.isRepeated) ColumnStats(-1L, null, null, known = false, bytes, values = values)
    else if (values < 0 || values > rows) ColumnStats.unknown
    else if (values == 0 && rows > 0 && !countsValues) ColumnStats.unknown
    else if (values == 0) {
      ColumnStats(rows, null, null, known = true, bytes, values = 0L)
    } else {
      val range =
        if (version.includes(WriterVersion.HIVE_8732)) rangeOf(s, leaf) else None
      val ordered =
        range.filter { case (a, b) => ColumnStats.compare(leaf.primitive, a, b) <= 0 }
      ColumnStats(
        rows - values,
        ordered.map(_._1).orNull,
        ordered.map(_._2).orNull,
        known = ordered.isDefined,
        bytes,
        noNaN = ordered.isDefined,
        values = values)
    }
  }

  private def rangeOf(s: ColumnStatistics, leaf: OrcLeaf): Range = s match {
    case b: BooleanColumnStatistics =>
      Some((Boolean.box(b.getFalseCount == 0), Boolean.box(b.getTrueCount > 0)))
    case i: IntegerColumnStatistics if fits(i, leaf.types.getCategory) =>
      integers(i.getMinimum, i.getMaximum, leaf.primitive)
    case d: DoubleColumnStatistics => floating(d, leaf.primitive)
    case t: StringColumnStatistics if leaf.types.getCategory == Category.CHAR =>
      chars(t.getLowerBound, t.getUpperBound, leaf.types.getMaxLength)
    case t: StringColumnStatistics => strings(t.getLowerBound, t.getUpperBound)
    case d: DecimalColumnStatistics if since(WriterVersion.ORC_517) => decimals(d, leaf.primitive)
    case d: DateColumnStatistics =>
      val (min, max) = (d.getMinimumDayOfEpoch, d.getMaximumDayOfEpoch)
      if (min < RebaseDateTime.lastSwitchJulianDay) None else integers(min, max, leaf.primitive)
    case t: TimestampColumnStatistics if since(WriterVersion.ORC_135) => timestamps(t)
    case _ => None
  }

  /** False for bounds outside the range of the type: a writer that read bytes as unsigned may write 255. */
  private def fits(i: IntegerColumnStatistics, category: Category): Boolean = category match {
    case Category.BYTE => i.getMinimum >= Byte.MinValue && i.getMaximum <= Byte.MaxValue
    case Category.SHORT => i.getMinimum >= Short.MinValue && i.getMaximum <= Short.MaxValue
    case _ => true
  }

  /**
   * True if the Java writer wrote the file, and this version of it has the correction. False for other
   * writers, because for them `includes` returns true for all corrections of the Java writer.
   */
  private def since(correction: WriterVersion): Boolean =
    version.getWriterImplementation == WriterImplementation.ORC_JAVA &&
      version.includes(correction)

  private def integers(min: Long, max: Long, t: PrimitiveType): Range =
    if (t.getLogicalTypeAnnotation.isInstanceOf[TimeLogicalTypeAnnotation]) None
    else t.getPrimitiveTypeName match {
      case INT32 if min.isValidInt && max.isValidInt =>
        Some((Int.box(min.toInt), Int.box(max.toInt)))
      case INT64 => Some((Long.box(min), Long.box(max)))
      case _ => None
    }

  private def floating(d: DoubleColumnStatistics, t: PrimitiveType): Range = {
    // If a column has both -0.0 and 0.0, the bound is whichever of the two comes first. A minimum of 0.0 would then
    // exclude -0.0 in Parquet's order, so each bound of zero is widened to include both.
    val min = if (d.getMinimum == 0) -0.0 else d.getMinimum
    val max = if (d.getMaximum == 0) 0.0 else d.getMaximum
    if (!writesSums || d.getSum.isNaN || min.isNaN || max.isNaN) None
    else t.getPrimitiveTypeName match {
      case FLOAT => Some((Float.box(min.toFloat), Float.box(max.toFloat)))
      case DOUBLE => Some((Double.box(min), Double.box(max)))
      case _ => None
    }
  }

  // ORC truncates long bounds, and then rounds the upper bound up
  private def strings(lower: String, upper: String): Range = {
    // ORC decodes invalid UTF-8 to U+FFFD, which has another position in the order than the bytes have
    def isText(t: String) = t != null && t.indexOf('\uFFFD') < 0
    if (isText(lower) && isText(upper)) Some((Binary.fromString(lower), Binary.fromString(upper)))
    else None
  }

  // the lower bound loses its padding and the upper bound gets all of it, so the bounds hold for padded and for
  // unpadded values
  private def chars(lower: String, upper: String, length: Int): Range =
    if (lower == null || upper == null || (lower + upper).exists(_ < ' ')) None
    else {
      val missing = length - upper.codePointCount(0, upper.length)
      strings(lower.replaceAll(" +$", ""), upper + " " * math.max(0, missing))
    }

  private def decimals(d: DecimalColumnStatistics, t: PrimitiveType): Range =
    t.getLogicalTypeAnnotation match {
      case a: DecimalLogicalTypeAnnotation =>
        for {
          min <- unscaled(d.getMinimum, a.getScale, t)
          max <- unscaled(d.getMaximum, a.getScale, t)
        } yield (min, max)
      case _ => None
    }

  private def unscaled(d: HiveDecimal, scale: Int, t: PrimitiveType): Option[Any] = Try[Any] {
    val value = d.bigDecimalValue.setScale(scale).unscaledValue
    t.getPrimitiveTypeName match {
      case INT32 => Int.box(value.intValueExact)
      case INT64 => Long.box(value.longValueExact)
      case _ => Binary.fromConstantByteArray(value.toByteArray)
    }
  }.toOption

  private def timestamps(t: TimestampColumnStatistics): Range =
    Try((
      DateTimeUtils.fromJavaTimestamp(t.getMinimum),
      DateTimeUtils.fromJavaTimestamp(t.getMaximum))).toOption
      .filter(_._1 >= RebaseDateTime.lastSwitchJulianTs)
      .map { case (min, max) => (Long.box(min), Long.box(max)) }
}

private object OrcColumnStats {
  import WriterImplementation._
  private val WritersThatCount = Set(ORC_JAVA, ORC_CPP, PRESTO, TRINO)
}
