// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.util.concurrent.ConcurrentHashMap

/**
 * A committed record in the memory of a reader, with what the reader has found out about its files. A
 * record never changes, so it is read once.
 *
 * @param record null for a record that cannot be read, but has a mark that its run is done
 * @param changes empty for a record that ends a dead run, and for a record that cannot be read
 */
private[sparkzorder] final class KnownRecord(
    val number: Long,
    val record: Record,
    val changes: Seq[FolderChange]) {

  /** The changes of a run in shadow mode; empty for any other run. */
  val shadow: Seq[FolderChange] = if (record != null && record.makesShadow) record.changes else Nil

  private val gone = ConcurrentHashMap.newKeySet[(String, String)]()

  /**
   * True when an earlier read has found a file of this run, by its folder and name, nowhere in the table.
   */
  def isGone(folder: String, name: String): Boolean = gone.contains(folder -> name)

  /**
   * Remembers that a file was found nowhere, so that later reads do not search the whole table for it
   * again.
   */
  def markGone(folder: String, name: String): Unit = gone.add(folder -> name)

  private val places = new ConcurrentHashMap[String, String]

  /** Where a folder of this run was seen last, if another program has moved the folder. */
  def movedTo(folder: String): Option[String] = Option(places.get(folder))

  def markMoved(folder: String, to: String): Unit = {
    val _ = places.put(folder, to)
  }
}

private[sparkzorder] object KnownRecord {

  /** A record from a checkpoint, with all files that its run and earlier runs have replaced. */
  def apply(entry: CheckpointEntry): KnownRecord = {
    val known = KnownRecord(entry.number, entry.record)
    val past = entry.past.map(p =>
      p.folder -> p.files.map(f => Replaced(f.name, f.length, f.modified, ""))).toMap
    new KnownRecord(
      known.number,
      known.record,
      known.changes.map(c => c.copy(replaced = c.replaced ++ past.getOrElse(c.folder, Nil))))
  }

  def apply(number: Long, record: Record): KnownRecord =
    new KnownRecord(
      number,
      record,
      if (record != null && record.exchangesFiles) Option(record.changes).getOrElse(Nil) else Nil)

  /** True for a run that met a conflict, which gives files back. */
  def mayComeBack(known: KnownRecord, hasConflict: Long => Boolean): Boolean =
    known.record != null && known.changes.nonEmpty && hasConflict(known.number)
}

/** A checkpoint in the memory of a reader. */
private[sparkzorder] final class KnownCheckpoint(val id: RecordId, val content: Checkpoint) {
  private def known(entries: Seq[CheckpointEntry]) =
    entries.map(KnownRecord(_))

  /** The runs that were published without a conflict. */
  val settled: Seq[KnownRecord] = known(content.records.filterNot(_.conflict))

  /** Runs that met a conflict. */
  val conflicts: Seq[OpenRecord] =
    known(content.records.filter(_.conflict)).map(OpenRecord(_, isDone = true, isSettled = false))
}

/** The number of a record or of a checkpoint, and the identity of its file. */
private[sparkzorder] final case class RecordId(
    number: Long,
    length: Long,
    modified: Long,
    etag: String)

/**
 * The files of `_commits`, each ascending by number. If the files of two logs are equal, the logs are
 * equal.
 *
 * @param records the records, and for each whether there is a mark that its run is published
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
  def doneMark(number: Long): String = s"_${number}_done"

  /** True for the name of a file that [[LogFiles]] contains. */
  def isRelevant(name: String): Boolean = name.startsWith("_") && {
    val number = name.stripPrefix("_checkpoint").drop(1).stripSuffix("_done")
    number.nonEmpty && number.forall(_.isDigit)
  }
}

/**
 * A record after the checkpoint.
 *
 * @param isDone true when no process has to publish the run any more
 * @param isSettled true when the run is done without a conflict. A run with a conflict is never settled: a
 *   listing of any age may lack files that the run hid and has given back since
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

  /** Number of the last record that the checkpoint covers, 0 without any. */
  def upTo: Long = checkpoint.fold(0L)(_.id.number)

  /** Number of the newest record, 0 when there is none. */
  def last: Long = open.lastOption.fold(upTo)(_.known.number)

  /** True when a run has a mark that it is published, but is not done. */
  def hasIncompleteMark: Boolean = {
    val marked = ids.records.collect { case (id, true) => id.number }.toSet
    open.exists(o => !o.isDone && marked(o.known.number))
  }

  /** The runs that are committed and not published, or met a conflict. */
  val pending: Seq[OpenRecord] =
    (checkpoint.toSeq.flatMap(_.conflicts) ++ open.filterNot(_.isSettled))
      .filter(_.known.changes.nonEmpty)

  /** True when every run is published, without a conflict. */
  def isSettled: Boolean = pending.isEmpty
}
