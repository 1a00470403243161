// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import io.sparkzorder.log.Record

/**
 * Finds whether the layout of a table was changed in the last days. AUTO changes a layout at most once in
 * this time, even if the workload changes. The first layout of a table is not a change, but an UNDO LAYOUT
 * is one.
 */
private[sparkzorder] object RecentChange {

  /** AUTO changes a layout at most once in this number of days. */
  val Days = 7
  private val DayMs = 24L * 3600 * 1000
  // the clocks of two drivers may differ by this much
  private val ClockSkewMs = 3600L * 1000

  /**
   * @param runs the runs with columns that are in force, newest first
   * @param undos records of UNDO LAYOUT: AUTO must not at once repeat a layout that a user has undone
   * @param bytes of the table
   * @return how many days ago, if the change is recent
   */
  def of(runs: Seq[Record], undos: Seq[Record], bytes: Long, nowMs: Long): Option[Long] = {
    // the newest record notes the time of the last change, because the record before that change is removed
    // when later runs have replaced all of its files
    val noted = runs.take(1).map(_.layoutSinceMs).filter(_ > 0)
    val seen = runs.zip(runs.drop(1)).collectFirst {
      case (r, before) if isOther(r, before) || r.cost.exists(_.inputBytes > bytes / 2) =>
        r.createdMs
    }
    daysAgo(noted ++ seen ++ undos.map(_.createdMs), nowMs)
  }

  /** How many days ago the last of some changes was made, if it is recent. */
  def daysAgo(changesMs: Seq[Long], nowMs: Long): Option[Long] =
    // ignore times in the future, which a wrong clock has written: they would stop AUTO until then
    changesMs.map(nowMs - _).filter(_ > -ClockSkewMs)
      .map(age => math.max(0L, age) / DayMs).filter(_ < Days).reduceOption(_ min _)

  /**
   * When the layout of a new run replaced another layout, for the record of the run.
   *
   * @param runs the runs with columns that were in force before the new run, newest first
   */
  def since(run: Record, runs: Seq[Record]): Long = runs.headOption.fold(0L) { before =>
    if (isOther(run, before)) run.createdMs else before.layoutSinceMs
  }

  private def isOther(r: Record, before: Record): Boolean =
    r.columns != before.columns || r.columnWeights != before.columnWeights
}
