// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import scala.annotation.tailrec

import org.apache.spark.internal.Logging

import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.log._
import io.sparkzorder.util.ManyFiles

/** Publishes committed runs, or abandons them, folder by folder; see [[RunFolder]]. */
private[sparkzorder] final class Publisher(state: StateDirectory) extends Logging {

  /**
   * Publishes record `number`.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_LOST if the table was overwritten meanwhile.
   *   ZORDER_PUBLISH_CONFLICT if another program changed a folder after the commit; the other folders are
   *   published, and in the changed folder the old files are visible again. ZORDER_FOLDER_IN_DOUBT if the
   *   token of a folder is gone; the run then stays unfinished
   */
  def publish(number: Long, record: Record): Unit = {
    val run = new OpenRun(number, record)
    run.end(ManyFiles.map(run.places)(run.atPlace(_)(run.publishIn)).flatten)
    // another session may have abandoned the run while this process was suspended
    if (TableLog.read(state).isAbandoned(record.run)) {
      throw ZOrderErrors.publishConflict(
        state.root.toString,
        record.run,
        "RECOVER LAYOUT .. ABANDON has ended the run",
        "Directories that were not yet published still contain their original files.")
    }
  }

  /**
   * Ends a committed run. In every folder in which the run is not published, the replaced files get their names
   * again.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_FOLDER_IN_DOUBT if a program overwrites a folder
   *   meanwhile; the run then stays unfinished
   */
  def abandon(number: Long, record: Record): Unit = {
    val run = new OpenRun(number, record)
    val inDoubt = ManyFiles.map(run.places)(run.atPlace(_)(run.abandonIn)).flatten
      .collect { case d: InDoubt => d }
    inDoubt.headOption.foreach(d => throw d.error)
    TableLog.read(state).records.foreach { case (n, r) =>
      if (r.kind == Record.Abandon && r.run == record.run) state.markDone(n, r.run)
    }
    run.end(Nil)
  }

  /**
   * Abandons all committed runs that are not published, and returns their records. For each run, a record of the
   * kind `abandon` is committed first. So after a crash, the next recovery goes on to abandon the run, and does not
   * publish it.
   */
  def abandonAll(user: String): Seq[Record] =
    TableLog.read(state).unfinished.map { case (number, record) =>
      val marker = Record.marker(Record.Abandon, record.run, user)
      Markers.create(state, marker)(_.isAbandoned(record.run))
      abandon(number, record)
      record
    }

  /**
   * Ends the committed runs that are not published: abandons those that a record abandons, publishes the others, and
   * returns the records of all.
   *
   * @param log the records as they are now
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_FOLDER_IN_DOUBT before anything is published
   */
  def rollForward(log: TableLog = TableLog.read(state)): Seq[Record] = {
    log.unfinished.foreach { case (number, record) =>
      if (!log.isAbandoned(record.run)) new OpenRun(number, record).requireNoDoubt()
    }
    log.unfinished.map { case (number, record) =>
      if (log.isAbandoned(record.run)) abandon(number, record)
      else {
        logWarning(s"run ${record.run} was committed but not published; rolling it forward")
        publish(number, record)
      }
      record
    }
  }

  private final class OpenRun(number: Long, record: Record) {
    // A record may have thousands of folders, so it is parsed only once. Later checks compare the length and the time
    // of its file.
    private val identity = state.identity(number)
    requireState()

    /** For each folder, the change as the record has it, and with its present path; see [[RunPlaces.all]]. */
    def places: Seq[(FolderChange, Option[FolderChange])] =
      new RunPlaces(state, record, state.byName).all

    /** Fails if a folder of the run is in doubt: a user must first say whether the folder was overwritten. */
    def requireNoDoubt(): Unit =
      ManyFiles.map(places.flatMap(_._2)) { change =>
        val files = new RunFolder(state, record, change)
        // If another publisher has finished the run, a later run may be moving its files, which would look like doubt.
        if (files.isInDoubt && !state.isDone(number)) Some(files.doubt) else None
      }.flatten.headOption.foreach(throw _)

    /**
     * Does the work on a folder at its present path. If another program renames or moves the folder meanwhile, the
     * work goes on at the new path.
     */
    @tailrec
    def atPlace(place: (FolderChange, Option[FolderChange]), left: Int = Publisher.Moves)(
        work: RunFolder => Option[Problem]): Option[Problem] = place match {
      case (change, None) => Some(loss(change))
      case (change, Some(now)) =>
        requireSame()
        val files = new RunFolder(state, record, now)
        val result = work(files)
        val moved =
          if (result.isEmpty || left == 0 || files.isThere) None
          else places.find(_._1 == change).filter(_._2.exists(_.folder != now.folder))
        moved match {
          case Some(other) => atPlace(other, left - 1)(work)
          case None =>
            result.map {
              case Away(problem) => ended(files, problem, restore = false, isHiding = false)
              case other => other
            }
        }
    }

    def publishIn(files: RunFolder): Option[Problem] =
      files.folderState match {
        case FolderState.Published => None
        case FolderState.Conflict => conflict(files, "another program had changed it before")
        case FolderState.Overwritten => conflict(files, "it was overwritten")
        case FolderState.Publishing if files.isRevealing => forward(files)
        case now => exchange(files, isResumed = now == FolderState.Publishing)
      }

    def abandonIn(files: RunFolder): Option[Problem] = {
      // A user who abandons the run says that the folder was not overwritten. But a run that is done is in no doubt: a
      // failed UNDO may have given its files back, which only looks like doubt.
      if (files.isInDoubt && !state.isDone(number)) files.putConflict()
      if (files.folderState != FolderState.Published) conflict(files, "it was abandoned") else None
    }

    /** The problem of a folder that was not found anywhere. */
    private def loss(change: FolderChange): Problem = {
      requireSame()
      state.markConflict(number)
      Ended(ZOrderErrors.publishConflict(
        state.folder(change.folder).toString,
        record.run,
        "it was overwritten or dropped, and another directory has its name",
        "Nothing of the run is left there."))
    }

    def end(problems: Seq[Problem]): Unit = {
      requireSame()
      problems.collectFirst { case InDoubt(e) => throw e }
      // the run that an UNDO has undone keeps no files any more, so its intent is removed
      record.undone.foreach(new Intents(state).remove)
      state.markDone(number, record.run)
      problems.collectFirst { case Ended(e) => throw e }
    }

    private def requireState(): Unit =
      if (!state.holds(number, record.run)) throw ZOrderErrors.stateLost(state.root.toString)

    private def requireSame(): Unit =
      if (state.identity(number) != identity) throw ZOrderErrors.stateLost(state.root.toString)

    /**
     * Hides the replaced files of a folder, and then gives the new files their names.
     *
     * @param isResumed true if another process may already have hidden replaced files. Then a replaced file that is
     *   found nowhere may have been removed while it was hidden, so that only the new files have its rows. If false,
     *   only this process hides files, so such a file was removed while it was visible
     */
    private def exchange(files: RunFolder, isResumed: Boolean): Option[Problem] =
      files.changedInput.orElse(files.occupiedName).orElse(files.missingNew) match {
        case Some(p) => conflict(files, p, isResumed)
        case None =>
          files.showToken()
          files.retain().orElse(files.missingNew) match {
            case Some(p) => conflict(files, p, isResumed)
            case None =>
              // the renames must be on disk first: after a power failure, no new file may be visible beside
              // a replaced file
              files.sync()
              forward(files)
          }
      }

    private def forward(files: RunFolder): Option[Problem] = files.reveal() match {
      case Some(p) =>
        // Another program may have overwritten the folder while files were being revealed. Files that became visible
        // after that would be beside the rows of that program, so they are hidden again.
        if (files.isInDoubt) files.hideAgain()
        conflict(files, p)
      case None =>
        // If the folder was moved away, its new files were moved, too, and are not lost. If another process has
        // finished the folder meanwhile, a later run may have replaced them.
        val lost = files.lostNew.filter(_ =>
          files.isThere && files.folderState == FolderState.Publishing)
        // with this mark the replaced files never expire
        if (lost.isDefined) state.markConflict(number)
        if (files.finish()) {
          files.sync()
          lost.map(problem =>
            Ended(ZOrderErrors.publishConflict(
              files.folder.toString,
              record.run,
              problem,
              "The other new files are in their places, and the files that the run replaced are kept in " +
                s"${files.own}. They may have the only copy of rows.")))
        } else conflict(files, "it was overwritten or dropped")
    }

    private def conflict(files: RunFolder, problem: String): Option[Problem] =
      conflict(files, problem, isHiding = files.folderState != FolderState.Committed)

    /** @param isHiding true if a missing replaced file may have been hidden when it was removed */
    @tailrec
    private def conflict(
        files: RunFolder,
        problem: String,
        isHiding: Boolean): Option[Problem] = {
      files.decideConflict()
      // without a token of the conflict, a delayed publisher could still hide the replaced files
      if (files.isUntouched) files.putConflict()
      val now = files.folderState
      val isInDoubt = now == FolderState.Overwritten && files.isInDoubt
      // RECOVER LAYOUT .. ABANDON may have put a token into the folder meanwhile
      if (now == FolderState.Overwritten && !isInDoubt && files.folderState != FolderState.Overwritten)
        conflict(files, problem, isHiding)
      // If another publisher has finished the run meanwhile, this is no conflict: later runs have replaced its files.
      else if (now == FolderState.Published || state.isDone(number)) None
      else if (isInDoubt) Some(InDoubt(files.doubt))
      else if (now == FolderState.Overwritten && !files.isThere) Some(Away(problem))
      else Some(ended(files, problem, restore = now == FolderState.Conflict, isHiding))
    }

    private def ended(
        files: RunFolder,
        problem: String,
        restore: Boolean,
        isHiding: Boolean): Problem = {
      requireState()
      state.markConflict(number)
      val outcome = files.resolve(restore, isHiding)
      Ended(ZOrderErrors.publishConflict(files.folder.toString, record.run, problem, outcome))
    }
  }
}

/** Why the work on a folder of a run did not end as intended. */
private sealed trait Problem

/** The hidden directory of the run is not there: the folder was overwritten, or was moved elsewhere. */
private final case class Away(problem: String) extends Problem

/** The run has ended in this folder with a conflict. `publish` throws the error, and `abandon` does not. */
private final case class Ended(error: ZOrderException) extends Problem

/** The folder is in doubt: a user must say whether it was overwritten. */
private final case class InDoubt(error: ZOrderException) extends Problem

private object Publisher {

  /** How many moves of a folder the publisher follows. */
  val Moves = 3
}
