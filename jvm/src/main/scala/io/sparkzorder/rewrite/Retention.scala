package io.sparkzorder.rewrite

import org.apache.spark.internal.Logging

/**
 * Removes replaced files whose time has come, counted from when they were replaced. Only OPTIMIZE and
 * VACUUM do so, never a reader. Those of a run that met a conflict stay: they may be the only copy.
 */
final class Retention(state: StateDirectory) extends Logging {
  def removeExpired(nowMs: Long): Unit =
    state.numbers().filter(n => state.isDone(n) && !state.hasConflict(n)).foreach { n =>
      val record = state.read(n)
      val kept = state.retained(record.run)
      if (state.doneSince(n) + record.retainMs < nowMs && state.fs.exists(kept)) {
        logInfo(s"removing the files that run ${record.run} replaced: $kept")
        state.fs.delete(kept, true)
      }
    }
}
