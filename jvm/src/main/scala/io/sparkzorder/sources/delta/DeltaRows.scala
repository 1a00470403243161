// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import java.util.TimeZone
import java.util.concurrent.{CompletableFuture, TimeUnit}

import scala.util.Try

import org.apache.hadoop.util.VersionUtil

import org.apache.spark.sql.Column
import org.apache.spark.sql.delta.{DeltaLog, OptimisticTransaction, RowTracking}
import org.apache.spark.sql.delta.actions.AddFile
import org.apache.spark.sql.execution.QueryExecution
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

  override def onFailure(name: String, query: QueryExecution, e: Exception): Unit =
    if (name == "deltaTransactionalWrite") {
      val _ = Try(FileWriter.endShuffles(query.executedPlan))
    }

  /** 0 if Spark's listeners are so late that the event has not come yet. */
  def get: Long = Try(bytes.get(1, TimeUnit.SECONDS)).getOrElse(0L)
}
