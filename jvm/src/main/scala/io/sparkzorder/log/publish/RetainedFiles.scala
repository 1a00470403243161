// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import io.sparkzorder.log._
import io.sparkzorder.util.ManyFiles

/**
 * The replaced files of a table that are still kept.
 *
 * @param bytes the size of all these files
 * @param untilMs when the last of these files may be removed. None if there are no such files, or if some of them
 *   do not expire, because their run is not done or met a conflict
 */
private[sparkzorder] final case class RetainedFiles(bytes: Long, untilMs: Option[Long])

private[sparkzorder] object RetainedFiles {
  private val NeverExpires = Long.MaxValue

  /** @param log the log in `state` */
  def of(state: StateDirectory, log: TableLog): RetainedFiles = {
    val withIntent = new Intents(state).runs()
    val keeping = log.records.filter { case (_, r) => r.exchangesFiles && withIntent(r.run) }
    val kept = ManyFiles.map(keeping) { case (n, r) =>
      Some(bytesOf(state, r, r.run)).filter(_ > 0).map { bytes =>
        val until =
          if (!state.isDone(n) || state.hasConflict(n)) NeverExpires
          else state.replacedSince(n, r).fold(NeverExpires)(_ + r.retainMs)
        (bytes, until)
      }
    }.flatten
    RetainedFiles(kept.map(_._1).sum, kept.map(_._2).reduceOption(_ max _).filter(_ < NeverExpires))
  }

  /**
   * The size of the files that the run of a record replaced and that are still in the hidden directories of a
   * keeper.
   *
   * @param keeper the run in whose directories the files are: the same run, or an UNDO that has claimed the
   *   files
   */
  def bytesOf(state: StateDirectory, record: Record, keeper: String): Long =
    ManyFiles.map(record.changes) { c =>
      val names = c.replaced.map(_.retained).toSet
      state.hidden(c.folder, keeper)
        .flatMap(state.readableFiles).filter(s => names(s.getPath.getName)).map(_.getLen).sum
    }.sum
}
