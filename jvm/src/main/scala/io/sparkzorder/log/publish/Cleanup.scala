// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import scala.annotation.tailrec

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.security.UserGroupInformation

import org.apache.spark.internal.Logging

import io.sparkzorder.log.{ChangeCopy, Intent, Intents, Record, RunFolder, StateDirectory, TableLog}
import io.sparkzorder.util.{Directories, ManyFiles, ObjectStore, Paths}

/**
 * Removes leftovers. OPTIMIZE and VACUUM LAYOUT do this, and readers never do.
 *
 * @param user the name of the user, for the record that declares a run dead
 */
private[sparkzorder] final class Cleanup(state: StateDirectory, user: String) extends Logging {
  private val intents = new Intents(state)

  /**
   * @return false if something of the leftover stays: it must not be removed, its run has committed meanwhile, or this
   *   user may not remove it
   */
  def remove(leftover: Leftover): Boolean =
    try removeAll(leftover)
    catch {
      case e if Directories.isDenied(e) =>
        logInfo(s"$user may not remove the files of run ${leftover.run} in ${leftover.path}: $e")
        false
    }

  private def removeAll(leftover: Leftover): Boolean = leftover.kind match {
    case kind if kind.stays => false
    case Leftover.Staged =>
      new DeadRuns(state, user).abort(leftover.run) && {
        leftover.intent match {
          case Some(intent) => discard(intent)
          case None => leftover.directories.foreach(discardIn)
        }
        true
      }
    case _ =>
      logInfo(s"removing ${leftover.path}: ${leftover.kind.name}, ${leftover.files} files, " +
        s"${leftover.bytes} bytes")
      val isGone =
        ManyFiles.map(leftover.directories)(Directories.remove(state.fs, _, recursive = true))
      // The intent goes last, and only if all directories are gone. If this process dies before, or may not remove a
      // directory of another user, the intent leads to the directories that are left.
      if (isGone.forall(identity)) leftover.intent.foreach(removeIntent)
      isGone.forall(identity)
  }

  /**
   * Removes an intent, unless its run has files. An UNDO that fails gives files back meanwhile, and writes the intent
   * only if the intent is gone by then. So the second look finds the files, or the UNDO finds that the intent is gone.
   */
  private def removeIntent(intent: Intent): Unit = {
    def hasFiles = ManyFiles.map(intent.folders)(f =>
      state.hidden(f, intent.run).exists(state.fs.exists)).contains(true)
    if (!hasFiles) {
      intents.remove(intent.run)
      // writing the intent must not create the directory of a dropped table again
      if (hasFiles && state.fs.exists(state.commits)) intents.write(intent)
    }
  }

  /**
   * Removes the files of a run that did not commit and cannot commit any more. The files that an undo has claimed
   * are given back. Nothing is removed if replaced files of the run are there: such a run was committed, and somebody
   * has removed its record. If the record is restored, the new files are needed to publish the run.
   */
  def discard(intent: Intent): Unit = intent.undone match {
    case _ if intents.hasReplaced(intent) =>
      logWarning(s"run ${intent.run} has replaced files and has no record, so its files stay")
    case Some(undone) =>
      new UndoClaim(state, undone, intent.run, user).giveBack(intent.folders)
      intents.remove(intent.run)
    case None =>
      ManyFiles.map(intent.folders) { f =>
        discardIn(state.own(f, intent.run))
        discardToken(f, intent.run)
        state.fs.delete(state.trial(f, intent.run), false)
      }
      intents.remove(intent.run)
  }

  /**
   * Removes the token beside the data, if the hidden directory of the run is gone. Such a token is left if another
   * program has removed the record of the run while the run was being published.
   */
  private def discardToken(folder: String, run: String): Unit =
    if (state.status(state.own(folder, run)).isEmpty) {
      RunFolder.tokenNames(run).foreach(token =>
        state.fs.delete(Paths.child(state.folder(folder), token), false))
    }

  /**
   * Removes the files in a directory of a run, except replaced files: a run that has replaced files was committed,
   * and its record was deleted. Copies of the change stay beside replaced files, because the copies say to which
   * folder the replaced files belong.
   */
  private def discardIn(own: Path): Unit = {
    val (kept, others) =
      state.files(own).map(_.getPath).partition(_.getName.startsWith(RunFolder.Retained))
    others.filterNot(p => kept.nonEmpty && ChangeCopy.isOne(p.getName))
      .foreach(state.fs.delete(_, true))
    Directories.removeEmpty(state.fs, own)
    ()
  }
}

/** Commits records that exchange no files ([[Record.marker]]). */
private[sparkzorder] object Markers {

  /**
   * Commits a marker and marks it done.
   *
   * @param isRefused true if the present records forbid the marker, or make it unnecessary
   * @return false if the marker was not committed for this reason
   */
  def commit(state: StateDirectory, marker: Record)(isRefused: TableLog => Boolean): Boolean = {
    val number = create(state, marker)(isRefused)
    number.foreach(state.markDone(_, marker.run))
    number.isDefined
  }

  /**
   * Like [[commit]], but does not mark the record done: the caller has yet to do what the marker says.
   *
   * @return the number of the record; None if `isRefused`
   */
  @tailrec
  def create(
      state: StateDirectory,
      marker: Record)(isRefused: TableLog => Boolean): Option[Long] = {
    val log = TableLog.read(state)
    val next = log.last + 1
    if (isRefused(log)) None
    else if (state.createRecord(next, marker)) Some(next)
    else create(state, marker)(isRefused)
  }
}

/**
 * Declares a run dead, by a record of the kind `abort`, before its files are removed. The order of the numbers
 * decides: if the run was only slow, it finds the record and does not commit; if the run commits first, the
 * record is not written.
 *
 * @param user the name of the user, for the record
 */
private[sparkzorder] final class DeadRuns(state: StateDirectory, user: String) {

  /**
   * @param by the run that needs the abort; an aborted run must not abort others
   * @return false when `run` has committed, so that its files belong to the table, or when `by` is aborted
   */
  @tailrec
  def abort(run: String, by: Option[String] = None): Boolean = {
    val log = TableLog.read(state)
    val next = log.last + 1
    if (log.commitOf(run).isDefined || by.exists(log.isAborted)) false
    else if (log.isAborted(run)) {
      // the process that wrote the record may have been killed before it marked the record done
      log.records.foreach { case (n, r) =>
        if (r.kind == Record.Abort && r.run == run) state.markDone(n, run)
      }
      true
    }
    // the table was dropped, `_zorder` with it; a record would make the directory again
    else if (!ObjectStore.isOne(state.fs) && !state.fs.exists(state.commits)) true
    else if (state.createRecord(next, Record.marker(Record.Abort, run, user))) {
      state.markDone(next, run)
      true
    } else abort(run, by)
  }
}

/**
 * Removes replaced files whose retention is over, counted from their replacement, and whose rows are proven
 * to be in other files. The replaced files of a run that met a conflict stay: they may be the only copy.
 *
 * @param isReadable whether the footer of a data file can be read
 */
private[sparkzorder] final class Retention(state: StateDirectory, isReadable: FileStatus => Boolean)
    extends Logging {
  def this(state: StateDirectory) = this(state, Evidence.hasFooter(state))

  def removeExpired(nowMs: Long): Unit = {
    val cleanup = new Cleanup(state, UserGroupInformation.getCurrentUser.getShortUserName)
    new Leftovers(state, nowMs, isReadable).expired(None).foreach { l =>
      if (l.kind.stays) {
        logWarning(
          s"${l.files} files that run ${l.run} replaced stay in ${l.path}: a file that took " +
            "their place is missing or damaged, so they may be the only copy of their rows")
      } else {
        if (!cleanup.remove(l)) {
          logWarning(
            s"the files that run ${l.run} replaced could not all be removed from ${l.path}; " +
              "the next OPTIMIZE or VACUUM LAYOUT of a user who may remove them does so")
        }
      }
    }
  }
}
