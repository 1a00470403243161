// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import scala.collection.JavaConverters._
import scala.collection.mutable

import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.{Column, DataFrame, Row, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, Literal}
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.delta.{DeltaColumnMapping, DeltaLog, RowTracking, Snapshot}
import org.apache.spark.sql.delta.actions.AddFile
import org.apache.spark.sql.functions.{col, from_json, lit}
import org.apache.spark.sql.sparkzorder.{SparkLine, SparkPrivate}
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.skipping.scan.OddOffsets
import io.sparkzorder.sources._
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.{ColumnRange, FileRange}

/**
 * The files that a statement has listed, in one version of a Delta table.
 *
 * @param state the version of the table
 * @param where the predicate that chose the files; the history of the table shows the predicate
 * @param listed all files that the predicate chose
 */
private[delta] final class DeltaSnapshot(
    format: DeltaFormat,
    val state: Snapshot,
    override val columns: Seq[OrderingColumn],
    val where: Option[Expression],
    val listing: DeltaFiles,
    listed: IndexedSeq[DeltaFile])
    extends FormatSnapshot(format) {
  // One job writes all partition timestamps in one form, either with a zone or without. Files of both forms
  // therefore cannot be rewritten together. A file of a NULL partition has no timestamp, so it fits both forms.
  private val zoneless = if (listed.exists(_.hasZone)) listed.filter(_.isZoneless) else Vector.empty
  // Delta reads an empty text as it is, but writes NULL in its place
  private val empty = listed.filter(_.hasEmptyText)

  override lazy val files: IndexedSeq[DeltaFile] =
    if (zoneless.isEmpty && empty.isEmpty) listed
    else {
      val left = (zoneless ++ empty).toSet
      listed.filterNot(left)
    }

  override def leftOut: Seq[String] = Seq(
    zoneless -> "a timestamp without a zone",
    empty -> "an empty text").collect {
    case (left, kind) if left.nonEmpty =>
      s"${left.size} files of partitions by $kind are left as they are"
  }

  /**
   * The versions that the statement `run` has read until now, the first one first. If there are several passes, each
   * reads a later version.
   */
  def readVersions(run: String): Seq[Long] = format.readVersions(run, state.version)

  /**
   * Refuses to go on if another writer has turned row tracking on or off since the version was read. The new files were
   * written for the earlier state. Delta would let their commit stand, but their rows would get new ids.
   */
  def checkRowTracking(): Unit = {
    def isOn(s: Snapshot) = RowTracking.isEnabled(s.protocol, s.metadata)
    if (isOn(format.current) != isOn(state)) {
      throw ZOrderErrors.conflict(format.name, "row tracking was turned on or off")
    }
  }

  /** See [[DeltaZone]]. */
  def zoneOfFolders(of: Seq[DeltaFile], ofSession: String): String =
    new DeltaZone(format.name, state.metadata).of(of.flatMap(_.partitionTimes), ofSession)

  override def check(batches: Seq[IndexedSeq[FormatFile]], room: Long): Unit = {
    val session = SparkLine.session(SparkSession.active).sessionState.conf
    val all = batches.flatten.map(_.asInstanceOf[DeltaFile])
    if (!all.exists(_.isZoneless)) {
      val _ = zoneOfFolders(all, session.sessionLocalTimeZone)
    }
  }

  override def layoutKey: String = DeltaLayouts.key(columns, state.schema)
  override protected def layoutNames: Seq[String] = DeltaLayouts.names(columns, state.schema)

  override def rows(session: Session, files: IndexedSeq[FormatFile]): FormatRows =
    format.rows(this, session, files.map(_.asInstanceOf[DeltaFile]))
}

/**
 * @param path in the form of `_metadata.file_path`
 * @param add the entry of the Delta log
 * @param partitionTimes the partition values of timestamp type, as the Delta log writes them
 * @param hasEmptyText true if a partition value is a text or bytes of length 0. Delta writes NULL instead, but other
 *   writers need not
 */
private[delta] final class DeltaFile(
    override val path: String,
    val add: AddFile,
    override val folder: FormatFolder,
    override val columns: IndexedSeq[FileColumnInfo],
    val partitionTimes: Seq[String],
    val hasEmptyText: Boolean)
    extends FormatFile {

  /**
   * True if a partition timestamp has no zone, so that each session reads it in its own time zone. Newer
   * versions of Delta write these timestamps in UTC.
   */
  def isZoneless: Boolean = partitionTimes.exists(DeltaFiles.isZoneless)

  /** True if a partition timestamp is in UTC. */
  def hasZone: Boolean = partitionTimes.exists(!DeltaFiles.isZoneless(_))

  override def bytes: Long = add.size
  override def storedRecords: Long = add.numPhysicalRecords.getOrElse(records)
  override def records: Long = add.numLogicalRecords.getOrElse(0L)

  // a deletion vector records how many rows it deletes, so only a file without a record count is uncounted
  override def isUncounted: Boolean = add.numLogicalRecords.isEmpty

  /**
   * True if so large a share of the rows is deleted that the file counts as new. Delta's OPTIMIZE has the same
   * limit. False for a file that waits for the second of two passes, because that pass rewrites the file anyway.
   */
  private val hasManyDeletes: Boolean =
    !DeltaLayouts.dealt(add).exists(_.region > 0) &&
      add.deletedToPhysicalRecordsRatio.exists(_ > DeltaFile.MaxDeleted)

  override def writtenAt: Long = add.modificationTime
  override val dealt: Option[DealtTo] = if (hasManyDeletes) None else DeltaLayouts.dealt(add)
  override val finishedPlan: Option[String] =
    if (hasManyDeletes) None else DeltaLayouts.finishedPlan(add)

  override val layout: Option[LayoutTag] = if (hasManyDeletes) None else DeltaLayouts.of(add)

  // Each file with many deletes gets a commit of its own. With the same commit, several such files would pass
  // as the files of one INSERT that was distributed well.
  override val commit: Option[Long] =
    Some(if (hasManyDeletes) add.path.hashCode.toLong else DeltaLayouts.commit(layout))
}

private[delta] object DeltaFile {
  val MaxDeleted = 0.05
}

/** Makes a [[DeltaFile]] of each entry of one version of the Delta log. */
private[delta] final class DeltaFiles(
    log: DeltaLog,
    state: Snapshot,
    columns: Seq[OrderingColumn]) {
  private val session = SparkLine.session(SparkSession.active)
  private val partitions = state.metadata.partitionSchema.fields.toSeq
  private val folders = mutable.Map.empty[Seq[Any], FormatFolder]

  /** @param stats returns the column statistics of the files `adds`, by `AddFile.path` */
  def of(adds: Seq[AddFile], stats: DeltaStatistics => Map[String, IndexedSeq[FileColumnInfo]])
      : IndexedSeq[DeltaFile] = {
    val statistics = new DeltaStatistics(session, state, columns)
    val infos = stats(statistics)
    adds.map { add =>
      new DeltaFile(
        SparkPath.fromPath(add.absolutePath(log)).urlEncoded,
        add,
        folder(add),
        infos.getOrElse(add.path, statistics.unknown),
        times(add),
        texts.exists(text(add, _).contains("")))
    }.toIndexedSeq.sortBy(_.path)
  }

  private def times(add: AddFile): Seq[String] =
    partitions.filter(_.dataType == TimestampType).flatMap(text(add, _))

  // The protocol of Delta also allows the empty string for NULL. Delta's reader casts it to the type of the column: the
  // result is NULL for all types but these.
  private val texts = partitions.filter(f =>
    f.dataType.isInstanceOf[StringType] || f.dataType == BinaryType)

  /** A partition value as the log writes it; None for NULL. */
  private def text(add: AddFile, f: StructField): Option[String] =
    add.partitionValues.get(DeltaColumnMapping.getPhysicalName(f))
      .filter(t => t != null && (t != "" || texts.contains(f)))

  /**
   * The folder of an entry. Partition values are compared as values and not as texts, because one value can
   * be written in several ways. A timestamp without a zone is compared as the time that its text shows: in the hour
   * that summer time skips, two such times are one instant in the zone of the session, but not in other zones.
   */
  private def folder(add: AddFile): FormatFolder = synchronized {
    val texts = partitions.map(text(add, _).orNull)
    val zone = session.sessionState.conf.sessionLocalTimeZone
    val values = partitions.zip(texts).map { case (f, text) =>
      val isLocal = f.dataType == TimestampType && text != null && DeltaFiles.isZoneless(text)
      val of = Some(if (isLocal) "UTC" else zone)
      (
        isLocal,
        DeltaFiles.comparable(Cast(Literal(text), f.dataType, of, ansiEnabled = false).eval()))
    }
    folders.getOrElseUpdate(
      values,
      new FormatFolder(
        partitions.zip(texts).map { case (f, t) => s"${f.name}=$t" }.mkString("/"),
        0))
  }
}

private object DeltaFiles {

  /** True for the text of a partition timestamp that each session reads in its own time zone. */
  def isZoneless(text: String): Boolean = !text.endsWith("Z")

  /**
   * Converts a value of Spark so that two results are equal by `==` if Spark takes the values as equal: arrays of
   * bytes are compared by content, and NaN equals NaN.
   */
  def comparable(value: Any): Any = value match {
    case bytes: Array[Byte] => bytes.toSeq
    case d: Double if d.isNaN => "NaN"
    case f: Float if f.isNaN => "NaN"
    case other => other
  }
}

/** Delta's statistics of the ordering columns of files. */
private[delta] final class DeltaStatistics(
    session: Session,
    state: Snapshot,
    columns: Seq[OrderingColumn]) {
  private val physical = columns.map(c => DeltaLayouts.physical(c.parts, state.schema))

  /** The statistics of a file that has none: the file may hold any value. */
  val unknown: IndexedSeq[FileColumnInfo] =
    columns.map(_ => FileColumnInfo(ColumnRange.Unknown, 0L, 0L)).toIndexedSeq

  /** The statistics of all files of the table, by their paths in the log. */
  def all: Map[String, IndexedSeq[FileColumnInfo]] =
    read(SparkLine.session(session), state.withStats)

  /** The statistics of new files, by their paths in the log. */
  def of(adds: Seq[AddFile]): Map[String, IndexedSeq[FileColumnInfo]] = {
    val texts = session.createDataFrame(
      adds.map(a => Row(a.path, a.stats)).asJava,
      new StructType().add("path", StringType).add("stats", StringType))
    read(session, texts.withColumn("stats", from_json(col("stats"), state.statsSchema)))
  }

  private def read(
      session: Session,
      files: DataFrame): Map[String, IndexedSeq[FileColumnInfo]] = {
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

  /** A statistic as a column; NULL if the table keeps no such statistic. */
  private def stat(schema: StructType, path: Seq[String], dataType: DataType): Column =
    if (!DeltaLayouts.contains(schema, path)) lit(null).cast(dataType)
    else col(("stats" +: path).map(quoteIdentifier).mkString(".")).cast(dataType)

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

  /** False for a bound that may come from invalid UTF-8. The log has U+FFFD in its place, which is another value. */
  private def isText(bound: Any): Boolean = bound match {
    case s: UTF8String => !s.toString.contains('\uFFFD')
    case _ => true
  }

  private def lower(value: Any, dataType: DataType): Any = (dataType, value) match {
    case (TimestampType, micros: Long) => OddOffsets.earlier(micros)
    case _ => value
  }

  /** Delta cuts bounds of timestamps to milliseconds, so a value may be up to 999 microseconds later. */
  private def upper(value: Any, dataType: DataType): Any = (dataType, value) match {
    case (TimestampType, micros: Long) => OddOffsets.later(OddOffsets.later(micros, 999))
    case (TimestampNTZType, micros: Long) => OddOffsets.later(micros, 999)
    case _ => value
  }
}
