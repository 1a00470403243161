// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.sql.Timestamp

import scala.util.{Failure, Success, Try}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.{LongType, StringType, StructType, TimestampType}

import io.sparkzorder.commands.{TableAction, TableState}
import io.sparkzorder.log.{FolderChange, FolderState, Record, RunFolder, StateDirectory, TableLog}
import io.sparkzorder.sources.WherePredicate
import io.sparkzorder.sources.plain.{LostRecords, PublishedShadow}
import io.sparkzorder.table.{TableLister, Target}
import io.sparkzorder.util.ManyFiles

/**
 * RECOVER LAYOUT: publishes the runs that were committed but not published, and ends the abandoning of those that an
 * earlier ABANDON gave up. The command reads no row of a data file and removes no retained file.
 *
 * @param abandon true to abandon these runs: where a run is not published, its input files are restored
 */
private[sparkzorder] final case class RecoverLayout(abandon: Boolean = false)
    extends TableAction
    with Logging {
  override def statement: String = "RECOVER LAYOUT"
  override def schema: StructType = RecoverLayout.schema
  override def description(target: Target): String =
    s"RecoverLayout ${target.name}" + (if (abandon) " ABANDON" else "")

  override def run(session: Session, target: Target): Seq[Row] = {
    val table = new TableState(session, target)
    table.checkPublishing()
    val runs = table.exchanging(
      if (abandon) table.abandonAll() else table.rollForward())
    checkLost(table)
    // without ABANDON, too, a run is abandoned if an earlier ABANDON died before its end
    val log = TableLog.read(table.state)
    val (abandoned, published) = runs.partition(r => log.isAbandoned(r.run))
    val takenBack = abandoned.flatMap(takenBackOf(table.state, _))
    val filesAdded = (takenBack.flatMap(_.replaced) ++ published.flatMap(_.added)).size.toLong
    val filesRemoved = (takenBack.flatMap(_.added) ++ published.flatMap(_.replaced)).size.toLong
    Seq(Row(table.root.toString, runs.size.toLong, filesAdded, filesRemoved))
  }

  /** The changes of an abandoned run, without those of folders in which the run stays published. */
  private def takenBackOf(state: StateDirectory, run: Record): Seq[FolderChange] = {
    // the run has ended, so an error must not fail the statement
    def isPublished(c: FolderChange) =
      Try(new RunFolder(state, run, c).folderState == FolderState.Published).getOrElse(false)
    ManyFiles.map(run.changes)(c => c -> isPublished(c)).collect { case (c, false) => c }
  }

  /**
   * Fails if some folder has a run whose record is lost. Such a run cannot be recovered, and the result row would not
   * show this. Called after the other runs were recovered.
   */
  private def checkLost(table: TableState): Unit =
    Try(new TableLister(table.user, table.target).list()) match {
      case Success(files) => new LostRecords(table.state).checkAll(files)
      case Failure(e) =>
        logWarning(
          s"folders of ${table.target.name} were not searched for runs without a record",
          e)
    }
}

private[sparkzorder] object RecoverLayout {

  /**
   * `filesAdded` and `filesRemoved` count all files of the recovered runs, also in folders where a run was published
   * before. In a folder of an abandoned run, the added files are the inputs that come back. Folders in which the run
   * stays published do not count.
   */
  private val schema: StructType = new StructType()
    .add("path", StringType, nullable = false)
    .add("runsRecovered", LongType, nullable = false)
    .add("filesAdded", LongType, nullable = false)
    .add("filesRemoved", LongType, nullable = false)
}

/**
 * PUBLISH LAYOUT: gives the files of shadows visible names and hides the old files, so that every reader reads the
 * new files, also without the extension.
 *
 * @param where chooses partitions
 */
private[sparkzorder] final case class PublishLayout(where: Option[WherePredicate])
    extends TableAction {
  override def statement: String = "PUBLISH LAYOUT"
  override def schema: StructType = PublishLayout.schema
  override def choosing(where: Option[Expression]): PublishLayout =
    copy(where.map(WherePredicate(_)))
  override def description(target: Target): String =
    s"PublishLayout ${target.name}" + where.fold("")(w => s" WHERE $w")

  override def adviceOnOther(rollback: => Option[String]): Option[String] =
    Some("OPTIMIZE of such a table is a commit of its format, which every reader sees.")

  override def run(session: Session, target: Target): Seq[Row] = {
    val table = new TableState(session, target)
    table.checkInPlace()
    val done = table.exchanging {
      table.rollForward()
      new PublishedShadow(table, where.map(_.condition)).run()
    }
    val path = table.root.toString
    Seq(done match {
      case Some((millis, record)) =>
        Row(
          path,
          record.added.size.toLong,
          record.replaced.size.toLong,
          record.added.map(_.length).sum,
          record.replaced.map(_.length).sum,
          record.added.map(_.rows).sum,
          millis,
          new Timestamp(System.currentTimeMillis() + record.retainMs))
      case None => Row(path, 0L, 0L, 0L, 0L, 0L, 0L, null)
    })
  }
}

private[sparkzorder] object PublishLayout {
  private val schema: StructType = new StructType()
    .add("path", StringType, nullable = false)
    .add("filesAdded", LongType, nullable = false)
    .add("filesRemoved", LongType, nullable = false)
    .add("bytesAdded", LongType, nullable = false)
    .add("bytesRemoved", LongType, nullable = false)
    .add("numRows", LongType, nullable = false)
    .add("publishMillis", LongType, nullable = false)
    .add("retainedUntil", TimestampType)
}
