// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.nio.{ByteBuffer, ByteOrder}

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.util.{DateTimeUtils, RebaseDateTime}
import org.apache.spark.sql.catalyst.util.DateTimeConstants.MICROS_PER_DAY

import io.sparkzorder.bits.OrderedLongs
import io.sparkzorder.table.stats.{ColumnStats, ScannedFile}

/**
 * Computes the bounds of columns for which a Parquet footer has no bounds. For that, all values of these columns
 * are read. There are two kinds of such columns:
 *
 *   - FLOAT and DOUBLE: Parquet's writer drops the bounds of a column that holds NaN. The bounds that this class
 *     computes are those of the other values, and the entry says whether there is a NaN. Reading values costs time,
 *     so only columns that pass [[ColumnChoice.isNamed]] are read.
 *   - INT96: footers have no bounds of INT96. The values are read if the user asked for this.
 *
 * @param choice which columns are indexed
 * @param readsInt96 true to read INT96 columns
 */
private[index] final class BoundsFromValues(choice: ColumnChoice, readsInt96: Boolean)
    extends Serializable
    with Logging {

  /** True if `entry` lacks bounds that can only be computed from the values of the file. */
  def needsValues(entry: FileEntry, footer: ScannedFile): Boolean =
    footer.orc.isEmpty && entry.leaves.exists(needsValues(_, entry))

  private def needsValues(leaf: LeafEntry, entry: FileEntry): Boolean = leaf.column.leafType match {
    case Int96Leaf => readsInt96
    case FloatLeaf | DoubleLeaf =>
      !leaf.stats.known && leaf.stats.nulls != entry.rows && choice.isNamed(leaf.column.path)
    case _ => false
  }

  /**
   * Reads the missing bounds and adds them to the entry. If the file cannot be read, the bounds stay unknown until
   * CREATE, because REFRESH reads only files that are new or changed. The other columns of the file keep their bounds.
   */
  def completed(entry: FileEntry, footer: ScannedFile, conf: Configuration): FileEntry =
    if (!needsValues(entry, footer)) entry
    else {
      val columns = entry.leaves.filter(needsValues(_, entry)).map(_.column)
      val read =
        try BoundsFromValues.read(footer.file.path, columns, conf)
        catch {
          case NonFatal(e) =>
            val names = columns.map(_.path.mkString(".")).mkString(", ")
            logWarning(
              s"the values of $names in ${footer.file.path} could not be read, so the index has no bounds of " +
                "them; CREATE ZORDER INDEX reads them again",
              e)
            Map.empty[Seq[String], CollectedBounds]
        }
      entry.copy(leaves = entry.leaves.map { leaf =>
        if (!needsValues(leaf, entry)) leaf
        else {
          val values = read.get(leaf.column.path)
          val bounds = values.flatMap(_.ends)
          if (leaf.column.leafType == Int96Leaf) {
            LeafEntry(
              leaf.column.copy(leafType = Int96Bounds.Stored),
              stats(leaf, bounds.flatMap(Int96Bounds.inEverySession(_, footer)), noNaN = false))
          } else leaf.copy(stats = stats(leaf, bounds, noNaN = values.exists(!_.hasNaN)))
        }
      })
    }

  private def stats(leaf: LeafEntry, bounds: Option[(Long, Long)], noNaN: Boolean): ColumnStats =
    ColumnStats(
      leaf.stats.nulls,
      bounds.map(b => Long.box(b._1)).orNull,
      bounds.map(b => Long.box(b._2)).orNull,
      known = bounds.isDefined,
      noNaN = noNaN && bounds.isDefined)
}

private object BoundsFromValues {

  private def read(
      file: Path,
      columns: Seq[IndexedColumn],
      conf: Configuration): Map[Seq[String], CollectedBounds] = {
    val options = HadoopReadOptions.builder(conf).build()
    val reader = ParquetFileReader.open(HadoopInputFile.fromPath(file, conf), options)
    try {
      val bounds = columns.map(c => c.path -> new CollectedBounds(c.leafType)).toMap
      // a column outside lists has one value or NULL in each row
      ColumnChunk.readAll(reader, columns.map(_.path))((path, chunk) => bounds(path).addAll(chunk))
      bounds
    } finally reader.close()
  }
}

/** Collects the least and the greatest value of a column, in the form of the index, and whether it has NaN. */
private final class CollectedBounds(t: LeafType) {
  private var (least, greatest) = (Long.MaxValue, Long.MinValue)
  private var (hasEnds, foundNaN) = (false, false)

  def hasNaN: Boolean = foundNaN

  /** The least and the greatest value, without NaN; None if there is no such value. */
  def ends: Option[(Long, Long)] = if (hasEnds) Some((least, greatest)) else None

  def addAll(chunk: ColumnChunk): Unit = chunk.foreach { (_, hasValue) =>
    if (hasValue) t match {
      case Int96Leaf => add(Int96Bounds.micros(chunk.column.getBinary.toByteBuffer))
      case FloatLeaf => addReal(chunk.column.getFloat.toDouble)
      case _ => addReal(chunk.column.getDouble)
    }
  }

  private def addReal(value: Double): Unit =
    if (value.isNaN) foundNaN = true else add(OrderedLongs.ofDouble(value))

  private def add(value: Long): Unit = {
    hasEnds = true
    least = math.min(least, value)
    greatest = math.max(greatest, value)
  }
}

/**
 * The bounds of INT96 columns. They hold in each session, whatever its calendar and its time zone are. If a
 * session may shift the values by its time zone, the bounds are made wider. If a session may read the values by
 * another calendar, the column gets no bounds.
 */
private object Int96Bounds {

  /** The type under which the index stores an INT96 column whose values were read. */
  val Stored: LeafType = TimestampLeaf(millis = false, utc = true)

  /** The microseconds of an INT96 value, as Spark reads the 12 bytes without a change of the calendar. */
  def micros(bytes: ByteBuffer): Long = {
    val value = bytes.order(ByteOrder.LITTLE_ENDIAN)
    val nanos = value.getLong(value.position())
    val day = value.getInt(value.position() + 8)
    DateTimeUtils.fromJulianDay(day, nanos)
  }

  /**
   * Bounds of the values as any session reads them; None if there are no such bounds. Two things change what a
   * session reads:
   *
   *   - The calendar. Spark before 3.1, and Spark's legacy mode, wrote times in the hybrid calendar, which is Julian
   *     before 1582-10-15. Readers convert such times if they lie before 1900, because the offsets of time zones
   *     also differ until then. For files without a mark of Spark, a setting of the session decides whether a
   *     reader converts.
   *   - The time zone. With `spark.sql.parquet.int96TimestampConversion`, a session shifts the values of all writers
   *     except parquet-mr by its time zone.
   */
  def inEverySession(bounds: (Long, Long), footer: ScannedFile): Option[(Long, Long)] = {
    val (min, max) = bounds
    val isShifted = !footer.createdBy.startsWith("parquet-mr")
    val shift = if (isShifted) 2 * MICROS_PER_DAY else 0L
    val isUsual = min > Long.MinValue + shift && max < Long.MaxValue - shift
    if (isUsual && (isProleptic(footer) || min - shift >= sameInBothCalendars)) {
      Some((min - shift, max + shift))
    } else None
  }

  /** From this time on, a conversion between the calendars changes no value. A year is added for safety. */
  private val sameInBothCalendars = RebaseDateTime.lastSwitchJulianTs + 366 * MICROS_PER_DAY

  // the same rule as in Spark's DataSourceUtils
  private def isProleptic(footer: ScannedFile): Boolean =
    footer.keyValues.get("org.apache.spark.version").exists(_ >= "3.1.0") &&
      !footer.keyValues.contains("org.apache.spark.legacyINT96")
}
