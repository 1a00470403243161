// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.stats

import java.math.{BigDecimal, BigInteger}

import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.{LogicalTypeAnnotation, PrimitiveType}
import org.apache.parquet.schema.LogicalTypeAnnotation.{
  IntLogicalTypeAnnotation,
  TimestampLogicalTypeAnnotation,
  TimeUnit
}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

import org.apache.spark.sql.catalyst.util.{DateTimeConstants, TypeUtils}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.util.ColumnLookup

/** What is known of the values of a column in some rows. */
private[sparkzorder] sealed trait ColumnRange {

  /** The least and the greatest value, if they are known. */
  def bounds: Option[FileRange] = None
}

private[sparkzorder] object ColumnRange {

  /** There is no value: every row has NULL. */
  case object Empty extends ColumnRange

  /** Any value may be there. */
  case object Unknown extends ColumnRange
}

/** Least and greatest value of a column, as Catalyst values. */
private[sparkzorder] final case class FileRange(min: Any, max: Any) extends ColumnRange {
  override def bounds: Option[FileRange] = Some(this)
}

/**
 * The statistics of one column in a storage unit: a file, a row group or stripe, a page or stride.
 * For both formats, the values have the Java classes that Parquet uses for the type of the file's
 * column. [[in]] turns them into values of a Catalyst type.
 *
 * @param nulls number of nulls, or -1 when it is not known
 * @param min least value, or null when unknown or when all values are null
 * @param max greatest value, null together with `min`
 * @param known false when nothing is known of the values; `min` and `max` are null then
 * @param bytes of the column after compression
 * @param noNaN true when it is known that no value is NaN. Footers of ORC show this. For Parquet, the index finds it
 *   out from the writer of the file, or from the values
 * @param values number of values that are not null, or -1 when it is not known; known only for ORC
 */
private[sparkzorder] final case class ColumnStats(
    nulls: Long,
    min: Any,
    max: Any,
    known: Boolean,
    bytes: Long = 0L,
    noNaN: Boolean = false,
    values: Long = -1L) {

  /** True when every row is NULL, so a search for a value can leave the unit out. */
  def onlyNulls: Boolean = known && min == null

  /** Both bounds; None where they are not known or there is no value. */
  def bounds: Option[(Any, Any)] = if (known && min != null) Some((min, max)) else None

  /** The [[bounds]] as a range of Catalyst values. Only for statistics that [[in]] has returned. */
  def range: Option[FileRange] = bounds.map { case (a, b) => FileRange(a, b) }

  /** Like [[range]], but distinguishes a unit without values from a unit whose values are not known. */
  def columnRange: ColumnRange =
    if (onlyNulls) ColumnRange.Empty else range.getOrElse(ColumnRange.Unknown)

  /**
   * The same statistics with Catalyst values as bounds, which compare with values of rows. The
   * bounds are unknown if the file's type gives no such values.
   *
   * @param t of the file's column
   */
  def in(t: PrimitiveType, dataType: DataType): ColumnStats = bounds.fold(this) { case (a, b) =>
    val both = for {
      least <- ColumnStats.catalystValue(a, t, dataType)
      greatest <- ColumnStats.catalystValue(b, t, dataType)
    } yield copy(min = least, max = greatest)
    both.getOrElse(copy(min = null, max = null, known = false))
  }
}

private[sparkzorder] object ColumnStats {

  /** The statistics of no rows, to which [[merged]] adds those of row groups. */
  val none: ColumnStats = ColumnStats(0, null, null, known = true)

  /** Statistics of which nothing is known. */
  val unknown: ColumnStats = ColumnStats(-1L, null, null, known = false)

  /** The statistics of a column that the file lacks: it is NULL in every row. */
  def onlyNulls(rows: Long): ColumnStats = ColumnStats(rows, null, null, known = true)

  /** The statistics of two parts of a column together; what is unknown for one part is unknown. */
  def merged(t: PrimitiveType, a: ColumnStats, b: ColumnStats): ColumnStats = {
    val known = a.known && b.known
    ColumnStats(
      if (a.nulls < 0 || b.nulls < 0) -1L else a.nulls + b.nulls,
      if (known) least(t, a.min, b.min) else null,
      if (known) greatest(t, a.max, b.max) else null,
      known,
      a.bytes + b.bytes,
      values = if (a.values < 0 || b.values < 0) -1L else a.values + b.values)
  }

  /**
   * The statistics of a page, with its bounds narrowed to the bounds of its row group. A writer may cut the bounds
   * of a page shorter than those of the row group, but no value of the page lies outside of the latter.
   */
  def within(t: PrimitiveType, page: ColumnStats, group: ColumnStats): ColumnStats =
    (page.bounds, group.bounds) match {
      case (Some((min, max)), Some((least, greatest))) =>
        val (from, to) = (this.greatest(t, min, least), this.least(t, max, greatest))
        if (compare(t, from, to) > 0) page else page.copy(min = from, max = to)
      case _ => page
    }

  /** The lesser of two values of a column; null stands for none. */
  def least(t: PrimitiveType, a: Any, b: Any): Any =
    if (a == null) b else if (b == null || compare(t, a, b) <= 0) a else b

  /** The greater of two values of a column; null stands for none. */
  def greatest(t: PrimitiveType, a: Any, b: Any): Any =
    if (a == null) b else if (b == null || compare(t, a, b) >= 0) a else b

  /** Compares two values of a column as Parquet orders its type. */
  def compare(t: PrimitiveType, a: Any, b: Any): Int =
    t.comparator[Any]().compare(a, b)

  /**
   * A bound as a value of `dataType`, decoded with the file's own type and scale.
   *
   * @return None where the file's type gives no such value
   */
  private def catalystValue(value: Any, t: PrimitiveType, dataType: DataType): Option[Any] =
    (value, dataType) match {
      case (b: java.lang.Boolean, BooleanType) => Some(b.booleanValue)
      // the writer compares these numbers as unsigned, but a number from 2^31 or 2^63 on is negative in Java
      case _ if isUnsigned(t) => None
      case (n: Number, ByteType) => Some(n.byteValue)
      case (n: Number, ShortType) => Some(n.shortValue)
      case (n: Number, IntegerType | DateType | _: YearMonthIntervalType) => Some(n.intValue)
      case (n: Number, LongType | _: DayTimeIntervalType) => Some(n.longValue)
      case (n: java.lang.Float, FloatType) => Some(n.floatValue)
      case (n: Number, DoubleType) => Some(n.doubleValue)
      // days in a column that was widened to a timestamp; as an instant, a day depends on the reader's time zone
      case (n: Number, TimestampNTZType) if isDate(t) =>
        Some(n.longValue * DateTimeConstants.MICROS_PER_DAY)
      case (_, TimestampType) if isDate(t) => None
      case (n: Number, TimestampType | TimestampNTZType) => Some(micros(n.longValue, t))
      case (n: Number, d: DecimalType) => decimal(BigInteger.valueOf(n.longValue), t, d)
      case (b: Binary, d: DecimalType) => decimal(new BigInteger(b.getBytes), t, d)
      // a UUID is stored as 16 bytes, which are not the text that Iceberg shows for it
      case (b: Binary, _: StringType) if t.getPrimitiveTypeName == PrimitiveTypeName.BINARY =>
        Some(UTF8String.fromBytes(b.getBytes))
      case (b: Binary, BinaryType) => Some(b.getBytes)
      // TIME of Spark 4.1: nanoseconds in memory, microseconds in files
      case (n: Number, other) if other.typeName.startsWith("time(") => Some(n.longValue * 1000L)
      case _ => None
    }

  private def isUnsigned(t: PrimitiveType): Boolean = t.getLogicalTypeAnnotation match {
    case i: IntLogicalTypeAnnotation => !i.isSigned && i.getBitWidth >= 32
    case _ => false
  }

  private def isDate(t: PrimitiveType): Boolean =
    t.getLogicalTypeAnnotation.isInstanceOf[LogicalTypeAnnotation.DateLogicalTypeAnnotation]

  private def micros(value: Long, t: PrimitiveType): Long = t.getLogicalTypeAnnotation match {
    case ts: TimestampLogicalTypeAnnotation if ts.getUnit == TimeUnit.MILLIS => value * 1000L
    case _ => value
  }

  private def decimal(unscaled: BigInteger, t: PrimitiveType, d: DecimalType): Option[Decimal] = {
    val scale = t.getLogicalTypeAnnotation match {
      case a: LogicalTypeAnnotation.DecimalLogicalTypeAnnotation => a.getScale
      // whole numbers in a column that was widened to DECIMAL
      case _ => 0
    }
    Some(Decimal(new BigDecimal(unscaled, scale), d.precision, d.scale))
  }
}

private[sparkzorder] object FileRange {

  /** True if the bounds were probably cut: the upper bound is the lower bound with its last character raised. */
  def isCut(range: FileRange): Boolean = {
    def bytes(value: Any): Array[Byte] = value match {
      case s: UTF8String => s.getBytes
      case b: Array[Byte] => b
      case _ => Array.emptyByteArray
    }
    isCut(bytes(range.min), bytes(range.max))
  }

  /** The same for the bytes of both ends. */
  def isCut(min: Array[Byte], max: Array[Byte]): Boolean = {
    val shared = min.zip(max).takeWhile { case (a, b) => a == b }.length
    // the last character has at most 4 bytes; bounds of up to 16 bytes may be those of wide decimals
    min.length > 16 && shared < max.length && shared >= min.length - 4 &&
    max.length <= shared + 4
  }

  /** The values of a column in a file, by the file's footer. */
  def ofFooter(
      column: OrderingColumn,
      file: ScannedFile,
      sameName: (String, String) => Boolean): ColumnRange =
    ColumnLookup.position(file.schema, column.parts, sameName) match {
      case Some(i) if file.rows > 0 =>
        val t = file.schema.getColumns.get(i).getPrimitiveType
        file.leaves(i).in(t, column.dataType).columnRange
      case _ => ColumnRange.Empty
    }
}

/**
 * The least and the greatest value of one column in each file of a folder, as ranks among all
 * these values. With ranks, overlaps are counted in the same way for all types. The units can also be row groups
 * or pages instead of files.
 *
 * @param low rank of each file's least value; -1 for a file of only NULLs, which holds no value
 * @param high rank of each file's greatest value; -1 for a file of only NULLs
 * @param values the values that have ranks, ascending
 */
private[sparkzorder] final class FileSpan private (
    val low: Array[Int],
    val high: Array[Int],
    val values: IndexedSeq[Any]) {

  /** Number of ranks, at least one. */
  val ranks: Int = math.max(1, values.length)

  /**
   * For each rank, the number of chosen files whose range includes the rank.
   *
   * @param chosen tells whether the file at a position is chosen
   */
  def filesAt(chosen: Int => Boolean): Array[Int] = {
    val changes = new Array[Int](ranks + 1)
    low.indices.foreach { f =>
      if (low(f) >= 0 && chosen(f)) {
        changes(low(f)) += 1
        changes(high(f) + 1) -= 1
      }
    }
    changes.scanLeft(0)(_ + _).slice(1, ranks + 1)
  }

  /** Least and greatest rank of the chosen files together, if any of them has values. */
  def spanOf(chosen: Int => Boolean): Option[(Int, Int)] = {
    val own = low.indices.filter(f => low(f) >= 0 && chosen(f))
    if (own.isEmpty) None else Some((own.map(low(_)).min, own.map(high(_)).max))
  }
}

private[sparkzorder] object FileSpan {

  /**
   * @param ranges of the files; a file of which nothing is known counts as holding every value
   */
  def ofRanges(dataType: DataType, ranges: IndexedSeq[ColumnRange]): FileSpan = {
    val ordering: Ordering[Any] = TypeUtils.getInterpretedOrdering(dataType)
    val ends = ranges.flatMap(_.bounds).flatMap(r => Seq(r.min, r.max)).sorted(ordering)
    val distinct = ends.headOption.toVector ++
      ends.zip(ends.drop(1)).collect { case (a, b) if ordering.compare(a, b) != 0 => b }
    val ranks = math.max(1, distinct.length)
    val sorted = java.util.Arrays.asList(distinct: _*)
    def rank(value: Any): Int =
      java.util.Collections.binarySearch[Any](sorted, value, ordering)
    val spans = ranges.map {
      case ColumnRange.Empty => (-1, -1)
      case ColumnRange.Unknown => (0, ranks - 1)
      case FileRange(min, max) => (rank(min), rank(max))
    }
    new FileSpan(spans.map(_._1).toArray, spans.map(_._2).toArray, distinct)
  }
}
