package io.sparkzorder.log

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.util.ManyFiles

/**
 * The records of a table as they were read at one moment.
 *
 * @param records with their numbers, ascending
 */
final class RunHistory(val records: Seq[(Long, Record)]) {
  private val undone: Set[String] = records.flatMap(_._2.undone).toSet
  private val abandoned: Set[String] =
    records.collect { case (_, r) if r.kind == Record.Abandon => r.run }.toSet

  /** Number of the newest record, 0 when there is none. */
  def last: Long = records.lastOption.map(_._1).getOrElse(0L)

  /** The OPTIMIZE runs that were not undone, newest first: the first one made the last layout. */
  def inForce: Seq[(Long, Record)] =
    records.reverse.filter { case (_, r) => 
      r.kind == Record.Optimize && !undone(r.run) && !abandoned(r.run)
    }

  def isUndone(run: String): Boolean = undone(run)

  /** True for a run that was put back to its inputs, or will be. */
  def isAbandoned(run: String): Boolean = abandoned(run)

  /** Number of the record by which a run changes the table, if it has committed. */
  def commitOf(run: String): Option[Long] =
    records.collectFirst { case (n, r) if r.exchangesFiles && r.run == run => n }

  /** True when the run must not commit any more. */
  def isAborted(run: String): Boolean =
    records.exists { case (_, r) => r.kind == Record.Abort && r.run == run }
}

object RunHistory {
  def read(state: StateDirectory): RunHistory =
    new RunHistory(ManyFiles.map(state.numbers())(n => n -> state.read(n)))
}

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
    val noted = new Intents(state).runs()
    val candidates = history.records.filter { case (_, r) =>
      r.exchangesFiles && (r.version < 2 || noted(r.run))
    }
    val kept = candidates.map { case (n, r) =>
      val bytes = bytesOf(state, r, r.run)
      val until =
        if (!state.isDone(n) || state.hasConflict(n)) NeverExpires
        else state.doneSince(n) + r.retainMs
      (bytes, until)
    }.filter(_._1 > 0)
    RetainedFiles(kept.map(_._1).sum, kept.map(_._2).reduceOption(_ max _).filter(_ < NeverExpires))
  }

  /** Bytes of the files that a run replaced and that are kept, in its directories or those of `keeper`. */
  def bytesOf(state: StateDirectory, record: Record, keeper: String): Long =
    KeptFiles.of(state, record, keeper).map(_.getLen).sum
}

private[sparkzorder] object KeptFiles {

  /** The files that a run replaced and that are kept, in its directories or those of `keeper`. */
  def of(state: StateDirectory, record: Record, keeper: String): Seq[FileStatus] =
    if (record.version < 2) {
      state.ofFormat1("_retained").filter(_.getPath.getName == s"_${record.run}")
        .flatMap(d => state.readableFiles(d.getPath)).filter(_.isFile)
    } else {
      ManyFiles.map(record.changes) { c =>
        val names = c.replaced.map(_.retained).toSet
        Seq(state.own(c.folder, keeper), state.closed(c.folder, keeper))
          .flatMap(state.readableFiles).filter(s => names(s.getPath.getName))
      }.flatten
    }
}
