package io.sparkzorder.commands.auto

import io.sparkzorder.log.Record

/**
 * Finds whether the layout of a table was changed in the last days. AUTO changes it at most once in
 * this time, however the workload changes meanwhile. The first layout of a table is not a change.
 */
private[auto] object RecentChange {

  /** The time in which there is one change. */
  val Days = 7
  private val DayMs = 24L * 3600 * 1000

  /**
   * @param runs the runs with columns that are in force, newest first
   * @param bytes of the table
   * @return how many days ago, if the change is recent
   */
  def of(runs: Seq[Record], bytes: Long, nowMs: Long): Option[Long] =
    runs.zip(runs.drop(1)).collectFirst {
      case (r, before) if isChange(r, before, bytes) =>
        // a clock that was set back must not stop AUTO for longer
        math.max(0L, nowMs - r.createdMs) / DayMs
    }.filter(_ < Days)

  /** True for other columns or weights, and for a run that has cut most of the table anew. */
  private def isChange(r: Record, before: Record, bytes: Long): Boolean =
    r.columns != before.columns || r.columnWeights != before.columnWeights ||
      r.cost.exists(c => c.inputBytes > bytes / 2)
}
