// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.nio.ByteOrder

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.column.{ColumnDescriptor, ColumnReader}
import org.apache.parquet.column.impl.ColumnReadStoreImpl
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.io.api.{Converter, GroupConverter, PrimitiveConverter}
import org.apache.parquet.schema.MessageType

import org.apache.spark.sql.catalyst.util.{DateTimeUtils, RebaseDateTime}
import org.apache.spark.sql.catalyst.util.DateTimeConstants.MICROS_PER_DAY

import io.sparkzorder.table.stats.{ColumnStats, ScannedFile}

/**
 * The least and the greatest value of INT96 columns. Footers have no bounds of INT96, so all values
 * of these columns are read, and no other column. The bounds hold in each session, whatever its
 * settings say of the calendar and of time zones: a column whose values depend on them has none.
 */
private[index] object Int96Bounds {

  /** The type under which bounds that were read are stored. */
  val Stored: LeafType = TimestampLeaf(millis = false, utc = true)

  /** The entry with bounds of its INT96 columns, or without these bounds if they cannot be read. */
  def added(entry: FileEntry, footer: ScannedFile, conf: Configuration): FileEntry = {
    val columns = entry.leaves.filter(_.column.leafType == Int96Leaf).map(_.column.path)
    if (columns.isEmpty) entry
    else {
      val read = Try(Int96Bounds.read(footer.file.path, columns, conf)).getOrElse(Map.empty)
      entry.copy(leaves = entry.leaves.map { leaf =>
        if (leaf.column.leafType != Int96Leaf) leaf
        else {
          val bounds = read.get(leaf.column.path).flatMap(inEverySession(_, footer))
          val stats = ColumnStats(
            leaf.stats.nulls,
            bounds.map(b => Long.box(b._1)).orNull,
            bounds.map(b => Long.box(b._2)).orNull,
            known = bounds.isDefined)
          LeafEntry(IndexedColumn(leaf.column.path, Stored), stats)
        }
      })
    }
  }

  /** The microseconds of the least and the greatest value of each column that has values. */
  private def read(
      file: Path,
      columns: Seq[Seq[String]],
      conf: Configuration): Map[Seq[String], (Long, Long)] = {
    val options = HadoopReadOptions.builder(conf).build()
    val reader = ParquetFileReader.open(HadoopInputFile.fromPath(file, conf), options)
    try {
      val meta = reader.getFooter.getFileMetaData
      val wanted = columns.toSet
      val schema = meta.getSchema
      val found = schema.getColumns.asScala.filter(c => wanted(c.getPath.toSeq)).toSeq
      val bounds = found.map(c => c -> new Bounds).toMap
      reader.setRequestedSchema(found.map(only(schema, _)).reduce((a, b) => a.union(b)))
      Iterator.continually(reader.readNextRowGroup()).takeWhile(_ != null).foreach { pages =>
        val store = new ColumnReadStoreImpl(pages, Ignored, schema, meta.getCreatedBy)
        found.foreach(c => bounds(c).addAll(store.getColumnReader(c), c, pages.getRowCount))
      }
      bounds.collect { case (c, b) if b.hasValues => c.getPath.toSeq -> ((b.min, b.max)) }
    } finally reader.close()
  }

  /** The schema with one leaf column. */
  private def only(schema: MessageType, column: ColumnDescriptor): MessageType = {
    import org.apache.parquet.schema.{GroupType, Type}
    def below(group: GroupType, path: List[String]): Type = {
      val field = group.getType(path.head)
      if (path.tail.isEmpty) field
      else field.asGroupType().withNewFields(below(field.asGroupType(), path.tail))
    }
    new MessageType(schema.getName, below(schema, column.getPath.toList))
  }

  private final class Bounds {
    var min: Long = Long.MaxValue
    var max: Long = Long.MinValue
    var hasValues = false

    /** @param rows of the row group: a column outside lists has one value or NULL in each */
    def addAll(reader: ColumnReader, column: ColumnDescriptor, rows: Long): Unit = {
      var left = rows
      while (left > 0) {
        if (reader.getCurrentDefinitionLevel == column.getMaxDefinitionLevel) {
          val value = reader.getBinary.toByteBuffer.order(ByteOrder.LITTLE_ENDIAN)
          val nanos = value.getLong(value.position())
          val day = value.getInt(value.position() + 8)
          // as Spark reads INT96, without a change of the calendar
          val micros = DateTimeUtils.fromJulianDay(day, nanos)
          hasValues = true
          if (micros < min) min = micros
          if (micros > max) max = micros
        }
        reader.consume()
        left -= 1
      }
    }
  }

  /** Gets no value: the values are taken from the column's reader. */
  private object Ignored extends GroupConverter {
    private val group: GroupConverter = this
    private val primitive = new PrimitiveConverter {}
    override def getConverter(field: Int): Converter = any
    override def start(): Unit = ()
    override def end(): Unit = ()
    private val any: Converter = new AnyConverter
    private final class AnyConverter extends PrimitiveConverter {
      override def asGroupConverter(): GroupConverter = group
      override def asPrimitiveConverter(): PrimitiveConverter = primitive
    }
  }

  /**
   * The bounds of what any session reads. Writers before Spark 3.1, and Spark's legacy mode, used the
   * Julian calendar for times before 1900, and a setting of the session says how to read other files
   * without a mark. Sessions can also shift the values of all writers but parquet-mr by their time
   * zone (`spark.sql.parquet.int96TimestampConversion`).
   */
  private def inEverySession(bounds: (Long, Long), footer: ScannedFile): Option[(Long, Long)] = {
    val (min, max) = bounds
    val isShifted = !footer.createdBy.startsWith("parquet-mr")
    val shift = if (isShifted) 2 * MICROS_PER_DAY else 0L
    val isUsual = min > Long.MinValue + shift && max < Long.MaxValue - shift
    if (isUsual && (isProleptic(footer) || min - shift >= sameInBothCalendars)) {
      Some((min - shift, max + shift))
    } else None
  }

  /** A year after the last time that calendars and the first rules of time zones change. */
  private val sameInBothCalendars = RebaseDateTime.lastSwitchJulianTs + 366 * MICROS_PER_DAY

  // the same rule as in Spark's DataSourceUtils
  private def isProleptic(footer: ScannedFile): Boolean =
    footer.keyValues.get("org.apache.spark.version").exists(_ >= "3.1.0") &&
      !footer.keyValues.contains("org.apache.spark.legacyINT96")
}
