// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.sql.Timestamp

import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types._

import io.sparkzorder.commands.{TableAction, TableState}
import io.sparkzorder.log.{FolderChange, Intents, Record, StateDirectory, TableLog}
import io.sparkzorder.log.publish.{RetainedFiles, Undo}
import io.sparkzorder.snapshot.Shadowed
import io.sparkzorder.table.{TableFiles, TableLister, Target}
import io.sparkzorder.util.Directories

/**
 * SHOW LAYOUT HISTORY: the records of a table, the newest first. Changes nothing. `retainedUntil` is NULL if nothing is
 * kept, or if what is kept does not expire.
 */
private[sparkzorder] case object ShowLayoutHistory extends TableAction {
  override def statement: String = "SHOW LAYOUT HISTORY"
  override def description(target: Target): String = s"ShowLayoutHistory ${target.name}"

  override val schema: StructType = new StructType()
    .add("number", LongType, nullable = false)
    .add("run", StringType, nullable = false)
    .add("time", TimestampType, nullable = false)
    .add("user", StringType, nullable = false)
    .add("operation", StringType, nullable = false)
    .add("columns", ArrayType(StringType, containsNull = false), nullable = false)
    .add("filesRemoved", LongType, nullable = false)
    .add("filesAdded", LongType, nullable = false)
    .add("bytesRemoved", LongType, nullable = false)
    .add("bytesAdded", LongType, nullable = false)
    .add("numRows", LongType, nullable = false)
    .add("status", StringType, nullable = false)
    .add("undoPossible", BooleanType, nullable = false)
    .add("retainedBytes", LongType, nullable = false)
    .add("retainedUntil", TimestampType)

  override def run(session: Session, target: Target): Seq[Row] = {
    val table = new TableState(session, target)
    table.check()
    val log = TableLog.read(table.state)
    def visible = new TableLister(session, table.target).list()
    val rows = new HistoryRows(table.state, log, visible)
    log.records.reverse.map { case (number, record) => rows.of(number, record) }
  }
}

/**
 * The rows of SHOW LAYOUT HISTORY, from the records and from the files that runs keep.
 *
 * @param visible the visible files of the table; listed only if a shadow may be in force
 */
private[sparkzorder] final class HistoryRows(
    state: StateDirectory,
    log: TableLog,
    visible: => TableFiles) {

  /** For each run whose shadow is inert in some folder, the first file that was changed or removed. */
  private lazy val inert: Map[String, String] = Shadowed.inert(state, log.shadows, visible)

  private val withIntent = new Intents(state).runs()
  private val nextToUndo = log.inForce.headOption.map(_._1)

  def of(number: Long, r: Record): Row = {
    val isNext = nextToUndo.contains(number)
    if (r.makesShadow) shadowRow(number, r, isNext) else renamedRow(number, r, isNext)
  }

  private def shadowRow(number: Long, r: Record, isNext: Boolean): Row = {
    val isAbandoned = log.isAbandoned(r.run)
    val isPublished = !isAbandoned && unpublished(r).isEmpty
    val isUndone = log.isUndone(r.run)
    val problem = if (isAbandoned || isPublished || isUndone) None else inert.get(r.run)
    val status =
      if (isAbandoned) "abandoned"
      else if (isPublished) "published"
      else if (isUndone) "undone"
      else problem.fold("shadow")(file => s"inert: $file was changed or removed")
    row(number, r, status, isNext, hiddenBytes(r), None)
  }

  /**
   * The bytes of the hidden files of a shadow, by the lengths in the record. If the intent of the run is gone, a
   * clean-up has removed its hidden files. Files whose deletion a record announces do not count, nor files that PUBLISH
   * LAYOUT has moved.
   */
  private def hiddenBytes(r: Record): Long =
    if (!withIntent(r.run)) 0L
    else {
      unpublished(r).flatMap(c =>
        c.added.filterNot(a =>
          log.shadows.isExpired(r.run, c.folder, a.name) || log.shadows.isMoved(c.folder, a.name))
          .map(_.length)).sum
    }

  /** The changes of a shadow in those folders in which PUBLISH LAYOUT has not given its files visible names. */
  private def unpublished(r: Record): Seq[FolderChange] =
    r.changes.filterNot(c => log.shadows.isPublished(r.run, c.folder))

  private def renamedRow(number: Long, r: Record, isNext: Boolean): Row = {
    val status = statusOf(number, r)
    val keepers = if (isNext) Undo.keepers(state, r.run) else Seq(r.run)
    val keptBytes = keepers.filter(withIntent).map(RetainedFiles.bytesOf(state, r, _)).sum
    val expires = keptBytes > 0 && (status == "published" || status == "undone")
    row(
      number,
      r,
      status,
      isNext && isUndoable(number, r, keepers),
      keptBytes,
      state.replacedSince(number, r).filter(_ => expires).map(_ + r.retainMs))
  }

  private def isUndoable(number: Long, r: Record, keepers: Seq[String]): Boolean =
    try new Undo(state, number, r, keepers).obstacle.isEmpty
    catch { case e if Directories.isDenied(e) => false }

  private def row(
      number: Long,
      r: Record,
      status: String,
      undoPossible: Boolean,
      keptBytes: Long,
      keptUntilMs: Option[Long]): Row =
    Row(
      number,
      r.run,
      new Timestamp(r.createdMs),
      r.user,
      r.kind,
      r.columns,
      r.replaced.size.toLong,
      r.added.size.toLong,
      r.replaced.map(_.length).sum,
      r.added.map(_.length).sum,
      r.added.map(_.rows).sum,
      status,
      undoPossible,
      keptBytes,
      keptUntilMs.map(new Timestamp(_)).orNull)

  private def statusOf(number: Long, r: Record): String =
    if (r.kind == Record.Abandon) "abandoned"
    else if (r.kind == Record.Expired) "expired"
    else if (!r.exchangesFiles) "aborted"
    else if (log.isAbandoned(r.run) && state.isDone(number)) "abandoned"
    else if (!state.isDone(number)) "committed, not published"
    else if (state.hasConflict(number)) "conflict"
    else if (log.isUndone(r.run)) "undone"
    else "published"
}
