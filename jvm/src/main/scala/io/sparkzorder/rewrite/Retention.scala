package io.sparkzorder.rewrite

import org.apache.spark.internal.Logging

/** Removes replaced files whose time has come. Only OPTIMIZE and VACUUM do so, never a reader. */
final class Retention(state: StateDirectory) extends Logging {
  def removeExpired(nowMs: Long): Unit =
    state.numbers().filter(state.isDone).foreach { n =>
      val record = state.read(n)
      val kept = state.retained(record.run)
      if (record.createdMs + record.retainMs < nowMs && state.fs.exists(kept)) {
        logInfo(s"removing the files that run ${record.run} replaced: $kept")
        state.fs.delete(kept, true)
      }
    }
}
