// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import java.util.ConcurrentModificationException
import java.util.concurrent.{CompletableFuture, TimeUnit}

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
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

/** The rows of some files, as a transaction reads them: without the rows that deletion vectors delete. */
private[delta] final class DeltaRows(
    log: DeltaLog,
    name: String,
    snapshot: DeltaSnapshot,
    override protected val session: Session,
    transaction: OptimisticTransaction,
    override val files: IndexedSeq[DeltaFile])
    extends StagedRows
    with Logging {
  override type File = DeltaFile

  override val folders: IndexedSeq[FormatFolder] = files.map(_.folder).distinct
  private val adds = files.map(_.add).toList
  transaction.trackFilesRead(adds)

  private val plain = log.createDataFrame(snapshot.state, adds, false, Some("Optimize"))
    .asInstanceOf[Frame]

  private val loaded: Frame =
    RowTracking.preserveRowTrackingColumns(plain, snapshot.state).asInstanceOf[Frame]

  /** The table's columns, and those of row tracking in a table that has it. */
  override def schema: StructType = loaded.schema

  override protected val placed: PlacedRows = {
    val metadata = loaded.metadataColumn("_metadata")
    // Delta offers the position of a row only in tables with a feature that needs it, such as deletion vectors
    val offered = loaded.select(metadata).schema.head.dataType.asInstanceOf[StructType].fieldNames
    val row =
      if (offered.contains("row_index")) metadata.getField("row_index")
      else monotonically_increasing_id()
    new PlacedRows(session, loaded, metadata.getField("file_path"), row, files, folders)
  }

  private val shuffled = new ShuffleOfWrite

  override protected def write(
      laidOut: Frame,
      pass: Option[PlannedPass]): StagedFiles[DeltaFile] = {
    session.listenerManager.register(shuffled)
    val actions =
      try withTimesAsRead(transaction.writeFiles(laidOut, None, true, Nil))
      catch {
        case NonFatal(e) =>
          // Waits until the listener has got the event of the failure: the listener removes the files of the shuffle.
          // `close` unregisters the listener.
          val _ = shuffled.get
          throw e
      }
    val written = actions.collect { case a: AddFile => a }
    try {
      actions.filterNot(_.isInstanceOf[AddFile]).foreach(other =>
        throw new IllegalStateException(s"Delta wrote ${other.getClass}"))
      staged(written.map(a => pass.fold(a)(DeltaLayouts.withPass(a, _))))
    } catch {
      case e: Throwable =>
        delete(written)
        throw e
    }
  }

  /**
   * Runs a write of Delta so that partition values of type TIMESTAMP do not change: a value with a zone stays the same
   * instant, and a value without a zone stays the same text. Delta reads the values from the names of folders, which
   * show the time in a zone.
   */
  private def withTimesAsRead[A](body: => A): A = {
    val isZoneless = files.exists(_.isZoneless)
    val zone = session.sessionState.conf.sessionLocalTimeZone
    session.conf.set(DeltaRows.UtcPartitions, (!isZoneless).toString)
    if (!isZoneless && files.exists(_.partitionTimes.nonEmpty)) {
      session.conf.set(SQLConf.SESSION_LOCAL_TIMEZONE.key, snapshot.zoneOfFolders(files, zone))
    }
    try body
    finally session.conf.set(SQLConf.SESSION_LOCAL_TIMEZONE.key, zone)
  }

  private def staged(written: Seq[AddFile]): StagedFiles[DeltaFile] = {
    val files = snapshot.listing.of(written, _.of(written))
    // each row belongs to a partition of the inputs
    files.find(f => !folders.contains(f.folder)).foreach { f =>
      throw ZOrderErrors.verificationFailed(
        log.dataPath.toString,
        s"${f.path} has the partition ${f.folder}, which no input has")
    }
    // The check of folders compares instants. Other writers may write an instant with or without a zone, so
    // this form is checked, too.
    def form(f: DeltaFile): Seq[Boolean] = f.partitionTimes.map(DeltaFiles.isZoneless)
    val forms = this.files.map(form).toSet
    files.find(f => !forms(form(f))).foreach { f =>
      throw ZOrderErrors.verificationFailed(
        log.dataPath.toString,
        s"${f.path} has the partition ${f.partitionTimes.mkString(", ")} with a timestamp in a form " +
          "(with or without a zone) that no input has")
    }
    new StagedFiles(files, shuffled.get)
  }

  override protected def abort(staged: StagedFiles[DeltaFile]): Unit =
    delete(staged.files.map(_.add))

  /** Replaces the files by one commit, which says that it changes no data. */
  override protected def commit(staged: StagedFiles[DeltaFile], layout: LayoutTag): Unit = {
    val active = SparkSession.active
    val columns = snapshot.columns.map(_.name).toList
    val strategy = ZOrderStrategy(active, columns)
    val versions = snapshot.readVersions(layout.run)
    val tags = DeltaLayouts.tags(layout, snapshot.state.metadata.id, versions)
    val added = staged.files.map { f =>
      // Delta's own method marks `dataChange = false`, because the constructor differs between versions
      val add = strategy.tagAddFile(f.add, DummyBinInfo())
      add.copyWithTags(add.tagsOrEmpty ++ tags)
    }
    val now = System.currentTimeMillis()
    val removed = adds.map(_.removeWithTimestamp(now, false))
    val operation = DeltaOperations.Optimize(snapshot.where.toList, columns, false, None, false)
    try snapshot.checkRowTracking()
    catch {
      case e: Throwable =>
        abort(staged)
        throw e
    }
    try {
      transaction.registerSQLMetrics(active, metrics(added))
      transaction.commit((added ++ removed).toList, operation, commitTags)
    } catch {
      case e: ConcurrentModificationException =>
        // A commit whose answer was lost is repeated, and then conflicts with itself. Such a commit has
        // taken place, and its files must stay.
        isCommitted(staged) match {
          case Some(true) =>
            logWarning(s"the commit of OPTIMIZE on $name took place, although Delta reported $e")
          case Some(false) =>
            abort(staged)
            throw ZOrderErrors.conflict(name, ZOrderErrors.firstLine(e).stripSuffix("."), Some(e))
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
      s"it is not known whether OPTIMIZE on $name was committed, so its new files stay. It was " +
        s"committed if files of the table have the tag zorder.run=${layout.run}. Otherwise VACUUM " +
        "deletes them")

  /** Deletes written files. VACUUM deletes files that cannot be deleted here. */
  private def delete(written: Seq[AddFile]): Unit = written.foreach { add =>
    val path = add.absolutePath(log)
    try path.getFileSystem(log.newDeltaHadoopConf()).delete(path, false)
    catch { case NonFatal(e) => logWarning(s"$path was written and could not be deleted", e) }
  }

  /** True if the table has, or has removed, one of the new files; None if the log cannot be read. */
  private def isCommitted(staged: StagedFiles[DeltaFile]): Option[Boolean] =
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

  private def commitTags: Map[String, String] =
    if (!RowTracking.isEnabled(snapshot.state.protocol, snapshot.state.metadata)) Map.empty
    else Map(DeltaCommitTag.PreservedRowTrackingTag.key -> "true")

  /** The metrics that the table's history shows, under the names that Delta's OPTIMIZE uses. */
  private def metrics(added: Seq[AddFile]): Map[String, SQLMetric] = {
    val sizes = added.map(_.size).sorted.toIndexedSeq
    def percentile(p: Int): Long = sizes((p * (sizes.size - 1) + 50) / 100)
    val vectors: Seq[DeletionVectorDescriptor] = adds.map(_.deletionVector).filter(_ != null)
    Seq(
      "numAddedFiles" -> added.size.toLong,
      "numRemovedFiles" -> adds.size.toLong,
      "numAddedBytes" -> sizes.sum,
      "numRemovedBytes" -> adds.map(_.size).sum,
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

  override def close(): Unit = session.listenerManager.unregister(shuffled)
}

private object DeltaRows {
  val UtcPartitions = "spark.databricks.delta.write.utcTimestampPartitionValues"
}

/**
 * Removes the shuffle files of Delta's write job, and keeps the number of bytes that the shuffle wrote. Delta does
 * not return the plan of the job, so the plan is taken from the event that the job has ended. If the event is lost,
 * the files stay until Spark's cleaner finds that the shuffle is unused.
 */
private final class ShuffleOfWrite extends QueryExecutionListener {
  private val bytes = new CompletableFuture[Long]

  override def onSuccess(name: String, query: QueryExecution, nanos: Long): Unit =
    if (name == "deltaTransactionalWrite") {
      bytes.complete(FileWriter.endShuffles(query.executedPlan))
    }

  override def onFailure(name: String, query: QueryExecution, e: Exception): Unit =
    if (name == "deltaTransactionalWrite") {
      val _ = bytes.complete(Try(FileWriter.endShuffles(query.executedPlan)).getOrElse(0L))
    }

  /** The bytes; 0 if the event does not come within a second, because Spark's listeners are late. */
  def get: Long = Try(bytes.get(1, TimeUnit.SECONDS)).getOrElse(0L)
}
