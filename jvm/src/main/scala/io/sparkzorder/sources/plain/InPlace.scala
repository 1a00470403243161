// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging

import io.sparkzorder.commands.{Phases, TableState, WhereClause}
import io.sparkzorder.commands.auto.RecentChange
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.index.IndexUpdate
import io.sparkzorder.log._
import io.sparkzorder.log.publish.{Committer, DeadRuns}
import io.sparkzorder.sources.{BatchPlan, DealtTo, FormatFile, LayoutTag, Rewritten}
import io.sparkzorder.table.{DataFile, FileChecks, Folder, TableFiles, TableLister}
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.{ManyFiles, ObjectStore, Paths}
import io.sparkzorder.write.FilePlaces

/**
 * Replaces the inputs: writes the new files beside them under hidden names, commits a record of the
 * exchange and publishes it.
 */
private[plain] class InPlace(table: TableState, recovery: Recovery)
    extends PlainCommitter
    with Logging {
  protected val name: String = table.target.name
  protected lazy val state: StateDirectory = table.state
  // one committer for all batches, because it keeps the records of other statements
  private lazy val committer = new Committer(state, name)
  // true from the start of a commit to its success: on a store, the record may still appear after a failure
  private var isCommitting = false
  // true while this run may have exchanged files and the session's caches are not refreshed yet
  private var stale = false

  override def path: String = table.root.toString

  override def allowsTwoPasses: Boolean = true

  override def check(): Unit = table.checkInPlace()

  override def checkWhere(where: WhereClause, files: TableFiles): Unit = ()

  override def checkListed(files: TableFiles): Unit = {
    FileChecks.checkLinks(table.target, files)
    FileChecks.checkTimes(table.target, files, state.status)
  }

  override def checkRoom(files: Seq[ScannedFile], bytes: Long): Unit = {
    val check = new DestinationCheck(name, state.fs, table.root)
    check.replaced(files.map(_.file))
    check.space(bytes)
  }

  override def replace(rows: PlainRows, plan: BatchPlan, layout: LayoutTag, phases: Phases)(
      guard: IndexedSeq[FormatFile] => Unit): Rewritten = {
    stale = true
    // a batch before this one may have failed at its commit
    isCommitting = false
    requirePublished(rows.listed)
    val hidden = hiddenFor(rows.listed)
    try {
      hidden.prepare()
      exchange(rows, plan, layout, phases, hidden)(guard)
    } catch {
      case t: Throwable =>
        // after the commit, the hidden files belong to the table, and the next run publishes them
        if (hidden.isCommitted || !isOver(hidden.run, t)) throw t
        val lost = hidden.lostFolder
        hidden.discard()
        throw (t match {
          case e: ZOrderException => e
          case e =>
            // In two passes, a changed input is reported as a conflict. It ends this batch only, because the
            // other batches do not need this input.
            val input = if (plan.pass.isDefined && NonFatal(e)) rows.changedInput else None
            lost.map(f => s"$f was dropped, overwritten or moved")
              .orElse(input.map(f => s"${f.path} was removed or overwritten"))
              .fold(e)(ZOrderErrors.conflict(name, _, Some(e)))
        })
    }
  }

  /**
   * Refuses inputs that still have hidden names. This statement has published all runs that it found at its start.
   * Another session has committed the run of such an input since, and has not published that run yet. The record of
   * this statement would name the input by its hidden name, which the input soon loses.
   */
  private def requirePublished(listed: TableFiles): Unit = {
    lazy val shadows = TableLog.read(state).shadows
    listed.files.find { f =>
      RunFolder.runOf(f.path.getParent.getName).isDefined &&
      !shadows.holds(Paths.relative(table.root, f.folder.path), f.path)
    }.foreach(f =>
      throw ZOrderErrors.conflict(
        name,
        s"another run was committed meanwhile, and ${f.path} is not published yet"))
  }

  /**
   * True if the run cannot be committed any more. On a store, a record whose request has failed may still
   * appear, unless another record declares the run dead.
   */
  private def isOver(run: String, cause: Throwable): Boolean =
    !isCommitting || cause.isInstanceOf[ZOrderException] || !ObjectStore.isOne(state.fs) ||
      Try(new DeadRuns(state, table.user.sparkContext.sparkUser).abort(run)).getOrElse(false)

  protected def hiddenFor(inputs: TableFiles): HiddenFiles = new RenamedFiles(table, inputs)

  private def exchange(
      rows: PlainRows,
      plan: BatchPlan,
      layout: LayoutTag,
      phases: Phases,
      hidden: HiddenFiles)(guard: IndexedSeq[FormatFile] => Unit): Rewritten = {
    val runId = hidden.run
    val begun = System.nanoTime()
    val places = hidden.places(rows.outputs(plan).map(_.path))
    val output = rows.write(plan, places, phases)(guard)
    val cost = RunCost(
      plan.bytes,
      output.shuffleBytes,
      plan.millis + (System.nanoTime() - begun) / 1000000L)
    val record = withSince(recordOf(rows, plan, output, runId, layout, cost))
    hidden.complete(output.footers, record)
    isCommitting = true
    val number = phases("commit") {
      committer.commit(record, () => recheck(rows), recovery.lastAtStart)
    }
    isCommitting = false
    logInfo(s"run $runId on $name committed as record $number")
    val publishMs = publish(number, record, phases)
    hidden.sweep(record)
    phases("index") {
      IndexUpdate.after(
        table.user,
        state,
        record,
        output.footers,
        plan.columns.map(_.parts),
        table.target)
      // the grid of a plan was stored with the plan
      if (plan.columns.nonEmpty && plan.pass.isEmpty) storeGrid(rows, plan, output)
    }
    Rewritten(
      rows.added(output.footers.map(_.only(rows.inputs.kept))),
      output.shuffleBytes,
      publishMs,
      plan.bytes,
      retainedUntil(record),
      plan.pass.filter(_.isFirst).fold(IndexedSeq.empty[DealtTo])(p =>
        output.files.map(f => DealtTo(p.plan, p.regions(f.written.file)))))
  }

  /**
   * Gives the new files their visible names.
   *
   * @return the duration in milliseconds
   */
  protected def publish(number: Long, record: Record, phases: Phases): Long = {
    val start = System.nanoTime()
    phases("publish")(table.publish(number, record))
    (System.nanoTime() - start) / 1000000L
  }

  /** The retention starts when the files have been published, not when the record was made. */
  protected def retainedUntil(record: Record): Option[Long] =
    Some(System.currentTimeMillis() + record.retainMs)

  /** Leaves a grid for the writes that follow. */
  private def storeGrid(rows: PlainRows, plan: BatchPlan, output: BatchOutput): Unit =
    rows.inputs.updateGrid(table) {
      val written = output.files.groupBy(_.footer.file.folder)
      val bytes = output.footers.map(_.file.length).sum
      // most of a small file is its footer
      val ratio =
        if (bytes < InPlace.RatioFromBytes) None
        else Some(math.max(0.1, math.min(20.0, output.shuffleBytes.toDouble / bytes)))
      val folders = rows.folders.map(_.folder).zip(plan.samples.zip(plan.rows)).map {
        case (folder, (sample, live)) =>
          rows.inputs.sampled(folder, sample, live, written.get(folder).fold(1)(_.size))
      }
      (folders, ratio)
    }

  override def free(phases: Phases): Unit =
    phases("clean")(recovery.free())

  override def finish(inputs: PlainInputs, added: Seq[ScannedFile], phases: Phases): Unit = {
    if (stale) phases("refresh")(table.refresh())
    stale = false
    phases("clean")(recovery.removeExpired())
  }

  // Batches before the failed one are in the table, so the session has to be refreshed.
  override def abandon(cause: Throwable): Unit =
    if (stale) table.refresh()

  protected def recordOf(
      rows: PlainRows,
      plan: BatchPlan,
      output: BatchOutput,
      runId: String,
      layout: LayoutTag,
      cost: RunCost): Record = {
    val columns = rows.inputs.columns.map(_.name)
    val removed = rows.listed.files.groupBy(_.folder)
    val added = output.files.groupBy(_.footer.file.folder)
    def changeOf(folder: Folder) = FolderChange(
      Paths.relative(table.root, folder.path),
      // the hidden name of a replaced file contains its position among the replaced files of the folder
      removed.getOrElse(folder, Nil).zipWithIndex.map { case (f, i) =>
        Replaced(f.path.getName, f.length, f.modified, RunFolder.retainedName(i))
      },
      added.getOrElse(folder, Nil).map { case OutputFile(w, footer) =>
        Added(
          new Path(w.path).getName,
          s"${FilePlaces.part(w.file)}-$runId${w.extension}",
          footer.file.length,
          footer.rows,
          footer.file.modified,
          plan.pass.filter(_.isFirst).fold(0)(_.regions(w.file)))
      })
    Record(
      Record.Version,
      Record.Optimize,
      runId,
      System.currentTimeMillis(),
      table.user.sparkContext.sparkUser,
      columns,
      table.settings(Settings.Retention),
      rows.listed.folders.map(changeOf),
      targetFileSize = layout.targetFileSize,
      cost = Some(cost),
      suffix = s".${table.target.format.name}",
      weights = layout.weights.map(Double.box),
      plan = plan.pass.fold("")(_.plan),
      level = plan.pass.fold("")(p => if (p.isFirst) Record.Dealt else Record.Final))
  }

  /** Adds the time since which the table has this layout. A run without columns does not change the layout. */
  private def withSince(record: Record): Record =
    if (record.columns.isEmpty) record
    else record.copy(layoutSinceMs = RecentChange.since(record, TableLog.read(state).layouts))

  /**
   * Fails if an input was removed or overwritten since it was listed. Files that were added since
   * do not matter.
   */
  protected def recheck(rows: PlainRows): Unit = {
    val listed = rows.listed
    val folders = listed.files.map(_.folder).distinct
    val own = folders.toSet
    // For a small batch of a large folder, the status of each input takes less time than a listing of the folder.
    val isFew = ManyFiles.areFew(
      listed.files.size,
      rows.inputs.listed.files.count(f => own(f.folder)))
    val now = inputsNow(listed, folders, isFew)
    listed.files.foreach { f =>
      now.get(f.path) match {
        case None => throw ZOrderErrors.conflict(name, s"${f.path} was removed")
        case Some(g) if !isSame(f, g) =>
          throw ZOrderErrors.conflict(name, s"${f.path} was overwritten")
        case _ =>
      }
    }
  }

  /** @param isFew true if reading the status of each input takes less time than a listing of the folders */
  protected def inputsNow(
      listed: TableFiles,
      folders: Seq[Folder],
      isFew: Boolean): Map[Path, DataFile] = {
    val lister = new TableLister(table.user, table.target)
    if (isFew) lister.lookAgain(listed.files)
    else lister.listAgain(folders)
  }

  protected def isSame(listed: DataFile, now: DataFile): Boolean = listed.isUnchanged(now)
}

private object InPlace {

  /** The least total size of new files from which the ratio of shuffle bytes to file bytes is measured. */
  val RatioFromBytes = 65536L
}
