package io.sparkzorder.commands.optimize

import java.util.UUID

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging

import io.sparkzorder.commands.{Phases, TableState, WhereClause}
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.index.IndexUpdate
import io.sparkzorder.log.{Added, Committer, FolderChange, Publisher, Record, Replaced, RunCost}
import io.sparkzorder.table.{FileChecks, Folder, TableFiles, TableLister}
import io.sparkzorder.util.Paths
import io.sparkzorder.write.{FileAttributes, StagingPlaces}

/** Replaces the inputs: stages the new files, commits a record of the exchange and publishes it. */
private[optimize] final class InPlace(table: TableState, recovery: Recovery, phases: Phases)
    extends Destination
    with Logging {
  private val name = table.target.name
  private lazy val state = table.state
  private var lastPublished = 0L
  // true while files may have been exchanged and the session's caches do not show it yet
  private var stale = false

  override def path: String = table.root.toString
  override def replacesInputs: Boolean = true
  override def takesAllFiles: Boolean = false

  override def check(): Unit = table.checkInPlace()

  override def recover(): Unit = {
    lastPublished = recovery.publish()
    recovery.removeExpired()
    recovery.logOtherRuns()
  }

  override def checkWhere(where: WhereClause, files: TableFiles): Unit = ()

  override def checkListed(files: TableFiles): Unit = FileChecks.checkLinks(table.target, files)

  override def checkRoom(batches: Seq[ScannedFiles]): Unit = {
    val check = new DestinationCheck(name, state.fs, table.root)
    check.folders(batches.flatMap(_.files.map(_.file.folder.path)).distinct)
    check.space(batches)
  }

  override def write(plan: BatchPlan, writer: BatchWriter): Option[BatchOutcome] = {
    stale = true
    val runId = UUID.randomUUID().toString
    val staging = state.staging(runId)
    state.create()
    // Renames need the staging directory. If it is missing, the commit concludes that another
    // process has cleaned up and fails.
    state.fs.mkdirs(staging)
    // The directory of retained files is made before the commit. A publisher that comes late must
    // not make it, because the table may have been overwritten since.
    state.fs.mkdirs(state.retained(runId))
    try Some(exchange(plan, writer, runId, staging))
    catch {
      case t: Throwable =>
        // After the commit the staged files belong to the table, and the next run publishes them.
        if (!isCommitted(runId)) discard(runId, staging)
        throw t
    }
  }

  private def exchange(
      plan: BatchPlan,
      writer: BatchWriter,
      runId: String,
      staging: Path): BatchOutcome = {
    val attributes = new FileAttributes(table.conf)
    val folders = plan.inputs.listed.files.map(_.folder.path).distinct
    attributes.makePrivate(staging)
    attributes.protect(state.retained(runId), table.root, folders)
    val begun = System.nanoTime()
    val output = writer.write(plan, StagingPlaces(staging.toString))
    attributes.copy(plan.inputs.listed, output.footers)
    // From the commit on, readers look for new files in the staging directory.
    attributes.protect(staging, table.root, folders)
    val cost = RunCost(
      plan.inputs.bytes,
      output.shuffleBytes,
      plan.planMillis + (System.nanoTime() - begun) / 1000000L)
    val columns = writer.inputs.columns
    val record = recordOf(plan, output, runId, columns.map(_.name), cost)
    val number = phases("commit") {
      new Committer(state, name).commit(record, () => recheck(plan), lastPublished)
    }
    logInfo(s"run $runId on $name committed as record $number")
    val start = System.nanoTime()
    phases("publish")(new Publisher(state).publish(number, record))
    val publishMs = (System.nanoTime() - start) / 1000000L
    phases("index") {
      IndexUpdate.after(state, record, output.footers, columns.map(_.parts), table.conf)
    }
    BatchOutcome(
      output.footers,
      plan.inputs.listed.files,
      output.shuffleBytes,
      publishMs,
      // the retention starts when the files have been published, not when the record was made
      Some(System.currentTimeMillis() + record.retainMs))
  }

  override def finish(inputs: RewriteInputs, outcomes: Seq[BatchOutcome]): Unit = {
    if (stale) phases("refresh")(table.refresh())
    stale = false
  }

  // Batches before the failed one are in the table, so the session has to be refreshed.
  override def abandon(cause: Throwable): Unit =
    if (stale) Try(table.refresh()).failed.foreach(cause.addSuppressed)

  private def recordOf(
      plan: BatchPlan,
      output: BatchOutput,
      runId: String,
      columns: Seq[String],
      cost: RunCost): Record = {
    // A retained file is named by its number within the run.
    val removed = plan.inputs.files.map(_.file).zipWithIndex.groupBy(_._1.folder)
    val added = output.files.groupBy(_.footer.file.folder)
    def changeOf(folder: Folder) = FolderChange(
      Paths.relative(table.root, folder.path),
      removed.getOrElse(folder, Nil).map { case (f, i) =>
        Replaced(f.path.getName, f.length, f.modified, s"_$i")
      },
      added.getOrElse(folder, Nil).map { case OutputFile(w, footer) =>
        Added(
          new Path(w.path).getName,
          f"part-${w.file}%05d-$runId${w.extension}",
          footer.file.length,
          footer.rows,
          footer.file.modified)
      })
    Record(
      Record.Version,
      Record.Optimize,
      runId,
      System.currentTimeMillis(),
      table.user.sparkContext.sparkUser,
      columns,
      table.settings(Settings.Retention),
      plan.inputs.folders.filter(f => removed.contains(f) || added.contains(f)).map(changeOf),
      targetFileSize = table.settings(Settings.TargetFileSize),
      cost = Some(cost))
  }

  /**
   * Fails if an input was removed or overwritten since it was listed. Files that were added since
   * do not matter.
   */
  private def recheck(plan: BatchPlan): Unit = {
    val now = new TableLister(table.user, table.target).list().files.map(f => f.path -> f).toMap
    plan.inputs.listed.files.foreach { f =>
      now.get(f.path) match {
        case None => throw ZOrderErrors.conflict(name, s"${f.path} was removed")
        case Some(g) if g.length != f.length || g.modified != f.modified =>
          throw ZOrderErrors.conflict(name, s"${f.path} was overwritten")
        case _ =>
      }
    }
  }

  private def isCommitted(runId: String): Boolean =
    try table.records.exists(r => r.run == runId && r.exchangesFiles)
    catch { case NonFatal(_) => true } // unknown: delete nothing

  /**
   * Deletes what the run made. Deletes the staging directory twice, because a task that is being
   * killed may create a file after the first time. Retained files stay: they exist only if the run
   * was committed and another process is deleting its record.
   */
  private def discard(runId: String, staging: Path): Unit =
    try {
      state.deleteIfEmpty(state.retained(runId))
      state.fs.delete(staging, true)
      Thread.sleep(InPlace.KilledTasksMs)
      state.fs.delete(staging, true)
      ()
    } catch {
      case NonFatal(e) => logWarning(s"cannot delete $staging", e)
      case _: InterruptedException => Thread.currentThread().interrupt()
    }
}

private object InPlace {
  val KilledTasksMs = 300L
}
