// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import java.time.Instant

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.commands.{Phases, TableState, WhereClause}
import io.sparkzorder.commands.auto.{ClusteringSpec, RecentChange}
import io.sparkzorder.conf.Settings
import io.sparkzorder.log.{Record, TableLog}
import io.sparkzorder.log.publish.{Checkpoints, Leftovers, Retention}
import io.sparkzorder.ordered.DeclaredOrder
import io.sparkzorder.snapshot.ShadowUse
import io.sparkzorder.sources.{
  BatchPlan,
  FormatFile,
  LastLayout,
  LayoutTag,
  Rewritten,
  Statement,
  TableFormat,
  TableListing
}
import io.sparkzorder.table.{TableFiles, WrittenName}
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.Directories

/**
 * A table of Parquet or ORC files in directories: its list of files is the listing of the directories
 * and our log beside them.
 *
 * @param into the directory of INTO
 */
private[sparkzorder] final class PlainFormat(table: TableState, into: Option[String])
    extends TableFormat {
  private val recovery = new Recovery(table, System.currentTimeMillis())
  private val committer: PlainCommitter = into match {
    case Some(directory) => new Into(table, directory, recovery)
    case None if table.isShadowed => new Beside(table, recovery)
    case None => new InPlace(table, recovery)
  }

  override def name: String = table.target.name
  override def location: String = table.root.toString
  override def properties: Map[String, String] = table.target.properties
  override def isCopy: Boolean = into.isDefined
  override def isRecordedByIndex: Boolean = true
  override def resultPath: String = committer.path

  // the state of the table was made with the same OPTIONS
  override def settings(user: Session, options: Map[String, String]): Settings = table.settings

  override def lastLayout: Option[LastLayout] = {
    val log = TableLog.read(table.state)
    log.layouts.headOption.orElse(log.inForce.headOption.map(_._2)).map { r =>
      val columns = r.columns.map(c => Try(WrittenName.parts(c)).getOrElse(Seq(c)))
      LastLayout(columns, r.targetFileSize, r.columnWeights, r.layoutSinceMs)
    }
  }

  override def daysSinceChange(bytes: Long): Option[Long] = {
    val log = TableLog.read(table.state)
    val undos = log.all.map(_._2).filter(r => r.kind == Record.Undo && !log.isAbandoned(r.run))
    RecentChange.of(log.layouts, undos, bytes, System.currentTimeMillis())
  }

  override def isAuto: Boolean = table.target.tables.exists(DeclaredOrder.isAuto)

  /** Without a declared order, the table is compacted. */
  override def orderWithoutLayout(statement: Statement): ClusteringSpec =
    ClusteringSpec(
      table.target.tables.flatMap(DeclaredOrder.of(_)).headOption.toSeq.flatMap(_.columns))

  override def check(statement: Statement): Unit = {
    statement.where.foreach(WhereClause.check(_, name))
    committer.check()
  }

  override def isBehind: Boolean = recovery.isNeeded
  override def recover(): Unit = recovery.run()

  override def list(statement: Statement): TableListing =
    new PlainListing(table, committer, statement)

  override def abandon(cause: Throwable): Unit = committer.abandon(cause)
}

/** Publishes runs that died after their commit, and removes what expired. The table is listed afterwards. */
private[plain] final class Recovery(table: TableState, startMs: Long) extends Logging {
  private var last = 0L

  /** The number of the last record when [[run]] began; 0 without records. Later records are checked for conflicts. */
  def lastAtStart: Long = last

  /** True when a run was committed and is not published yet. */
  def isNeeded: Boolean = TableLog.read(table.state).unfinished.nonEmpty

  /**
   * Publishes committed runs. INTO needs this, too: in a half-published table, some rows are in hidden files.
   */
  def run(): Unit = {
    val log = TableLog.read(table.state)
    if (log.unfinished.nonEmpty) table.exchanging(table.rollForward())
    else table.rollForward()
    last = log.last
    try logOtherRuns()
    catch { case NonFatal(e) => logWarning(s"other runs on ${table.target.name} are not known", e) }
  }

  /**
   * Deletes retained files whose time is over, and the files of records that nothing needs any more. The statement has
   * committed already. So it is no error if this user may not delete some of these files, such as those in a partition
   * of another user. A later run of a user who may delete them does so.
   */
  def removeExpired(): Unit = {
    ifAllowed(new Retention(table.state).removeExpired(startMs))
    ifAllowed(new Checkpoints(table.state, startMs).writeIfDue())
  }

  /** Deletes retained files whose time is over now. */
  def free(): Unit = ifAllowed(new Retention(table.state).removeExpired(System.currentTimeMillis()))

  private def ifAllowed(cleanUp: => Unit): Unit =
    try cleanUp
    catch {
      case e if Directories.isDenied(e) =>
        logWarning(
          s"replaced files of ${table.target.name} stay, because this user may not clean up: $e")
    }

  /** Logs which other runs are under way, or have died. */
  private def logOtherRuns(): Unit = {
    val leftovers = new Leftovers(table.state, startMs)
    val name = table.target.name
    leftovers.uncommitted.foreach { l =>
      if (l.kind.stays) {
        logWarning(
          s"run ${l.run} on $name has replaced files and no record, so its files stay: ${l.path}")
      } else if (leftovers.isOver(l, table.settings(Settings.Retention))) {
        logInfo(s"run ${l.run} on $name died; VACUUM LAYOUT removes its files: ${l.path}")
      } else {
        logWarning(s"another run is under way on $name, or died a short while ago: " +
          s"${l.run}, ${l.files} files written, the last at ${Instant.ofEpochMilli(l.sinceMs)}. " +
          "When both rewrite the same files, the one that commits first wins.")
      }
    }
  }
}

/**
 * Where the rewritten files of a plain table go, and how readers come to see them: [[InPlace]] of their
 * inputs, [[Beside]] them, or [[Into]] another directory. The methods are called in the order in which they
 * stand here.
 */
private[plain] trait PlainCommitter {

  /** The directory that the result row names. */
  def path: String

  /** Which hidden files of shadows are listed among the files that the run may replace. */
  def listing: ShadowUse = ShadowUse.Off

  /**
   * True if a folder larger than a batch may be laid out in two passes. Between the passes, the folder is half laid
   * out, and a later run may continue.
   */
  def allowsTwoPasses: Boolean = false

  /** Parts of a sentence that the committer adds to the reason in the result row. */
  def remarks: Seq[String] = Nil

  /** Refuses a target that must not be touched, before anything is listed. */
  def check(): Unit

  /** Refuses a WHERE clause that the committer cannot follow. */
  def checkWhere(where: WhereClause, files: TableFiles): Unit

  /** Refuses files that must not be touched. */
  def checkListed(files: TableFiles): Unit

  /**
   * Refuses to begin where the result cannot be written or has no room.
   *
   * @param bytes the free bytes that the run needs at once
   */
  def checkRoom(files: Seq[ScannedFile], bytes: Long): Unit

  /** Writes and commits one batch, see [[io.sparkzorder.sources.FormatRows.replace]]. */
  def replace(rows: PlainRows, plan: BatchPlan, layout: LayoutTag, phases: Phases)(
      guard: IndexedSeq[FormatFile] => Unit): Rewritten

  /** Removes replaced files whose time is over, between two batches. */
  def free(phases: Phases): Unit = ()

  /**
   * Ends the statement after all batches.
   *
   * @param added footers of the new files
   */
  def finish(inputs: PlainInputs, added: Seq[ScannedFile], phases: Phases): Unit

  /** Cleans up after a failure. Errors of the clean-up are added to `cause`. */
  def abandon(cause: Throwable): Unit
}
