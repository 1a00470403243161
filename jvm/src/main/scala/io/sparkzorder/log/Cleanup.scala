package io.sparkzorder.log

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
