package io.sparkzorder.log

import org.apache.spark.internal.Logging

import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.util.ManyFiles

/**
 * Brings a committed run into the table, by renames only, folder by folder: the new files to where
 * they wait in the folder under hidden names, the replaced files out, the new ones to their names.
 * Every step may be repeated, and two may do it at once: a step that finds its work done goes on.
 */
final class Publisher(state: StateDirectory) extends Logging {
  private val fs = state.fs

  /**
   * Publishes record `number`.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_LOST when the table was overwritten
   *   meanwhile; ZORDER_PUBLISH_CONFLICT when somebody changed a folder after the commit: the other
   *   folders are published, ours for that one is discarded, and the files that it was to replace are
   *   visible again
   */
  def publish(number: Long, record: Record): Unit = {
    // a record of thousands of folders is parsed once, and known again by the identity of its file
    val identity = state.identity(number)
    requireState(number, record)
    val conflicts = ManyFiles.map(record.changes) { change =>
      requireSame(number, identity)
      publishFolder(number, record, change)
    }.flatten
    requireSame(number, identity)
    // empty by now; after the mark nobody would come back for it
    fs.delete(state.staging(record.run), true)
    state.markDone(number, record.run)
    conflicts.headOption.foreach(throw _)
  }

  /** Publishes what earlier runs committed and did not finish, and tells which these were. */
  def rollForward(): Seq[Record] =
    state.unfinished().map { case (number, record) =>
      logWarning(s"run ${record.run} was committed but not published; rolling it forward")
      publish(number, record)
      record
    }

  private def requireState(number: Long, record: Record): Unit =
    if (!state.holds(number, record.run)) throw ZOrderErrors.stateLost(state.root.toString)

  private def requireSame(number: Long, identity: Option[(Long, Long)]): Unit =
    if (state.identity(number) != identity) throw ZOrderErrors.stateLost(state.root.toString)

  private def publishFolder(
      number: Long,
      record: Record,
      change: FolderChange): Option[ZOrderException] = {
    val files = new FolderFiles(state, record, change)
    val problem =
      if (files.isPublished) None
      else if (files.isComingIn) files.missingNew.orElse(files.bringIn())
      else {
        files.changedInput
          .orElse(files.takenName)
          .orElse(files.enter())
          .orElse(files.missingNew)
          .orElse(takeOut(number, record, files))
          .orElse(files.bringIn())
      }
    // another publisher may have finished meanwhile, and later runs gone on from there
    problem.filterNot(_ => state.isDone(number)).map { p =>
      requireState(number, record)
      // noted before anything is discarded: after a crash in between the retained files would expire
      state.markConflict(number)
      if (!files.isComingIn) files.putBack()
      files.discardNew()
      ZOrderErrors.publishConflict(
        files.folder.toString,
        record.run,
        p,
        state.retained(record.run).toString)
    }
  }

  private def takeOut(number: Long, record: Record, files: FolderFiles): Option[String] = {
    // One that slept until its run was published, and undone, would know the files that are back. Whoever
    // undoes a run takes its directory of retained files away first: no rename to there works any more.
    def isOvertaken = state.isDone(number)
    if (!files.canRetain && !isOvertaken) {
      requireState(number, record)
      fs.mkdirs(state.retained(record.run))
    }
    if (isOvertaken) None else files.takeOut()
  }
}
