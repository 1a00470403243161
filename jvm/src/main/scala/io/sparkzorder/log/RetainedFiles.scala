package io.sparkzorder.log

/**
 * Replaced files that are kept for a while.
 *
 * @param bytes of all of them
 * @param untilMs when the last of them may be removed; None when there are none, or when some stay for
 *   ever, since their run met a conflict and they may be the only copy
 */
final case class RetainedFiles(bytes: Long, untilMs: Option[Long])

object RetainedFiles {
  private val NeverExpires = Long.MaxValue

  /** @param history of the same state */
  def of(state: StateDirectory, history: RunHistory): RetainedFiles = {
    val kept = history.records.filter(_._2.exchangesFiles).map { case (n, r) =>
      val bytes = state.readableFiles(state.retained(r.run)).filter(_.isFile).map(_.getLen).sum
      val until =
        if (!state.isDone(n) || state.hasConflict(n)) NeverExpires
        else state.doneSince(n) + r.retainMs
      (bytes, until)
    }.filter(_._1 > 0)
    RetainedFiles(kept.map(_._1).sum, kept.map(_._2).reduceOption(_ max _).filter(_ < NeverExpires))
  }
}
