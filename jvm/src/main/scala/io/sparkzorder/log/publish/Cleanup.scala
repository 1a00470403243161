package io.sparkzorder.log.publish

import scala.annotation.tailrec

import org.apache.hadoop.fs.Path
import org.apache.hadoop.security.UserGroupInformation

import org.apache.spark.internal.Logging

import io.sparkzorder.log.{Intent, Intents, Record, RunFolder, StateDirectory, TableLog}
import io.sparkzorder.util.{Directories, ManyFiles}

/**
 * Removes leftovers. Only OPTIMIZE and VACUUM LAYOUT do so, never a reader.
 *
 * @param user who does it, for the record that declares a run dead
 */
final class Cleanup(state: StateDirectory, user: String) extends Logging {
  private val intents = new Intents(state)

  /** @return false when it stays: it is not to be removed, or its run has committed meanwhile */
  def remove(leftover: Leftover): Boolean = leftover.kind match {
    case Leftover.Conflict => false
    case Leftover.Staged =>
      // of format 1, what a published run has left there is of no use
      def isOld = leftover.intent.isEmpty &&
        TableLog.read(state).commitOf(leftover.run).exists(state.isDone)
      val isOurs = isOld || new DeadRuns(state, user).abort(leftover.run)
      isOurs && {
        leftover.intent.foreach(discard)
        leftover.intent.isDefined || delete(leftover)
      }
    case Leftover.Retained | Leftover.Temporary =>
      leftover.intent match {
        case Some(i) =>
          tell(leftover)
          ManyFiles.map(leftover.directories)(state.fs.delete(_, true))
          // last of all: by the note they are found
          intents.remove(i.run)
          true
        case None => delete(leftover)
      }
  }

  private def tell(leftover: Leftover): Unit =
    logInfo(s"removing ${leftover.path}: ${leftover.kind.name}, ${leftover.files} files, " +
      s"${leftover.bytes} bytes")

  /**
   * Removes what a run has made that did not commit, and cannot any more. What an undo has taken goes
   * back.
   */
  def discard(intent: Intent): Unit = {
    intent.undone match {
      case Some(undone) => new UndoClaim(state, undone, intent.run, user).giveBack(intent.folders)
      case None => ManyFiles.map(intent.folders) { f =>
          discardIn(state.own(f, intent.run))
          state.fs.delete(state.trial(f, intent.run), false)
        }
    }
    intents.remove(intent.run)
  }

  /** Replaced files stay: a run that has some was committed, and somebody has deleted its record. */
  private def discardIn(own: Path): Unit = {
    state.files(own).map(_.getPath).filterNot(_.getName.startsWith(RunFolder.Retained))
      .foreach(state.fs.delete(_, true))
    Directories.removeEmpty(state.fs, own)
    ()
  }

  private def delete(leftover: Leftover): Boolean = {
    tell(leftover)
    state.fs.delete(leftover.path, true)
    // another VACUUM may have been quicker
    !state.fs.exists(leftover.path)
  }
}

/**
 * Declares runs dead before their files are taken away. The numbered record decides: a run that was
 * only slow finds it before its commit, and a run that commits first is not dead.
 *
 * @param user who says so, for the record
 */
final class DeadRuns(state: StateDirectory, user: String) {

  /**
   * @param by a run that must not have been declared dead itself
   * @return false when the run has committed, so that its files belong to the table
   */
  @tailrec
  def abort(run: String, by: Option[String] = None): Boolean = {
    val history = TableLog.read(state)
    val next = history.last + 1
    if (history.commitOf(run).isDefined || by.exists(history.isAborted)) false
    else if (history.isAborted(run)) {
      // whoever wrote the record may have been killed before the mark
      history.records.foreach { case (n, r) =>
        if (r.kind == Record.Abort && r.run == run) state.markDone(n, run)
      }
      true
    }
    // a vanished `_zorder` is not made again
    else if (!state.fs.exists(state.commits)) true
    else if (state.createRecord(next, Record.note(Record.Abort, run, user))) {
      state.markDone(next, run)
      true
    } else abort(run, by)
  }
}

/**
 * Removes replaced files whose time has come, counted from when they were replaced. Those of a run
 * that met a conflict stay: they may be the only copy.
 */
final class Retention(state: StateDirectory) {
  def removeExpired(nowMs: Long): Unit = {
    val cleanup = new Cleanup(state, UserGroupInformation.getCurrentUser.getShortUserName)
    new Leftovers(state, nowMs).expired(None).foreach(cleanup.remove)
  }
}
