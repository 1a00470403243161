// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import java.util.{ConcurrentModificationException, TimeZone}
import java.util.concurrent.{CompletableFuture, TimeUnit}

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.util.VersionUtil

import org.apache.spark.internal.Logging
import org.apache.spark.sql.{Column, SparkSession}
import org.apache.spark.sql.delta.{
  DeltaCommitTag,
  DeltaLog,
  DeltaOperations,
  OptimisticTransaction,
  RowTracking
}
import org.apache.spark.sql.delta.actions.{AddFile, DeletionVectorDescriptor}
import org.apache.spark.sql.delta.commands.OptimizeTableStrategy.DummyBinInfo
import org.apache.spark.sql.delta.commands.ZOrderStrategy
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.functions.monotonically_increasing_id
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.QueryExecutionListener

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.sources._
import io.sparkzorder.write.FileWriter

/** New files of a Delta table, which no version has yet. */
private[delta] final class DeltaStaged(
    override val files: IndexedSeq[DeltaFile],
    shuffled: ShuffleOfWrite)
    extends StagedFiles {
  // asked for after the commit, so that no wait makes conflicts more likely
  override lazy val shuffleBytes: Long = shuffled.get
}

/** The rows of files in a transaction, with those left out that deletion vectors delete. */
private[delta] final class DeltaRows(
    log: DeltaLog,
    name: String,
    val snapshot: DeltaSnapshot,
    override protected val session: Session,
    val transaction: OptimisticTransaction,
    override val files: IndexedSeq[DeltaFile])
    extends StagedRows {
  override type Staged = DeltaStaged

  override val folders: IndexedSeq[FormatFolder] = files.map(_.folder).distinct
  private val adds = files.map(_.add).toList
  transaction.trackFilesRead(adds)

  private val plain = log.createDataFrame(snapshot.state, adds, false, Some("Optimize"))
    .asInstanceOf[Frame]

  private val loaded: Frame =
    RowTracking.preserveRowTrackingColumns(plain, snapshot.state).asInstanceOf[Frame]

  /** The table's columns, and those of row tracking in a table that has it. */
  override def schema: StructType = loaded.schema

  private val placed = {
    val metadata = loaded.metadataColumn("_metadata")
    // Delta offers positions of rows where its own features need them
    val offered = loaded.select(metadata).schema.head.dataType.asInstanceOf[StructType].fieldNames
    val row =
      if (offered.contains("row_index")) metadata.getField("row_index")
      else monotonically_increasing_id()
    new PlacedRows(session, loaded, metadata.getField("file_path"), row, files, folders)
  }

  override def frame: Frame = placed.frame
  override def folderColumn: String = placed.folderColumn
  override def rowHash: Column = placed.rowHash

  private val commits = new DeltaCommit(log, name)
  private val shuffled = new ShuffleOfWrite

  override protected def write(laidOut: Frame, pass: Option[PlannedPass]): DeltaStaged = {
    session.listenerManager.register(shuffled)
    val actions = withTimesAsRead(transaction.writeFiles(laidOut, None, true, Nil))
    val written = actions.collect { case a: AddFile => a }
    try {
      actions.filterNot(_.isInstanceOf[AddFile]).foreach(other =>
        throw new IllegalStateException(s"Delta wrote ${other.getClass}"))
      staged(written.map(a => pass.fold(a)(DeltaLayouts.withPass(a, _))))
    } catch {
      case e: Throwable =>
        commits.delete(written)
        throw e
    }
  }

  /**
   * Runs a write of Delta that keeps the values of partitions by a TIMESTAMP: an instant stays this instant, and a text
   * without a zone stays this text.
   */
  private def withTimesAsRead[A](body: => A): A = {
    val isZoneless = files.exists(_.isZoneless)
    val zone = session.sessionState.conf.sessionLocalTimeZone
    session.conf.set(DeltaRows.UtcPartitions, (!isZoneless).toString)
    val hasInstants = !isZoneless && files.exists(_.partitionTimes.nonEmpty)
    if (hasInstants && DeltaRows.readsFoldersInZoneOfJvm) {
      session.conf.set(SQLConf.SESSION_LOCAL_TIMEZONE.key, TimeZone.getDefault.getID)
    }
    try body
    finally session.conf.set(SQLConf.SESSION_LOCAL_TIMEZONE.key, zone)
  }

  private def staged(written: Seq[AddFile]): DeltaStaged = {
    val files = snapshot.listing.of(written, _.of(written))
    // the inputs have all partitions that the rows can be of
    files.find(f => !folders.contains(f.folder)).foreach { f =>
      throw ZOrderErrors.verificationFailed(
        log.dataPath.toString,
        s"${f.path} has the partition ${f.folder}, which no input has")
    }
    // the folders are compared by the instants; other writers note the same instant by another text
    def form(f: DeltaFile): Seq[Boolean] = f.partitionTimes.map(_.endsWith("Z"))
    val forms = this.files.map(form).toSet
    files.find(f => !forms(form(f))).foreach { f =>
      throw ZOrderErrors.verificationFailed(
        log.dataPath.toString,
        s"${f.path} has the partition ${f.partitionTimes.mkString(", ")} by a timestamp, which its " +
          "inputs write otherwise")
    }
    new DeltaStaged(files, shuffled)
  }

  override protected def commit(staged: DeltaStaged, layout: LayoutTag): Unit =
    commits.commit(this, staged, layout)

  override protected def abort(staged: DeltaStaged): Unit = commits.delete(staged)

  override def close(): Unit = session.listenerManager.unregister(shuffled)
}

private object DeltaRows {
  val UtcPartitions = "spark.databricks.delta.write.utcTimestampPartitionValues"

  /**
   * Spark names the folder of a time in the zone of the session. Before 4.1 Delta reads the name in the zone
   * of the JVM, so that the value of the partition is another time where the zones differ.
   */
  def readsFoldersInZoneOfJvm: Boolean = VersionUtil.compareVersions(io.delta.VERSION, "4.1.0") < 0
}

/**
 * Ends the shuffle of Delta's write job, and keeps how many bytes it wrote. Delta does not hand the job's plan out, so
 * the event of its end brings it. A shuffle whose event is lost stays until Spark's garbage collector finds it.
 */
private final class ShuffleOfWrite extends QueryExecutionListener {
  private val bytes = new CompletableFuture[Long]

  override def onSuccess(name: String, query: QueryExecution, nanos: Long): Unit =
    if (name == "deltaTransactionalWrite") {
      bytes.complete(FileWriter.endShuffles(query.executedPlan))
    }

  override def onFailure(name: String, query: QueryExecution, e: Exception): Unit = ()

  /** 0 if Spark's listeners are so late that the event has not come yet. */
  def get: Long = Try(bytes.get(1, TimeUnit.SECONDS)).getOrElse(0L)
}

/** Replaces files of a Delta table by one commit, which says that it changes no data. */
private[delta] final class DeltaCommit(log: DeltaLog, name: String) extends Logging {

  def commit(rows: DeltaRows, staged: DeltaStaged, layout: LayoutTag): Unit = {
    val session = SparkSession.active
    val state = rows.snapshot.state
    val columns = rows.snapshot.columns.map(_.name).toList
    val strategy = ZOrderStrategy(session, columns)
    val tags = DeltaLayouts.tags(layout, state, rows.snapshot.firstVersion(layout.run))
    val added = staged.files.map { f =>
      // Delta's own marks `dataChange = false`: the constructor differs between versions
      val add = strategy.tagAddFile(f.add, DummyBinInfo())
      add.copyWithTags(add.tagsOrEmpty ++ tags)
    }
    val now = System.currentTimeMillis()
    val removed = rows.files.map(_.add.removeWithTimestamp(now, false))
    val operation = DeltaOperations.Optimize(
      rows.snapshot.where.toList,
      columns,
      false,
      None,
      false)
    try {
      rows.transaction.registerSQLMetrics(session, metrics(added, rows.files.map(_.add)))
      val _ = rows.transaction.commit((added ++ removed).toList, operation, commitTags(rows))
    } catch {
      case e: ConcurrentModificationException =>
        // A commit whose answer was lost is repeated, and then conflicts with itself. Such a commit has
        // taken place, and its files must stay.
        isCommitted(staged) match {
          case Some(true) =>
            logWarning(s"the commit of OPTIMIZE on $name took place, although Delta reported $e")
          case Some(false) =>
            delete(staged)
            throw ZOrderErrors.conflict(name, firstLine(e).stripSuffix("."), Some(e))
          case None =>
            unknown(layout)
            throw e
        }
      case e: Exception =>
        unknown(layout)
        throw e
    }
  }

  private def unknown(layout: LayoutTag): Unit =
    logWarning(
      s"it is not known whether OPTIMIZE on $name was committed, so its new files stay. It was if " +
        s"files of the table have the tag zorder.run=${layout.run}. Otherwise VACUUM deletes them")

  /** Deletes written files. What cannot be deleted is left to VACUUM. */
  def delete(staged: DeltaStaged): Unit = delete(staged.files.map(_.add))

  def delete(written: Seq[AddFile]): Unit = written.foreach { add =>
    val path = add.absolutePath(log)
    try { val _ = path.getFileSystem(log.newDeltaHadoopConf()).delete(path, false) }
    catch { case NonFatal(e) => logWarning(s"$path was written and could not be deleted", e) }
  }

  /** Whether a version since has had one of the files; None if nobody can tell. */
  private def isCommitted(staged: DeltaStaged): Option[Boolean] =
    try {
      val now = log.update()
      val paths = staged.files.map(_.add.path)
      Some(Seq(now.allFiles.toDF(), now.tombstones.toDF())
        .exists(files => !files.where(files("path").isin(paths: _*)).isEmpty))
    } catch {
      case NonFatal(e) =>
        logWarning(s"the log of $name cannot be read", e)
        None
    }

  private def commitTags(rows: DeltaRows): Map[String, String] = {
    val state = rows.snapshot.state
    if (!RowTracking.isEnabled(state.protocol, state.metadata)) Map.empty
    else Map(DeltaCommitTag.PreservedRowTrackingTag.key -> "true")
  }

  /** The metrics of the table's history, by the names of Delta's OPTIMIZE. */
  private def metrics(added: Seq[AddFile], removed: Seq[AddFile]): Map[String, SQLMetric] = {
    val sizes = added.map(_.size).sorted.toIndexedSeq
    def percentile(p: Int): Long = sizes((p * (sizes.size - 1) + 50) / 100)
    val vectors: Seq[DeletionVectorDescriptor] = removed.map(_.deletionVector).filter(_ != null)
    Seq(
      "numAddedFiles" -> added.size.toLong,
      "numRemovedFiles" -> removed.size.toLong,
      "numAddedBytes" -> sizes.sum,
      "numRemovedBytes" -> removed.map(_.size).sum,
      "minFileSize" -> sizes.head,
      "p25FileSize" -> percentile(25),
      "p50FileSize" -> percentile(50),
      "p75FileSize" -> percentile(75),
      "maxFileSize" -> sizes.last,
      "numDeletionVectorsRemoved" -> vectors.size.toLong).map { case (key, value) =>
      val metric = SQLMetrics.createMetric(SparkSession.active.sparkContext, key)
      metric.set(value)
      key -> metric
    }.toMap
  }

  private def firstLine(e: Throwable): String = String.valueOf(e.getMessage).linesIterator.next()
}
