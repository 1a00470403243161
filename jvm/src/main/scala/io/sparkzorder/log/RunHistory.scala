package io.sparkzorder.log

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.util.ManyFiles

/**
 * The records of a table as they were read at one moment.
 *
 * @param records whose files are there, with their numbers, ascending
 * @param reduced of older ones what they still tell, from the checkpoint: added files that no later run
 *   has replaced
 * @param unfinished the runs among `records` that are committed and not published
 * @param upTo number of the last record that the checkpoint covers
 */
final class RunHistory(
    val records: Seq[(Long, Record)],
    reduced: Seq[(Long, Record)] = Nil,
    val unfinished: Seq[(Long, Record)] = Nil,
    upTo: Long = 0L) {

  /** With the reduced ones, ascending. */
  val all: Seq[(Long, Record)] = if (reduced.isEmpty) records else (records ++ reduced).sortBy(_._1)

  private val undone: Set[String] = all.flatMap(_._2.undone).toSet
  private val abandoned: Set[String] =
    all.collect { case (_, r) if r.kind == Record.Abandon => r.run }.toSet

  /** Number of the newest record, 0 when there is none. */
  def last: Long = records.lastOption.fold(upTo)(_._1)

  /** The OPTIMIZE runs that were not undone, newest first: the first one made the last layout. */
  def inForce: Seq[(Long, Record)] =
    all.reverse.filter { case (_, r) =>
      r.kind == Record.Optimize && !undone(r.run) && !abandoned(r.run)
    }

  def isUndone(run: String): Boolean = undone(run)

  /** True for a run that was put back to its inputs, or will be. */
  def isAbandoned(run: String): Boolean = abandoned(run)

  /** Number of the record by which a run changes the table, if it has committed. */
  def commitOf(run: String): Option[Long] =
    all.collectFirst { case (n, r) if r.exchangesFiles && r.run == run => n }

  /** True when the run must not commit any more. */
  def isAborted(run: String): Boolean =
    records.exists { case (_, r) => r.kind == Record.Abort && r.run == run }

  /** All records after a number; None when some of them are not there any more. */
  def after(number: Long): Option[Seq[(Long, Record)]] = {
    val newer = records.filter(_._1 > number)
    if (newer.map(_._1) == (number + 1 to math.max(number, last))) Some(newer) else None
  }
}

object RunHistory {

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE */
  def read(state: StateDirectory): RunHistory = {
    val log = new CommitLogReader(state).read()
    val (whole, reduced) = log.checkpoint.toSeq.flatMap(_.content.records).partition(_.whole)
    def numbered(e: CheckpointEntry) = e.number -> e.record
    // a reader passes over a finished record that cannot be read, and nobody else
    def open(o: OpenRecord) =
      o.known.number -> Option(o.known.record).getOrElse(state.read(o.known.number))
    new RunHistory(
      whole.map(numbered) ++ log.open.map(open),
      reduced.map(numbered),
      log.open.filterNot(_.isDone).map(open).filter(_._2.exchangesFiles),
      log.upTo)
  }
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
    val kept = candidates.map { case (n, r) => (n, r, bytesOf(state, r, r.run)) }.filter(_._3 > 0)
      .map { case (n, r, bytes) =>
        val until =
          if (!state.isDone(n) || state.hasConflict(n)) NeverExpires
          else state.doneSince(n) + r.retainMs
        (bytes, until)
      }
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
