package io.sparkzorder.rewrite

import java.io.FileNotFoundException

/**
 * Replaced files that are kept for a while.
 *
 * @param bytes of all of them
 * @param untilMs when the last of them may be removed; None when there are none, or when some never
 *   may, since their run met a conflict and they may be the only copy
 */
final case class RetainedFiles(bytes: Long, untilMs: Option[Long])

object RetainedFiles {
  def of(state: StateDirectory): RetainedFiles = {
    val kept = state.numbers().flatMap { n =>
      val record = state.read(n)
      val bytes = if (record.kind == Record.Abort) 0L else bytesOf(state, record.run)
      if (bytes == 0) None
      else if (!state.isDone(n) || state.hasConflict(n)) Some((bytes, Long.MaxValue))
      else Some((bytes, state.doneSince(n) + record.retainMs))
    }
    RetainedFiles(
      kept.map(_._1).sum,
      kept.map(_._2).reduceOption(_ max _).filter(_ != Long.MaxValue))
  }

  private def bytesOf(state: StateDirectory, run: String): Long =
    try state.fs.listStatus(state.retained(run)).toSeq.map(_.getLen).sum
    catch { case _: FileNotFoundException => 0L }
}
