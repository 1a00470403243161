package io.sparkzorder.log

import scala.annotation.tailrec

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
