package io.sparkzorder.commands.optimize

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging

import io.sparkzorder.commands.Phases
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.index.IndexUpdate
import io.sparkzorder.log.{
  Added,
  Committer,
  FolderChange,
  Publisher,
  Record,
  Replaced,
  RunCost,
  StateDirectory
}
import io.sparkzorder.table.{DataFile, TableFiles}
import io.sparkzorder.table.stats.{Footer, FooterReader}
import io.sparkzorder.util.Paths
import io.sparkzorder.write.{
  FileAttributes,
  FilePlaces,
  FileWriter,
  IntoDirectory,
  IntoPlaces,
  StagingPlaces,
  Verification,
  WrittenFile
}

/** What a batch has written. */
final case class BatchOutcome(
    added: IndexedSeq[Footer],
    removed: Seq[DataFile],
    shuffleBytes: Long,
    publishMs: Long,
    retainedUntilMs: Option[Long])

/**
 * Rewrites one batch: writes, verifies and brings the files to their place.
 *
 * @param run names the files that are written and the record
 * @param after number of the last record that was published before the table was listed
 * @param relist lists the table again, for the check just before the commit
 */
final class BatchRun(
    p: Prepared,
    phases: Phases,
    conf: Configuration,
    run: String,
    after: Long,
    relist: () => TableFiles)
    extends Logging {
  private val sameName = p.session.sessionState.conf.resolver

  /** Replaces the inputs in place: stage, verify, commit, publish. */
  def inPlace(plan: BatchPlan, state: StateDirectory): BatchOutcome = {
    val staging = state.staging(run)
    state.create()
    // rename needs the directory, and the commit takes its absence for a clean-up by somebody else
    state.fs.mkdirs(staging)
    // made before the commit: a publisher that comes late must not make it again in an overwritten table
    state.fs.mkdirs(state.retained(run))
    try {
      val begun = System.nanoTime()
      val (written, footers, bytes) = write(plan, StagingPlaces(staging.toString))
      new FileAttributes(conf).copy(plan.inputs, footers)
      val cost = RunCost(
        plan.inputs.files.map(_.length).sum,
        bytes,
        plan.planMillis + (System.nanoTime() - begun) / 1000000L)
      val record = recordOf(plan, written, footers, cost)
      val number = phases("commit") {
        new Committer(state, p.target.name).commit(record, () => recheck(plan), after)
      }
      logInfo(s"run $run on ${p.target.name} committed as record $number")
      val start = System.nanoTime()
      phases("publish")(new Publisher(state).publish(number, record))
      val publishMs = (System.nanoTime() - start) / 1000000L
      phases("index")(IndexUpdate.after(state, record, footers, p.columns.map(_.parts), conf))
      BatchOutcome(
        footers,
        plan.inputs.files,
        bytes,
        publishMs,
        // the clock starts when the files are out, not when the record was made
        Some(System.currentTimeMillis() + record.retainMs))
    } catch {
      case t: Throwable =>
        // after the commit the staged files belong to the table; the next run rolls them forward
        if (!isCommitted(state)) discard(staging, state)
        throw t
    }
  }

  /** Writes the batch to an INTO directory and leaves the inputs alone. */
  def into(plan: BatchPlan, directory: IntoDirectory): BatchOutcome = {
    val folders = plan.folderOfFile.map(folderName(plan.inputs, _)).toArray
    val (_, footers, bytes) =
      write(plan, IntoPlaces(directory.root.toString, folders, run))
    BatchOutcome(footers, Nil, bytes, 0L, None)
  }

  private def write(
      plan: BatchPlan,
      places: FilePlaces): (Map[Int, WrittenFile], IndexedSeq[Footer], Long) = {
    val frame = plan.frame()
    val result = phases("write")(FileWriter.write(p.session, frame, p.shape, places))
    val footers = phases("verify") {
      val read = footersOf(plan, result.files)
      val unchecked = new Verification(p.target.name, sameName)
        .check(plan.footers, read, hasDefault)
      if (unchecked > 0) logInfo(s"$unchecked column bounds had no numbers to verify")
      if (p.settings(Settings.Verify) == "full") {
        new RowChecksum(p).check(plan.inputs, read)
      }
      read
    }
    (result.files.map(f => f.file -> f).toMap, footers, result.shuffleBytes)
  }

  /** Footers of the written files; `ordinal` is the file's number and `folder` its folder. */
  private def footersOf(plan: BatchPlan, files: Seq[WrittenFile]): IndexedSeq[Footer] = {
    val listed = files.sortBy(_.file).map { f =>
      val path = new Path(f.path)
      val status = path.getFileSystem(conf).getFileStatus(path)
      DataFile(f.file, plan.folderOfFile(f.file), status)
    }
    // Spark's writer makes an empty file where the first partition has no row
    FooterReader.read(listed, conf, p.target.format).filter(_.rows > 0)
  }

  private def recordOf(
      plan: BatchPlan,
      written: Map[Int, WrittenFile],
      footers: Seq[Footer],
      cost: RunCost): Record = {
    val removed = plan.inputs.files.groupBy(_.folder)
    val added = footers.groupBy(_.file.folder)
    val changes = (removed.keySet ++ added.keySet).toSeq.sorted.map { f =>
      FolderChange(
        folderName(plan.inputs, f),
        removed.getOrElse(f, Nil).map { d =>
          Replaced(d.path.getName, d.length, d.modified, s"_${d.ordinal}")
        },
        added.getOrElse(f, Nil).map { a =>
          val w = written(a.file.ordinal)
          Added(
            new Path(w.path).getName,
            f"part-${a.file.ordinal}%05d-$run${w.extension}",
            a.file.length,
            a.rows,
            a.file.modified)
        })
    }
    Record(
      Record.Version,
      Record.Optimize,
      run,
      System.currentTimeMillis(),
      p.session.sparkContext.sparkUser,
      p.columns.map(_.name),
      p.settings(Settings.Retention),
      changes,
      targetFileSize = p.settings(Settings.TargetFileSize),
      cost = Some(cost))
  }

  /** The inputs must be as they were listed; files that came since then are none of ours. */
  private def recheck(plan: BatchPlan): Unit = {
    val now = relist().files.map(f => f.path -> f).toMap
    plan.inputs.files.foreach { f =>
      now.get(f.path) match {
        case None => throw ZOrderErrors.conflict(p.target.name, s"${f.path} was removed")
        case Some(g) if g.length != f.length || g.modified != f.modified =>
          throw ZOrderErrors.conflict(p.target.name, s"${f.path} was overwritten")
        case _ =>
      }
    }
  }

  private def hasDefault(column: String): Boolean =
    p.schema.exists(f => sameName(f.name, column) && f.metadata.contains("EXISTS_DEFAULT"))

  private def folderName(files: TableFiles, folder: Int): String =
    Paths.relative(files.root, files.folders(folder).path)

  private def isCommitted(state: StateDirectory): Boolean =
    try state.numbers().exists { n =>
        val r = state.read(n)
        r.run == run && r.exchangesFiles
      }
    catch { case NonFatal(_) => true } // unknown: delete nothing

  /**
   * Deletes what the run made, twice: a task that is being killed may still have made a file. Retained
   * files stay: a run that has some was committed, and somebody is deleting its record.
   */
  private def discard(staging: Path, state: StateDirectory): Unit =
    try {
      state.deleteIfEmpty(state.retained(run))
      state.fs.delete(staging, true)
      Thread.sleep(BatchRun.KilledTasksMs)
      state.fs.delete(staging, true)
      ()
    } catch {
      case NonFatal(e) => logWarning(s"cannot delete $staging", e)
      case _: InterruptedException => Thread.currentThread().interrupt()
    }
}

private object BatchRun {
  val KilledTasksMs = 300L
}
