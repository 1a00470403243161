package io.sparkzorder.rewrite

import java.io.FileNotFoundException
import java.util.concurrent.ConcurrentHashMap

import scala.util.{Failure, Success, Try}

import org.apache.hadoop.fs.FileStatus

import org.apache.spark.internal.Logging

/**
 * A committed record as a reader knows it. A record never changes, so it is read once.
 *
 * @param changes none for a record that ends a dead run, and for one that cannot be read
 */
private[rewrite] final class KnownRecord(
    val number: Long,
    val record: Record,
    val changes: Seq[FolderChange]) {
  private val gone = ConcurrentHashMap.newKeySet[(String, String)]()

  /** True when an added file of this run, which is done, was missed at its place before. */
  def isGone(folder: String, name: String): Boolean = gone.contains(folder -> name)

  /** Remembers that: a run that is done puts no file back, so it need not be looked for again. */
  def markGone(folder: String, name: String): Unit = gone.add(folder -> name)
}

/** A record's number, the identity of its file, and whether the run is published. */
private[rewrite] final case class RecordId(number: Long, length: Long, modified: Long)

/**
 * All records of a table at one moment.
 *
 * @param ids every record with whether it is done, by number; two logs with equal ids are equal
 */
private[rewrite] final case class CommitLog(
    ids: Seq[(RecordId, Boolean)],
    history: History,
    pending: Seq[KnownRecord])

/**
 * Reads the records of a table for those who read the table. Lists `_commits` each time, since no
 * clock may decide what is true, and reads only records that it has not met.
 */
private[rewrite] final class CommitLogReader(state: StateDirectory) extends Logging {

  /** Ids of all records with whether they are done; empty when there is no state. */
  def ids(): Seq[(RecordId, Boolean)] = {
    val listed =
      try state.fs.listStatus(state.commits).toSeq
      catch { case _: FileNotFoundException => Nil }
    val names = listed.map(_.getPath.getName).toSet
    listed.flatMap(idOf).sortBy(_.number).map(id => id -> names(s"_${id.number}_done"))
  }

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE for a run under way */
  def read(): CommitLog = {
    val known = History.cached(state.root.toString)
    val now = ids()
    known.filter(_.ids == now).map(_.log).getOrElse {
      val records = known.map(_.records).getOrElse(Map.empty)
      load(now, records).getOrElse(read())
    }
  }

  /** None when a record vanished meanwhile. */
  private def load(
      now: Seq[(RecordId, Boolean)],
      met: Map[RecordId, KnownRecord]): Option[CommitLog] = {
    val loaded = now.map { case (id, done) =>
      met.get(id).map(Some(_)).getOrElse(open(id, done)).map(k => (id, done, k))
    }
    if (loaded.contains(None)) None
    else {
      val all = loaded.flatten
      val history = new History(
        state.root,
        all.collect { case (_, true, known) => known },
        now,
        all.collect { case (id, _, known) => id -> known }.toMap)
      History.remember(state.root.toString, history)
      Some(history.log)
    }
  }

  private def open(id: RecordId, done: Boolean): Option[KnownRecord] =
    Try(state.read(id.number)) match {
      case Success(r) if r.kind == Record.Abort => Some(new KnownRecord(id.number, r, Nil))
      case Success(r) =>
        Some(new KnownRecord(id.number, r, Option(r.changes).getOrElse(Nil)))
      case Failure(_) if !ids().contains(id -> done) => None
      case Failure(e) if done =>
        logWarning(s"passing over a finished record that cannot be read: ${e.getMessage}")
        Some(new KnownRecord(id.number, null, Nil))
      case Failure(e) => throw e
    }

  private def idOf(s: FileStatus): Option[RecordId] =
    Try(s.getPath.getName.stripPrefix("_").toLong).toOption
      .map(RecordId(_, s.getLen, s.getModificationTime))
}
