// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import java.nio.ByteBuffer

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.iceberg.{BaseTable, DataFile, FileContent, FileFormat, FileScanTask, Snapshot}
import org.apache.iceberg.expressions.{Expression => IcebergExpression}
import org.apache.iceberg.types.{Conversions, Type}
import org.apache.iceberg.util.PartitionMap

import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.sources._
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.{ColumnRange, FileRange}

/** An ordering column, with the id and the type of its field in the table's schema. */
private[iceberg] final case class IcebergColumn(column: OrderingColumn, id: Int, dataType: Type) {

  /** The name that Iceberg's scans and properties use. */
  def path: String = column.parts.mkString(".")
}

/**
 * @param current None for a table without any snapshot
 * @param planned in the order of their paths
 */
private[iceberg] final class IcebergSnapshot(
    format: IcebergFormat,
    val current: Option[Snapshot],
    val fields: Seq[IcebergColumn],
    planned: IndexedSeq[IcebergFile])
    extends FormatSnapshot(format) {
  private val (own, left) = planned.partition(f => IcebergFormat.isWritable(f.task.spec))
  override def files: IndexedSeq[IcebergFile] = own

  override def leftOut: Seq[String] =
    if (left.isEmpty) Nil
    else Seq(s"${left.size} files of partitions by a dropped column are left as they are")

  override def columns: Seq[OrderingColumn] = fields.map(_.column)
  override def layoutKey: String = layoutNames.mkString(",")
  override protected def layoutNames: Seq[String] = fields.map(_.id.toString)
  // The second of two passes finds the files of the first pass by the names that [[LocationsOfPass]] gives them, so
  // executors must be able to load that class. No plan is stored of a table with encrypted files: a plan has values of
  // the table, and is not encrypted.
  override protected def storesPlans: Boolean =
    !format.isEncrypted && LocationsOfPass.reachExecutors

  private lazy val listedTwice: Set[String] =
    planned.zip(planned.drop(1)).collect { case (f, next) if f.path == next.path => f.path }.toSet

  override def check(batches: Seq[IndexedSeq[FormatFile]], room: Long): Unit = {
    val chosen = batches.flatten.map(_.asInstanceOf[IcebergFile])
    format.check(chosen)
    chosen.map(_.path).find(listedTwice).foreach(p => throw IcebergFile.listedTwice(format.name, p))
  }

  override def rows(session: Session, files: IndexedSeq[FormatFile]): FormatRows =
    format.rows(this, session, files.map(_.asInstanceOf[IcebergFile]))
}

/** @param task how the scan reads the file; null for a new file */
private[iceberg] final class IcebergFile(
    val file: DataFile,
    val task: FileScanTask,
    override val folder: FormatFolder,
    override val columns: IndexedSeq[FileColumnInfo],
    override val layout: Option[LayoutTag],
    override val isForgotten: Boolean)
    extends FormatFile {
  private val deletes = if (task == null) Nil else task.deletes.asScala.toSeq
  private val deleted = deletes.filter(_.content == FileContent.POSITION_DELETES)
    .map(_.recordCount).sum

  /** The same file as a later scan reads it: with the ids that its rows have got meanwhile. */
  def listedAs(later: IcebergFile): IcebergFile =
    new IcebergFile(later.file, later.task, folder, columns, layout, isForgotten)

  /** True if the same rows are deleted in both files, which are one file at two times. */
  def hasDeletesOf(other: IcebergFile): Boolean = {
    def named(f: IcebergFile) = f.deletes.map(d => (d.location, d.contentOffset)).toSet
    named(this) == named(other)
  }

  override def path: String = file.location
  override def bytes: Long = file.fileSizeInBytes
  override def storedRecords: Long = file.recordCount

  // exact for deletion vectors alone: a vector belongs to one data file, and names each deleted position once
  override def records: Long =
    if (deletes.nonEmpty && !isUncounted) file.recordCount - deleted else file.recordCount
  override def isUncounted: Boolean = deletes.exists(_.format != FileFormat.PUFFIN)

  // The least number, because a file of deleted positions may also name positions of other data files, and may
  // name a position twice. An equality delete may delete all rows.
  override def leastRecords: Long =
    if (deletes.exists(_.content != FileContent.POSITION_DELETES)) 0L
    else math.max(0L, file.recordCount - deleted)

  override def dealt: Option[DealtTo] = NamesOfPasses.dealt(path)
  // a file that was added from another table may have the name of a plan of that table
  override def finishedPlan: Option[String] =
    NamesOfPasses.finishedPlan(path).filter(_ => layout.isDefined)

  override def writtenAt: Long = Option(file.fileSequenceNumber).fold(0L)(_.longValue)

  // in format version 1 all sequence numbers are 0
  override def commit: Option[Long] =
    Option(file.fileSequenceNumber).map(_.longValue).filter(_ > 0)
      .orElse(Some(layout.fold(0L)(_.run.hashCode.toLong)))
}

private[iceberg] object IcebergFile {

  /**
   * The refusal of a file that has several entries in the manifests. Readers return its rows once for each entry, but
   * Iceberg removes files by their paths: a commit may remove an entry whose rows this commit has not written.
   */
  def listedTwice(table: String, path: String): ZOrderException =
    ZOrderErrors.unsupportedTable(
      table,
      s"an Iceberg table that lists the data file $path more than once, so that readers return its rows more than once",
      "If the rows are to be in the table once, and no later commit is wanted, roll back to the snapshot before the " +
        "last entry (rollback_to_snapshot). If they are to stay as readers see them, or if there are later commits, write the rows anew with INSERT OVERWRITE. " +
        "Then run the statement again.")
}

/** Lists the files of a table from its manifests. */
private[iceberg] final class IcebergFiles(table: BaseTable, columns: Seq[IcebergColumn]) {
  private val values = columns.map(c => new IcebergValues(c.id, c.dataType, c.column.dataType))
  private val layouts = new IcebergLayouts(table)

  /** The files of the current snapshot that may hold rows that match the filter. */
  def planned(filter: Option[IcebergExpression]): IndexedSeq[IcebergFile] = {
    val folders = PartitionMap.create[FormatFolder](table.specs)
    // Not by the scan of the table's own class: a catalog that plans scans itself may return tasks that read
    // only those rows of a file that match the filter. But a rewrite replaces the whole file.
    val all = new BaseTable(table.operations, table.name).newScan().ignoreResiduals()
      .includeColumnStats(columns.map(_.path).asJava)
    val tasks = filter.fold(all)(all.filter).planFiles()
    try {
      tasks.asScala.map { task =>
        val file = task.file
        val folder = folders.computeIfAbsent(
          file.specId,
          file.partition,
          () => new FormatFolder(task.spec.partitionToPath(file.partition), file.specId))
        new IcebergFile(
          file,
          task,
          folder,
          infos(file),
          layouts.of(file),
          layouts.isForgotten(file))
      }.toIndexedSeq.sortBy(_.path)
    } finally tasks.close()
  }

  def infos(file: DataFile): IndexedSeq[FileColumnInfo] = values.map(_.of(file)).toIndexedSeq
}

/**
 * The statistics of one column of a file in the manifests, with bounds as Catalyst values. Bounds of texts and
 * bytes may be truncated; all values are still between them.
 *
 * @param id the id of the column's field
 */
private[iceberg] final class IcebergValues(id: Int, stored: Type, dataType: DataType) {

  def of(file: DataFile): FileColumnInfo = {
    val counted = count(file.valueCounts)
    val nulls = count(file.nullValueCounts)
    val values = for { c <- counted; n <- nulls } yield c - n
    // a bound cannot be read if the field had another type when the file was written
    val range =
      if (values.contains(0L)) ColumnRange.Empty
      else Try(rangeOf(file, values)).toOption.flatten.getOrElse(ColumnRange.Unknown)
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
    // invalid UTF-8 is read as U+FFFD, which is another value
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
