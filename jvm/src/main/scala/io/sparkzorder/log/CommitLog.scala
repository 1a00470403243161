package io.sparkzorder.log

import java.io.{File, FileNotFoundException}
import java.util.concurrent.ConcurrentHashMap

import scala.util.{Failure, Success, Try}

import org.apache.hadoop.fs.FileStatus

import org.apache.spark.internal.Logging

import io.sparkzorder.util.{ManyFiles, RawFiles}

/**
 * A committed record as a reader knows it. A record never changes, so it is read once.
 *
 * @param changes none for a record that ends a dead run, and for one that cannot be read
 */
private[sparkzorder] final class KnownRecord(
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
private[sparkzorder] final case class RecordId(number: Long, length: Long, modified: Long)

/**
 * All records of a table at one moment.
 *
 * @param ids every record with whether it is done, by number; two logs with equal ids are equal
 */
private[sparkzorder] final case class CommitLog(
    ids: Seq[(RecordId, Boolean)],
    history: History,
    pending: Seq[KnownRecord])

/**
 * Reads the records of a table for those who read the table. Lists `_commits` each time, since no
 * clock may decide what is true, and reads only records that it has not met.
 */
private[sparkzorder] final class CommitLogReader(state: StateDirectory) extends Logging {

  /** Ids of all records with whether they are done; empty when there is no state. */
  def ids(): Seq[(RecordId, Boolean)] =
    History.cached(state.root.toString).filter(isUnchanged).map(_.ids).getOrElse(list())

  private def list(): Seq[(RecordId, Boolean)] = {
    state.requireNoLinks()
    val listed =
      try state.fs.listStatus(state.commits).toSeq
      catch { case _: FileNotFoundException => Nil }
    val names = listed.map(_.getPath.getName).toSet
    listed.flatMap(idOf).sortBy(_.number).map(id => id -> names(doneMark(id.number)))
  }

  /**
   * True when the directory holds the same names, and its last record is the same file. Local disks
   * give names much faster than lengths and times, and records are made anew only all at once, with
   * the table.
   */
  private def isUnchanged(known: History): Boolean =
    RawFiles.isLocal(state.fs) && known.ids.nonEmpty && {
      state.requireNoLinks()
      val names = Option(new File(state.commits.toUri.getPath).list()).toSeq.flatten
        .filter(n => n.endsWith("_done") || n.drop(1).forall(_.isDigit)).toSet
      names == known.names && lastId(known.ids.last._1.number).contains(known.ids.last._1)
    }

  private def lastId(number: Long): Option[RecordId] =
    try idOf(state.fs.getFileStatus(state.record(number)))
    catch { case _: FileNotFoundException => None }

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE for a run under way */
  def read(): CommitLog = {
    val known = History.cached(state.root.toString)
    val now = ids()
    known.filter(_.ids == now).map(_.log).getOrElse(load(now, known).getOrElse(read()))
  }

  /** None when a record vanished meanwhile. */
  private def load(
      now: Seq[(RecordId, Boolean)],
      before: Option[History]): Option[CommitLog] = {
    val loaded = ManyFiles.map(now) { case (id, marked) =>
      val known = before.flatMap(_.records.get(id)).orElse(open(id, marked))
      known.map(k => (id, marked && (before.exists(_.isDone(id)) || isDone(k)), k))
    }
    if (loaded.contains(None)) None
    else {
      val all = loaded.flatten
      val history = new History(
        state.root,
        all.collect { case (_, true, known) => known },
        now,
        all.map { case (id, _, known) => id -> known }.toMap)
      History.remember(state.root.toString, history)
      Some(history.log)
    }
  }

  /** A mark can be that of another run which had the number before the table was overwritten. */
  private def isDone(known: KnownRecord): Boolean =
    known.record == null || state.isDone(known.number) && !mayComeBack(known)

  /** A listing of any age may lack files that a conflict took out and has given back since. */
  private def mayComeBack(known: KnownRecord): Boolean =
    known.record.version > 1 && known.changes.nonEmpty && state.hasConflict(known.number)

  private def open(id: RecordId, done: Boolean): Option[KnownRecord] =
    Try(state.read(id.number)) match {
      case Success(r) =>
        val changes = if (r.exchangesFiles) Option(r.changes).getOrElse(Nil) else Nil
        Some(new KnownRecord(id.number, r, changes))
      case Failure(_) if !list().contains(id -> done) => None
      case Failure(e) if done =>
        logWarning(s"passing over a finished record that cannot be read: ${e.getMessage}")
        Some(new KnownRecord(id.number, null, Nil))
      case Failure(e) => throw e
    }

  private def doneMark(number: Long): String = s"_${number}_done"

  private def idOf(s: FileStatus): Option[RecordId] =
    Try(s.getPath.getName.stripPrefix("_").toLong).toOption
      .map(RecordId(_, s.getLen, s.getModificationTime))
}
