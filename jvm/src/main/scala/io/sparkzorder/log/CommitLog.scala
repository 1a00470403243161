// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.{File, FileNotFoundException}
import java.util.concurrent.ConcurrentHashMap

import scala.annotation.tailrec
import scala.util.{Failure, Success, Try}

import org.apache.hadoop.fs.FileStatus
import org.apache.hadoop.security.UserGroupInformation

import org.apache.spark.internal.Logging

import io.sparkzorder.errors.ZOrderException
import io.sparkzorder.util.{Directories, Etags, ManyFiles, RawFiles}

/**
 * A committed record in the memory of a reader, with what the reader has found out about its files. A
 * record never changes, so it is read once.
 *
 * @param record null if the record cannot be read although its run is marked done
 * @param changes the changes of a run that exchanges files; empty for any other record. For a record from a
 *   checkpoint without a conflict, the replaced files include [[CheckpointEntry.past]]
 * @param isCovered true for a record from a checkpoint
 * @param isReduced true for a record from a checkpoint that does not hold it whole. Then it is not known which files
 *   the run replaced, and those of its new files that later runs have replaced are left out
 */
private[sparkzorder] final class KnownRecord(
    val number: Long,
    val record: Record,
    val changes: Seq[FolderChange],
    val isCovered: Boolean = false,
    val isReduced: Boolean = false) {

  /** The changes of a run in shadow mode; empty for any other record. */
  val shadow: Seq[FolderChange] = if (record != null && record.makesShadow) record.changes else Nil

  private val gone = ConcurrentHashMap.newKeySet[(String, String, Option[String])]()
  @volatile private var hasPartial = false

  /** True if an earlier read searched all that this user may list of the table, and did not find the file. */
  def isGone(folder: String, name: String): Boolean =
    gone.contains((folder, name, None)) || hasPartial && gone.contains((folder, name, Some(user)))

  private def user: String = UserGroupInformation.getCurrentUser.getShortUserName

  /**
   * Remembers that a file was found nowhere, so that later reads do not search the whole table again.
   *
   * @param isPartial true if the search has left out directories that this user may not list: other users, who share
   *   this record, may find the file there
   */
  def markGone(folder: String, name: String, isPartial: Boolean): Unit = {
    gone.add((folder, name, if (isPartial) Some(user) else None))
    if (isPartial) hasPartial = true
  }

  private val published = ConcurrentHashMap.newKeySet[String]()

  /** True if an earlier read found a done run published in the folder. */
  def isPublishedIn(folder: String): Boolean = published.contains(folder)

  /** Remembers that a done run is published in the folder, so that later reads do not look for its token again. */
  def markPublished(folder: String): Unit = {
    val _ = published.add(folder)
  }

  private val places = new ConcurrentHashMap[String, String]

  /** The path at which a folder of this run was last found, if another program has moved the folder. */
  def movedTo(folder: String): Option[String] = Option(places.get(folder))

  def markMoved(folder: String, to: String): Unit = {
    val _ = places.put(folder, to)
  }
}

private[sparkzorder] object KnownRecord {

  /**
   * A record from a checkpoint. Files that earlier runs replaced count as replaced by the run of this record, because
   * the new files of this run hold the rows of those files. Not so after a conflict: the run has given back only the
   * files that the run itself replaced.
   */
  def apply(entry: CheckpointEntry): KnownRecord = {
    val changes = changesOf(entry.record)
    new KnownRecord(
      entry.number,
      entry.record,
      if (entry.conflict) changes else withPast(changes, entry),
      isCovered = true,
      isReduced = !entry.whole)
  }

  private def withPast(changes: Seq[FolderChange], entry: CheckpointEntry): Seq[FolderChange] = {
    val past = entry.past.map(p =>
      p.folder -> p.files.map(f => Replaced(f.name, f.length, f.modified, ""))).toMap
    changes.map(c => c.copy(replaced = c.replaced ++ past.getOrElse(c.folder, Nil)))
  }

  def apply(number: Long, record: Record): KnownRecord =
    new KnownRecord(number, record, changesOf(record))

  private def changesOf(record: Record): Seq[FolderChange] =
    if (record != null && record.exchangesFiles) Option(record.changes).getOrElse(Nil) else Nil
}

/** A checkpoint in the memory of a reader. */
private[sparkzorder] final class KnownCheckpoint(val id: RecordId, val content: Checkpoint) {

  /** All records, ascending by number. */
  val records: Seq[KnownRecord] = content.records.map(KnownRecord(_))

  private val (inConflict, others) = content.records.zip(records).partition(_._1.conflict)

  /** The records whose runs met no conflict. */
  val settled: Seq[KnownRecord] = others.map(_._2)

  /** The records whose runs met a conflict. */
  val conflicts: Seq[OpenRecord] =
    inConflict.map { case (_, known) => OpenRecord(known, isDone = true, isSettled = false) }
}

/** The number of a record or of a checkpoint, and the identity of its file. */
private[sparkzorder] final case class RecordId(
    number: Long,
    length: Long,
    modified: Long,
    etag: String)

/**
 * The checkpoints and the records in `_commits`, both ascending by number. If two logs have equal files, the
 * logs are equal.
 *
 * @param records the records, each with true if the file of its mark (`_<n>_done`) exists
 */
private[sparkzorder] final case class LogFiles(
    checkpoints: Seq[RecordId],
    records: Seq[(RecordId, Boolean)]) {
  def isEmpty: Boolean = records.isEmpty

  val names: Set[String] = (checkpoints.map(c => Checkpoint.name(c.number)) ++
    records.flatMap { case (id, isDone) =>
      Seq(s"_${id.number}") ++ (if (isDone) Seq(LogFiles.doneMark(id.number)) else Nil)
    }).toSet
}

private[sparkzorder] object LogFiles {
  private val RecordName = "_([1-9][0-9]{0,17})".r

  /** The number in the name of a record file; None for any other name, such as `_5_done` or `_05`. */
  def numberOf(name: String): Option[Long] = name match {
    case RecordName(number) => Some(number.toLong)
    case _ => None
  }

  def doneMark(number: Long): String = s"_${number}_done"

  /** True for the name of a checkpoint, a record or a mark that a run is done. */
  def isRelevant(name: String): Boolean =
    Checkpoint.numberOf(name).isDefined || numberOf(name.stripSuffix("_done")).isDefined
}

/**
 * A record after the checkpoint, or a record in the checkpoint whose run met a conflict.
 *
 * @param isDone true when no process has to publish the run any more
 * @param isSettled true when the run is done without a conflict. A run with a conflict is never settled, because
 *   readers need its record for ever: a listing that Spark has held since the conflict lacks the files that the
 *   run had hidden, and these files have their names again
 */
private[sparkzorder] final case class OpenRecord(
    known: KnownRecord,
    isDone: Boolean,
    isSettled: Boolean)

/**
 * All records of a table at one moment.
 *
 * @param open the records that no checkpoint covers, ascending
 */
private[sparkzorder] final case class CommitLog(
    ids: LogFiles,
    checkpoint: Option[KnownCheckpoint],
    open: Seq[OpenRecord],
    history: History,
    shadows: Shadows) {

  /** Number of the last record that the checkpoint covers; 0 without a checkpoint. */
  def upTo: Long = checkpoint.fold(0L)(_.id.number)

  /** Number of the newest record, 0 when there is none. */
  def last: Long = open.lastOption.fold(upTo)(_.known.number)

  /**
   * True if the file of some mark exists, but the mark was ignored when it was read: the file was empty or named
   * another run.
   */
  def hasIncompleteMark: Boolean = {
    val marked = ids.records.collect { case (id, true) => id.number }.toSet
    open.exists(o => !o.isDone && marked(o.known.number))
  }

  /** The runs that exchange files and are not published yet, or met a conflict. */
  val pending: Seq[OpenRecord] =
    (checkpoint.toSeq.flatMap(_.conflicts) ++ open.filterNot(_.isSettled))
      .filter(_.known.changes.nonEmpty)

  /** The ids of the runs of [[pending]]. */
  def pendingRuns: Set[String] = pending.map(_.known.record.run).toSet

  /** True when every run is published, without a conflict. */
  def isSettled: Boolean = pending.isEmpty
}

/**
 * Reads the records of a table. The reader lists `_commits` at each read, because a cache that expires by
 * time could return a stale state. It opens only the newest checkpoint and the records after that checkpoint, and
 * of these only the files that are not in the cache.
 */
private[sparkzorder] final class CommitLogReader(state: StateDirectory) extends Logging {

  /** The files of all records; empty if the table has no state directory. */
  def ids(): LogFiles =
    History.cached(state.root.toString).filter(isUnchanged).map(_.ids).getOrElse(list())

  private def list(): LogFiles = {
    state.requireNoLinks()
    val listed = state.files(state.commits)
    val names = listed.map(_.getPath.getName).toSet
    LogFiles(
      listed.flatMap(s =>
        Checkpoint.numberOf(s.getPath.getName).map(idOf(s, _))).sortBy(_.number),
      listed.flatMap(s => LogFiles.numberOf(s.getPath.getName).map(idOf(s, _)))
        .sortBy(_.number).map(id => id -> names(LogFiles.doneMark(id.number))))
  }

  /**
   * True if the directory has the same names as before, and the last record is the same file. On local disk, a
   * listing of names is much faster than a listing of lengths and times. A record never changes. Its file is
   * replaced only if the whole table is created anew, and then the last record is another file, too.
   */
  private def isUnchanged(known: CommitLog): Boolean =
    RawFiles.isLocal(state.fs) && !known.ids.isEmpty && {
      state.requireNoLinks()
      val names = Option(new File(state.commits.toUri.getPath).list()).toSeq.flatten
        .filter(LogFiles.isRelevant).toSet
      val last = known.ids.records.last._1
      names == known.ids.names && statusOf(last.number).contains(last)
    }

  private def statusOf(number: Long): Option[RecordId] =
    try Some(idOf(state.fs.getFileStatus(state.record(number)), number))
    catch { case _: FileNotFoundException => None }

  /**
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE if the content of a record is damaged and
   *   its run is not done
   * @throws java.io.IOException if the file system fails
   */
  @tailrec
  def read(): CommitLog = {
    val known = History.cached(state.root.toString)
    val now = ids()
    known.filter(_.ids == now).orElse(load(now, known)) match {
      case Some(log) => log
      case None => read()
    }
  }

  /** Loads the records; None if the listed files changed meanwhile. */
  private def load(now: LogFiles, before: Option[CommitLog]): Option[CommitLog] = {
    val seen = new SeenRecords(before)
    @tailrec
    def attempt(candidates: List[RecordId]): Option[CommitLog] = candidates match {
      case Nil => build(now, None, seen)
      case id :: others =>
        def read = Checkpoint.read(state, id.number).map(new KnownCheckpoint(id, _))
        seen.checkpoint(id).orElse(read) match {
          case None => None
          case Some(c) if isOfThisTable(c, now, seen) => build(now, Some(c), seen)
          case _ if list() != now => None
          case _ => attempt(others)
        }
    }
    val log = attempt(now.checkpoints.reverse.toList)
    // A mark that was ignored may be completed or replaced under the same name. The next read must read the mark
    // again, so this log is not cached.
    log.filterNot(_.hasIncompleteMark).foreach(History.remember(state.root.toString, _))
    log
  }

  /**
   * False for a checkpoint that was written before the table was overwritten: the record after it is missing, or
   * is of another run than the checkpoint says. If the next record exists and cannot be read, the checkpoint
   * counts, because without it all records in it would be lost.
   */
  private def isOfThisTable(c: KnownCheckpoint, now: LogFiles, seen: SeenRecords): Boolean =
    now.records.find(_._1.number == c.id.number + 1).exists { case (id, _) =>
      Try(seen.record(id).fold(state.read(id.number))(_.record)) match {
        case Success(record) => record == null || record.run == c.content.next
        case Failure(e) if e.isInstanceOf[ZOrderException] || Directories.isDenied(e) =>
          state.status(state.record(id.number)).isDefined
        case Failure(e) => throw e
      }
    }

  private def build(
      now: LogFiles,
      checkpoint: Option[KnownCheckpoint],
      seen: SeenRecords): Option[CommitLog] = {
    val upTo = checkpoint.fold(0L)(_.id.number)
    val files = now.records.filter(_._1.number > upTo)
    // a slow listing can miss a file that is created or removed meanwhile, so after a gap in the numbers
    // `_commits` is listed again
    val isWhole = files.map(_._1.number) == (upTo + 1 to upTo + files.size)
    if (!isWhole && list() != now) None
    else {
      val loaded = ManyFiles.map(files) { case (id, marked) =>
        val before = seen.state(id, marked)
        before.map(_.known).orElse(open(id, marked))
          .map(k => before.filter(_.isDone).getOrElse(status(k, marked)))
      }
      val records = loaded.flatten
      // If a record and its mark were removed during the listing, the listing may have the record alone, and its
      // run would seem to be unpublished. So `_commits` is listed again.
      val isSure = records.forall(_.isDone)
      if (loaded.contains(None) || (!isSure && list() != now)) None
      else {
        val settled = checkpoint.toSeq.flatMap(_.settled)
        Some(CommitLog(
          now,
          checkpoint,
          records,
          new History(state.root, settled ++ records.filter(_.isSettled).map(_.known)),
          new Shadows(checkpoint.toSeq.flatMap(_.records) ++ records.map(_.known))))
      }
    }
  }

  private def status(known: KnownRecord, marked: Boolean): OpenRecord = {
    // A shadow needs no publish, so its run is done at once. For other runs, the content of the mark is checked:
    // the mark may be left from a run that had this number before the table was overwritten.
    val isDone = known.shadow.nonEmpty ||
      marked && (known.record == null || state.isDone(known.number))
    def hasConflict = known.changes.nonEmpty && state.hasConflict(known.number)
    OpenRecord(known, isDone, isDone && !hasConflict)
  }

  private def open(id: RecordId, done: Boolean): Option[KnownRecord] =
    Try(state.read(id.number)) match {
      case Success(r) => Some(KnownRecord(id.number, r))
      case Failure(_) if !list().records.contains(id -> done) => None
      // another error, such as a timeout, may pass, and a query must not go on as if the run did not exist
      // The log is in memory for all users of this process, so what one user may not read must not be missing in it: a
      // denial fails below.
      case Failure(e: ZOrderException) if done =>
        logWarning(s"passing over a finished record that cannot be read: ${e.getMessage}")
        Some(KnownRecord(id.number, null))
      case Failure(e) => state.readable(state.record(id.number))(_ => throw e)
    }

  private def idOf(s: FileStatus, number: Long): RecordId =
    RecordId(number, s.getLen, s.getModificationTime, Etags.of(s))
}

/** The records and the checkpoint that an earlier read has loaded. */
private final class SeenRecords(before: Option[CommitLog]) {
  private val records: Map[RecordId, OpenRecord] = before.toSeq.flatMap { log =>
    val open = log.open.map(o => o.known.number -> o).toMap
    log.ids.records.flatMap { case (id, _) => open.get(id.number).map(id -> _) }
  }.toMap

  def checkpoint(id: RecordId): Option[KnownCheckpoint] =
    before.flatMap(_.checkpoint).filter(_.id == id)

  /** The record, if the earlier read could read it. */
  def record(id: RecordId): Option[KnownRecord] =
    records.get(id).map(_.known).filter(_.record != null)

  /**
   * What the earlier read has found out about the run of a record. A run that is done stays done, and so does what
   * was found out about its files. Not so if its mark is gone: a backup or a snapshot of the table was restored, from
   * before the end of the run.
   */
  def state(id: RecordId, marked: Boolean): Option[OpenRecord] =
    records.get(id).filter(o =>
      o.known.record != null && (marked || !o.isDone || o.known.shadow.nonEmpty))
}
