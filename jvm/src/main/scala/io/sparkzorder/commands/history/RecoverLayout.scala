// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.sql.Timestamp

import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.{LongType, StringType, StructType, TimestampType}

import io.sparkzorder.commands.{TableAction, TableState}
import io.sparkzorder.log.Record
import io.sparkzorder.log.publish.Publisher
import io.sparkzorder.sources.WherePredicate
import io.sparkzorder.sources.plain.PublishedShadow
import io.sparkzorder.table.Target

/**
 * RECOVER LAYOUT: publishes the runs that were committed but not published. The command reads no row of a
 * data file and removes no retained file.
 *
 * @param abandon true to abandon these runs: where a run is not published, its input files are restored
 */
private[sparkzorder] final case class RecoverLayout(abandon: Boolean = false) extends TableAction {
  override def statement: String = "RECOVER LAYOUT"
  override def schema: StructType = RecoverLayout.schema
  override def description(target: Target): String =
    s"RecoverLayout ${target.name}" + (if (abandon) " ABANDON" else "")

  override def run(session: Session, target: Target): Seq[Row] = {
    val table = new TableState(session, target)
    table.checkPublishing()
    val runs = table.exchanging(
      if (abandon) new Publisher(table.state).abandonAll(session.sparkContext.sparkUser)
      else table.rollForward())
    def count(files: Record => Int): Long = runs.map(files(_).toLong).sum
    val added = count(_.changes.map(_.added.size).sum)
    val replaced = count(_.changes.map(_.replaced.size).sum)
    val (in, out) = if (abandon) (replaced, added) else (added, replaced)
    Seq(Row(table.root.toString, runs.size.toLong, in, out))
  }
}

private[sparkzorder] object RecoverLayout {

  /** `filesAdded` and `filesRemoved` count the files of the recovered runs. */
  private val schema: StructType = new StructType()
    .add("path", StringType, nullable = false)
    .add("runsRecovered", LongType, nullable = false)
    .add("filesAdded", LongType, nullable = false)
    .add("filesRemoved", LongType, nullable = false)
}

/**
 * PUBLISH LAYOUT: the files of a shadow take the place of those that they stand for, for every reader.
 *
 * @param where chooses partitions
 */
private[sparkzorder] final case class PublishLayout(where: Option[WherePredicate])
    extends TableAction {
  override def statement: String = "PUBLISH LAYOUT"
  override def schema: StructType = PublishLayout.schema
  override def description(target: Target): String =
    s"PublishLayout ${target.name}" + where.fold("")(w => s" WHERE $w")

  override def adviceOnOther(rollback: => Option[String]): Option[String] = {
    val _ = () => rollback
    Some("OPTIMIZE of such a table is a commit of its format, which every reader sees.")
  }

  override def run(session: Session, target: Target): Seq[Row] = {
    val table = new TableState(session, target)
    table.checkInPlace()
    val done = table.exchanging {
      table.rollForward()
      new PublishedShadow(table, where.map(_.condition)).run()
    }
    Seq(done match {
      case Some((millis, record)) => row(table.root.toString, millis, record)
      case None => Row(table.root.toString, 0L, 0L, 0L, 0L, 0L, 0L, null)
    })
  }

  private def row(path: String, millis: Long, record: Record): Row = {
    val (added, removed) = (record.changes.flatMap(_.added), record.changes.flatMap(_.replaced))
    Row(
      path,
      added.size.toLong,
      removed.size.toLong,
      added.map(_.length).sum,
      removed.map(_.length).sum,
      added.map(_.rows).sum,
      millis,
      new Timestamp(System.currentTimeMillis() + record.retainMs))
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
