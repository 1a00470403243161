// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.log.{Intents, Record, StateDirectory, TableLog}
import io.sparkzorder.util.ManyFiles

/**
 * The replaced files of a table that are still kept.
 *
 * @param bytes the size of all these files
 * @param untilMs when the last of these files may be removed. None if there are no such files, or if some
 *   files never expire: their run is not done, or met a conflict, and the files may have the only copy of
 *   rows
 */
private[sparkzorder] final case class RetainedFiles(bytes: Long, untilMs: Option[Long])

private[sparkzorder] object RetainedFiles {
  private val NeverExpires = Long.MaxValue

  /** @param log the log in `state` */
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

  /** The size of [[filesOf]]. */
  def bytesOf(state: StateDirectory, record: Record, keeper: String): Long =
    filesOf(state, record, keeper).map(_.getLen).sum

  /**
   * The files that the run of a record replaced and that are still kept in the hidden directories of a run.
   *
   * @param keeper the run in whose directories the files are: the same run, or an UNDO that has claimed the
   *   files
   */
  def filesOf(state: StateDirectory, record: Record, keeper: String): Seq[FileStatus] =
    ManyFiles.map(record.changes) { c =>
      val names = c.replaced.map(_.retained).toSet
      Seq(state.own(c.folder, keeper), state.closed(c.folder, keeper))
        .flatMap(state.readableFiles).filter(s => names(s.getPath.getName))
    }.flatten
}
