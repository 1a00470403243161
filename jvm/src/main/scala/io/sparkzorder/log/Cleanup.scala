package io.sparkzorder.log

import scala.annotation.tailrec

import org.apache.hadoop.security.UserGroupInformation

import org.apache.spark.internal.Logging

/**
 * Removes leftovers. Only OPTIMIZE and VACUUM LAYOUT do so, never a reader.
 *
 * @param user who does it, for the record that declares a run dead
 */
final class Cleanup(state: StateDirectory, user: String) extends Logging {

  /** @return false when it stays: it is not to be removed, or its run has committed meanwhile */
  def remove(leftover: Leftover): Boolean = leftover.kind match {
    case Leftover.Conflict => false
    case Leftover.Staged =>
      val history = RunHistory.read(state)
      val isDone = history.commitOf(leftover.run).exists(state.isDone)
      val isOurs = isDone || new DeadRuns(state, user).abort(leftover.run)
      // made before the commit, for what the run was going to replace
      if (isOurs && !isDone) state.deleteIfEmpty(state.retained(leftover.run))
      isOurs && delete(leftover)
    case Leftover.Retained | Leftover.Temporary => delete(leftover)
  }

  private def delete(leftover: Leftover): Boolean = {
    logInfo(s"removing ${leftover.path}: ${leftover.kind.name}, ${leftover.files} files, " +
      s"${leftover.bytes} bytes")
    state.fs.delete(leftover.path, true)
    // another VACUUM may have been quicker
    !state.fs.exists(leftover.path)
  }
}

/**
 * Declares runs dead before their staged files are taken away. The numbered record decides: a run
 * that was only slow finds it before its commit, and a run that commits first is not dead.
 *
 * @param user who says so, for the record
 */
final class DeadRuns(state: StateDirectory, user: String) {

  /** @return false when the run has committed, so that its staged files belong to the table */
  @tailrec
  def abort(run: String): Boolean = {
    val history = RunHistory.read(state)
    val next = history.last + 1
    if (history.commitOf(run).isDefined) false
    else if (history.isAborted(run)) true
    // a run without a staging directory cannot commit, and a vanished `_zorder` is not made again
    else if (!state.fs.exists(state.staging(run))) true
    else if (state.createRecord(next, record(run))) {
      state.markDone(next, run)
      true
    } else abort(run)
  }

  private def record(run: String): Record =
    Record(
      Record.Version,
      Record.Abort,
      run,
      System.currentTimeMillis(),
      user,
      columns = Nil,
      retainMs = 0L,
      changes = Nil)
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
