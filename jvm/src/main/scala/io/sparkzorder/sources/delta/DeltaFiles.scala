// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import scala.collection.mutable

import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, Literal}
import org.apache.spark.sql.delta.{DeltaColumnMapping, DeltaLog, Snapshot}
import org.apache.spark.sql.delta.actions.AddFile
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.{StructField, TimestampType}

import io.sparkzorder.sources._
import io.sparkzorder.table.OrderingColumn

/**
 * @param state the version of the table
 * @param where SQL of the predicate that chose the files, for the table's history
 */
private[delta] final class DeltaSnapshot(
    format: DeltaFormat,
    val state: Snapshot,
    override val columns: Seq[OrderingColumn],
    val where: Option[Expression],
    val listing: DeltaFiles,
    listed: IndexedSeq[DeltaFile])
    extends FormatSnapshot(format) {
  private val (withZone, zoneless) = listed.partition(f => !f.isZoneless)

  // a job writes the times of partitions in one form
  override def files: IndexedSeq[DeltaFile] = if (withZone.isEmpty) zoneless else withZone

  override def leftOut: Seq[String] =
    if (withZone.isEmpty || zoneless.isEmpty) Nil
    else Seq(
      s"${zoneless.size} files of partitions by a timestamp without a zone are left as they are")

  /** The first version that the statement of a run has read; the second of two passes reads a later one. */
  def firstVersion(run: String): Long = format.firstVersion(run, state.version)

  override def layoutKey: String = DeltaLayouts.key(columns, state.schema)

  override def rows(session: Session, files: IndexedSeq[FormatFile]): FormatRows =
    format.rows(this, session, files.map(_.asInstanceOf[DeltaFile]))
}

/**
 * @param path as the metadata column of Spark's readers has it
 * @param add the entry of the log
 */
private[delta] final class DeltaFile(
    override val path: String,
    val add: AddFile,
    override val folder: FormatFolder,
    override val columns: IndexedSeq[FileColumnInfo],
    times: Seq[String])
    extends FormatFile {

  /** The texts of its partition values that are timestamps. */
  val partitionTimes: Seq[String] = times

  /** True if the time of a partition is one of the zone of whoever reads. Newer versions write UTC. */
  def isZoneless: Boolean = times.exists(!_.endsWith("Z"))

  override def bytes: Long = add.size
  override def storedRecords: Long = add.numPhysicalRecords.getOrElse(records)
  override def records: Long = add.numLogicalRecords.getOrElse(0L)

  // what a deletion vector deletes is known by number
  override def isUncounted: Boolean = add.numLogicalRecords.isEmpty

  /**
   * A file of which much is deleted counts as new, by the same limit as in Delta's OPTIMIZE. One that waits
   * for the second of two passes will be rewritten anyway.
   */
  private val isWorn: Boolean =
    !DeltaLayouts.dealt(add).exists(_.region > 0) &&
      add.deletedToPhysicalRecordsRatio.exists(_ > DeltaFile.MaxDeleted)

  override def writtenAt: Long = add.modificationTime
  override val dealt: Option[DealtTo] = if (isWorn) None else DeltaLayouts.dealt(add)
  override val finishedPlan: Option[String] = if (isWorn) None else DeltaLayouts.finishedPlan(add)

  override val layout: Option[LayoutTag] = if (isWorn) None else DeltaLayouts.of(add)

  // several such files would still pass as one well-dealt insert
  override val commit: Option[Long] =
    Some(if (isWorn) add.path.hashCode.toLong else DeltaLayouts.commit(layout))
}

private[delta] object DeltaFile {
  val MaxDeleted = 0.05
}

/** Makes files of the entries of one version of the log. */
private[delta] final class DeltaFiles(
    log: DeltaLog,
    state: Snapshot,
    columns: Seq[OrderingColumn]) {
  private val session = SparkLine.session(SparkSession.active)
  private val partitions = state.metadata.partitionSchema.fields.toSeq
  private val folders = mutable.Map.empty[Seq[Any], FormatFolder]

  /** @param stats reads the statistics of the same files */
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
        times(add))
    }.toIndexedSeq.sortBy(_.path)
  }

  def isKnown(folder: FormatFolder): Boolean = folders.valuesIterator.contains(folder)

  private def times(add: AddFile): Seq[String] =
    partitions.filter(_.dataType == TimestampType).flatMap(text(add, _))

  private def text(add: AddFile, f: StructField): Option[String] =
    // the protocol writes NULL as an empty text, too
    add.partitionValues.get(DeltaColumnMapping.getPhysicalName(f)).filter(t => t != null && t != "")

  /** The same value can be written in more than one way, so that values are compared. */
  private def folder(add: AddFile): FormatFolder = synchronized {
    val texts = partitions.map(text(add, _).orNull)
    val zone = session.sessionState.conf.sessionLocalTimeZone
    val values = partitions.zip(texts).map { case (f, text) =>
      DeltaFiles.comparable(Cast(Literal(text), f.dataType, Some(zone), ansiEnabled = false).eval())
    }
    folders.getOrElseUpdate(
      values,
      new FormatFolder(
        partitions.zip(texts).map { case (f, t) => s"${f.name}=$t" }.mkString("/"),
        0))
  }
}

private object DeltaFiles {

  /** A value of Spark as one that is equal where Spark's values are the same. */
  def comparable(value: Any): Any = value match {
    case bytes: Array[Byte] => bytes.toSeq
    case d: Double if d.isNaN => "NaN"
    case f: Float if f.isNaN => "NaN"
    case other => other
  }
}
