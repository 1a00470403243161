// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.sql.Timestamp
import java.util.UUID

import scala.annotation.tailrec
import scala.util.{Success, Try}
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.{LongType, StringType, StructType, TimestampType}

import io.sparkzorder.commands.{TableAction, TableState}
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.index.IndexUpdate
import io.sparkzorder.log.{ChangeCopy, Intent, Record, TableLog}
import io.sparkzorder.log.publish.{Cleanup, Committer, Markers, Undo, UndoClaim}
import io.sparkzorder.sources.plain.TrustedStores
import io.sparkzorder.table.{DataFile, Target}
import io.sparkzorder.table.stats.FooterReader
import io.sparkzorder.util.Durable

/** UNDO LAYOUT: puts back the files that the last run in force replaced. */
private[sparkzorder] case object UndoLayout extends TableAction {
  override def statement: String = "UNDO LAYOUT"
  override def description(target: Target): String = s"UndoLayout ${target.name}"

  override val schema: StructType = new StructType()
    .add("path", StringType, nullable = false)
    .add("runUndone", StringType, nullable = false)
    .add("filesAdded", LongType, nullable = false)
    .add("filesRemoved", LongType, nullable = false)
    .add("bytesAdded", LongType, nullable = false)
    .add("bytesRemoved", LongType, nullable = false)
    .add("numRows", LongType, nullable = false)
    .add("retainedUntil", TimestampType, nullable = false)

  /**
   * @param added the lengths of the files that come back
   * @param removed the lengths of the files that go
   * @param retainMs how long VACUUM LAYOUT keeps the files that go, counted from now
   */
  private[history] def row(
      path: String,
      undone: String,
      added: Seq[Long],
      removed: Seq[Long],
      rows: Long,
      retainMs: Long): Row =
    Row(
      path,
      undone,
      added.size.toLong,
      removed.size.toLong,
      added.sum,
      removed.sum,
      rows,
      new Timestamp(System.currentTimeMillis() + retainMs))

  override def adviceOnOther(rollback: => Option[String]): Option[String] = Some(
    rollback.fold("Its history has no run of OPTIMIZE that could be taken back.")(statement =>
      s"Take the last run back by $statement"))

  override def run(session: Session, target: Target): Seq[Row] =
    Seq(new UndoExecutor(session, target).run())
}

/**
 * One UNDO LAYOUT. Claims the kept files that the last run replaced. Then commits a record that exchanges the files
 * of the last run for the kept files, and publishes this record like the record of any other run. The undo of a shadow
 * is a record alone.
 */
private[sparkzorder] final class UndoExecutor(session: Session, target: Target) extends Logging {
  private val table = new TableState(session, target)
  private val user = session.sparkContext.sparkUser
  private val runId = UUID.randomUUID().toString
  private lazy val state = table.state

  def run(): Row = {
    table.check()
    val retainMs = table.settings(Settings.Retention)
    val (_, last) = toUndo(TableLog.read(state))
    if (last.makesShadow) table.exchanging(abandon(last))
    else {
      table.checkInPlace()
      table.exchanging(undo(retainMs))
    }
  }

  /**
   * Undoes a run in shadow mode by a record of the kind `abandon`. No file is moved, because the old files are still
   * in their places.
   */
  private def abandon(shadow: Record): Row = {
    TrustedStores.require(target.name, state)
    val marker = Record.marker(Record.Abandon, shadow.run, user)
    // a run that was committed meanwhile may build on the shadow
    def isTooLate(now: TableLog) = !now.inForce.headOption.exists(_._2.run == shadow.run)
    if (!Markers.commit(state, marker)(isTooLate)) throw conflict(shadow)
    logInfo(s"the shadow of run ${shadow.run} on ${target.name} is abandoned")
    UndoLayout.row(
      table.root.toString,
      shadow.run,
      added = shadow.replaced.map(_.length),
      removed = shadow.added.map(_.length),
      shadow.added.map(_.rows).sum,
      // VACUUM LAYOUT counts the retention of the shadow from this marker on
      shadow.retainMs)
  }

  private def undo(retainMs: Long): Row = {
    refuseEarly()
    table.rollForward()
    val log = TableLog.read(state)
    val (number, undone) = toUndo(log)
    // another statement may have committed a shadow since this statement began
    if (undone.makesShadow) abandon(undone) else undo(log, number, undone, retainMs)
  }

  private def undo(log: TableLog, number: Long, undone: Record, retainMs: Long): Row = {
    val rows = rowsOf(number, undone)
    val folders = undone.changes.map(_.folder)
    val claim = new UndoClaim(state, undone.run, runId, user)
    try {
      def claimed = new Undo(state, number, undone, Seq(runId))
      if (!claim.take(folders, () => claimed.obstacle.isEmpty)) throw conflict(undone)
      val record = recordOf(log, claimed, undone, rows, retainMs)
      record.changes.foreach(ChangeCopy.write(state, record, _))
      Durable.directories(state.fs, folders.map(state.own(_, runId)))
      val committed = new Committer(state, target.name)
        .commit(record, () => requirePossible(claimed), log.last)
      logInfo(s"undo of run ${undone.run} on ${target.name} committed as record $committed")
      table.publish(committed, record)
      // the undo is done: an error would make the user repeat the statement, and so undo one run more
      try claim.settle()
      catch { case NonFatal(e) => logWarning("what other undos have left could not be removed", e) }
      IndexUpdate.recovered(session, state, Seq(record), target)
      UndoLayout.row(
        table.root.toString,
        undone.run,
        added = record.added.map(_.length),
        removed = record.replaced.map(_.length),
        record.added.map(_.rows).sum,
        retainMs)
    } catch {
      case t: Throwable =>
        // After the commit the claimed files belong to the table, and the next run publishes them. If the commit record
        // is gone, `discard` finds the files that the undo has replaced, which prove the commit, and changes nothing.
        if (!holds(_.commitOf(runId).isDefined)) {
          try new Cleanup(state, user).discard(Intent(runId, folders, Some(undone.run)))
          catch { case NonFatal(e) => t.addSuppressed(e) }
        }
        // Another undo may have aborted this run and taken the claimed files. Then the error is only a consequence, so
        // the conflict is reported.
        val isAborted = Try(TableLog.read(state).isAborted(runId)).getOrElse(false)
        throw (if (isAborted) conflict(undone) else t)
    }
  }

  /**
   * Refuses an impossible undo before unfinished runs are published, so that the refused statement changes nothing. The
   * check is skipped if an unfinished run changes a folder of the run to undo, or is that run itself: the files of such
   * a folder are known only after the publish.
   */
  private def refuseEarly(): Unit = {
    val log = TableLog.read(state)
    val (number, last) = toUndo(log)
    val open = log.unfinished.flatMap(_._2.changes.map(_.folder)).toSet
    if (open.nonEmpty && !last.changes.exists(c => open(c.folder))) {
      val _ = rowsOf(number, last)
    }
  }

  /** The run that is undone, with the number of its record: the last run in force. */
  private def toUndo(log: TableLog): (Long, Record) = {
    val (number, last) =
      log.inForce.headOption.getOrElse(throw ZOrderErrors.nothingToUndo(target.name))
    // a checkpoint has reduced the record, because no file that the run replaced is kept
    if (!log.records.exists(_._1 == number)) refuse(last, Undo.NotRetained)
    number -> last
  }

  /**
   * The number of rows of each kept file, by folder and hidden name. The numbers are read from the footers, which also
   * proves that the files can still be read. Refuses the undo if it is impossible, and changes nothing. Looks again if
   * another undo has moved the kept files meanwhile, or may be about to move them.
   */
  @tailrec
  private def rowsOf(
      number: Long,
      undone: Record,
      left: Int = UndoExecutor.Looks): Map[(String, String), Long] = {
    val keepers = Undo.keepers(state, undone.run)
    val undo = new Undo(state, number, undone, keepers)
    val found = undo.obstacle
    val rows = if (found.isEmpty) Try(rowsOf(undo)) else Success(Map.empty[(String, String), Long])
    if (found.isEmpty && rows.isSuccess) {
      checkRows(undone, rows.get)
      rows.get
    } else if (Undo.keepers(state, undone.run) != keepers) rowsOf(number, undone, left)
    else if (keepers.size > 1 && left > 0 && !undo.isAbandoned && !TableLog.read(state).isUndone(
        undone.run)) {
      Thread.sleep(UndoExecutor.PauseMs)
      rowsOf(number, undone, left - 1)
    }
    // another undo has renamed the kept files while their footers were read
    else if (rows.isFailure && TableLog.read(state).isUndone(undone.run)) throw conflict(undone)
    else found.fold(rows.get)(refuse(undone, _))
  }

  private def rowsOf(undo: Undo): Map[(String, String), Long] = {
    val (names, files) = undo.keptFiles.unzip
    val footers = FooterReader.read(files.map(DataFile.alone), table.conf, target.format)
    names.zip(footers.map(_.rows)).toMap
  }

  private def checkRows(undone: Record, rows: Map[(String, String), Long]): Unit =
    undone.changes.foreach { c =>
      val (before, after) =
        (c.replaced.map(r => rows((c.folder, r.retained))).sum, c.added.map(_.rows).sum)
      if (before != after) {
        refuse(undone, s"the files that it replaced hold $before rows, but it wrote $after rows")
      }
    }

  private def recordOf(
      log: TableLog,
      undo: Undo,
      undone: Record,
      rows: Map[(String, String), Long],
      retainMs: Long): Record = {
    requirePossible(undo)
    Record(
      Record.Version,
      Record.Undo,
      runId,
      System.currentTimeMillis(),
      user,
      log.layoutsWithout(undone.run).headOption.fold(Seq.empty[String])(_.columns),
      retainMs,
      undo.changes(rows),
      undone = Some(undone.run),
      suffix = undone.suffix)
  }

  /** Refuses the commit if a file was changed since the undo claimed the kept files. */
  private def requirePossible(undo: Undo): Unit =
    undo.obstacle.foreach(p => throw ZOrderErrors.conflict(target.name, p))

  /** Refuses the undo, or reports a conflict if another undo of the same run was committed first. */
  private def refuse(undone: Record, problem: String): Nothing =
    throw (
      if (TableLog.read(state).isUndone(undone.run)) conflict(undone)
      else ZOrderErrors.undoRefused(target.name, undone.run, problem)
    )

  private def conflict(undone: Record): Throwable =
    ZOrderErrors.conflict(
      target.name,
      s"another UNDO LAYOUT of run ${undone.run}, or a later run, was committed first")

  /**
   * True if the present records satisfy a condition. Also true if the records cannot be read: then the undo may be
   * committed, and the claimed files must not be given back.
   */
  private def holds(condition: TableLog => Boolean): Boolean =
    try condition(TableLog.read(state))
    catch { case NonFatal(_) => true }
}

private object UndoExecutor {
  val Looks = 20
  val PauseMs = 50L
}
