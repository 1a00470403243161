// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import scala.collection.mutable

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.delta.Snapshot
import org.apache.spark.sql.delta.actions.AddFile
import org.apache.spark.sql.functions.{col, from_json, lit}
import org.apache.spark.sql.sparkzorder.{SparkLine, SparkPrivate}
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.skipping.scan.OddOffsets
import io.sparkzorder.sources.FileColumnInfo
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.{ColumnRange, FileRange}

/** What Delta's statistics say of the ordering columns of files. */
private[delta] final class DeltaStatistics(
    session: Session,
    state: Snapshot,
    columns: Seq[OrderingColumn]) {
  private val physical = columns.map(c => DeltaLayouts.physical(c.parts, state.schema))

  /** A file without statistics may hold any value. */
  val unknown: IndexedSeq[FileColumnInfo] =
    columns.map(_ => FileColumnInfo(ColumnRange.Unknown, 0L, 0L)).toIndexedSeq

  /** Of all files of the table, by their paths in the log. */
  def all: Map[String, IndexedSeq[FileColumnInfo]] =
    read(SparkLine.session(session), state.withStats)

  /** Of new files. */
  def of(adds: Seq[AddFile]): Map[String, IndexedSeq[FileColumnInfo]] = {
    val rows = new java.util.ArrayList[org.apache.spark.sql.Row]()
    adds.foreach(a => rows.add(org.apache.spark.sql.Row(a.path, a.stats)))
    val texts = session.createDataFrame(
      rows,
      new StructType().add("path", StringType).add("stats", StringType))
    read(session, texts.withColumn("stats", from_json(col("stats"), state.statsSchema)))
  }

  private def read(
      session: Session,
      files: org.apache.spark.sql.DataFrame): Map[String, IndexedSeq[FileColumnInfo]] = {
    val frame: Frame = SparkLine.frame(session, files.queryExecution.analyzed)
    val schema = frame.schema("stats").dataType.asInstanceOf[StructType]
    val ofColumns = columns.zip(physical).flatMap { case (c, path) =>
      Seq(
        stat(schema, "minValues" +: path, c.dataType),
        stat(schema, "maxValues" +: path, c.dataType),
        stat(schema, "nullCount" +: path, LongType))
    }
    val chosen = frame.select(
      (Seq(col("path"), stat(schema, Seq("numRecords"), LongType)) ++ ofColumns).zipWithIndex
        .map { case (c, i) => c.as(s"c$i") }: _*)
    val found = mutable.Map.empty[String, IndexedSeq[FileColumnInfo]]
    SparkPrivate.foreachInternal(chosen) { row =>
      val records = if (row.isNullAt(1)) None else Some(row.getLong(1))
      found(row.getString(0)) = columns.indices.map(c => info(row, 2 + 3 * c, c, records))
    }
    found.toMap
  }

  /** NULL where there are no such statistics. */
  private def stat(schema: StructType, path: Seq[String], dataType: DataType): Column = {
    def exists(in: DataType, parts: Seq[String]): Boolean = (in, parts) match {
      case (_, Nil) => true
      case (s: StructType, head +: tail) =>
        s.fields.find(_.name == head).exists(f => exists(f.dataType, tail))
      case _ => false
    }
    if (!exists(schema, path)) lit(null).cast(dataType)
    else col(("stats" +: path).map(quoteIdentifier).mkString(".")).cast(dataType)
  }

  private def info(row: InternalRow, at: Int, c: Int, records: Option[Long]): FileColumnInfo = {
    val dataType = columns(c).dataType
    def bound(i: Int): Option[Any] =
      if (row.isNullAt(i)) None else Some(InternalRow.copyValue(row.get(i, dataType)))
    val nulls = if (row.isNullAt(at + 2)) None else Some(row.getLong(at + 2))
    val values = for { r <- records; n <- nulls } yield math.max(0L, r - n)
    val range =
      for { a <- bound(at); b <- bound(at + 1) if isText(a) && isText(b) } yield {
        FileRange(lower(a, dataType), upper(b, dataType))
      }
    val known =
      if (values.contains(0L)) ColumnRange.Empty else range.getOrElse(ColumnRange.Unknown)
    FileColumnInfo(known, 0L, values.orElse(records).getOrElse(0L))
  }

  /** Bytes that are no UTF-8 become U+FFFD in the log: the value is another one then. */
  private def isText(bound: Any): Boolean = bound match {
    case s: UTF8String => !s.toString.contains('\uFFFD')
    case _ => true
  }

  private def lower(value: Any, dataType: DataType): Any = (dataType, value) match {
    case (TimestampType, micros: Long) => OddOffsets.earlier(micros)
    case _ => value
  }

  /** Bounds of timestamps are cut to milliseconds. */
  private def upper(value: Any, dataType: DataType): Any = (dataType, value) match {
    case (TimestampType, micros: Long) => OddOffsets.later(OddOffsets.later(micros, 999))
    case (TimestampNTZType, micros: Long) => OddOffsets.later(micros, 999)
    case _ => value
  }
}
