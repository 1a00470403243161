// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.log.{Intents, Record, StateDirectory, TableLog}
import io.sparkzorder.util.ManyFiles

/**
 * Replaced files that are kept for a while.
 *
 * @param bytes of all of them
 * @param untilMs when the last of them may be removed; None when there are none, or when some stay for
 *   ever, since their run met a conflict and they may be the only copy
 */
private[sparkzorder] final case class RetainedFiles(bytes: Long, untilMs: Option[Long])

private[sparkzorder] object RetainedFiles {
  private val NeverExpires = Long.MaxValue

  /** @param log of the same state */
  def of(state: StateDirectory, log: TableLog): RetainedFiles = {
    val noted = new Intents(state).runs()
    val candidates = log.records.filter { case (_, r) => r.exchangesFiles && noted(r.run) }
    val kept = candidates.map { case (n, r) => (n, r, bytesOf(state, r, r.run)) }.filter(_._3 > 0)
      .map { case (n, r, bytes) =>
        val until =
          if (!state.isDone(n) || state.hasConflict(n)) NeverExpires
          else state.replacedSince(n, r).fold(NeverExpires)(_ + r.retainMs)
        (bytes, until)
      }
    RetainedFiles(kept.map(_._1).sum, kept.map(_._2).reduceOption(_ max _).filter(_ < NeverExpires))
  }

  /** Bytes of [[filesOf]]. */
  def bytesOf(state: StateDirectory, record: Record, keeper: String): Long =
    filesOf(state, record, keeper).map(_.getLen).sum

  /**
   * The files that the run of a record replaced and that are still kept in the directories of another run.
   *
   * @param keeper that run: the same, or an undo that has claimed the files
   */
  def filesOf(state: StateDirectory, record: Record, keeper: String): Seq[FileStatus] =
    ManyFiles.map(record.changes) { c =>
      val names = c.replaced.map(_.retained).toSet
      Seq(state.own(c.folder, keeper), state.closed(c.folder, keeper))
        .flatMap(state.readableFiles).filter(s => names(s.getPath.getName))
    }.flatten
}
