// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.sql.Timestamp

import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types._

import io.sparkzorder.commands.{TableAction, TableState}
import io.sparkzorder.log.{Intents, Record, StateDirectory, TableLog}
import io.sparkzorder.log.publish.{RetainedFiles, Undo}
import io.sparkzorder.table.Target

/** SHOW LAYOUT HISTORY: the records of a table, the newest first. It changes nothing. */
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
    val rows = new HistoryRows(table.state, log)
    log.records.reverse.map { case (number, record) => rows.of(number, record) }
  }
}

/** What the records, and the files beside them, tell about each run. */
private[sparkzorder] final class HistoryRows(state: StateDirectory, log: TableLog) {
  private val noted = new Intents(state).runs()
  private val nextToUndo = log.inForce.headOption.map(_._1)

  def of(number: Long, r: Record): Row = {
    val removed = r.changes.flatMap(_.replaced)
    val added = r.changes.flatMap(_.added)
    val status = statusOf(number, r)
    val isNext = nextToUndo.contains(number)
    val keepers = if (isNext) Undo.keepers(state, r.run) else Seq(r.run)
    val keptBytes =
      keepers.filter(noted).map(RetainedFiles.bytesOf(state, r, _)).sum
    val expires = keptBytes > 0 && (status == "published" || status == "undone")
    Row(
      number,
      r.run,
      new Timestamp(r.createdMs),
      r.user,
      r.kind,
      r.columns,
      removed.size.toLong,
      added.size.toLong,
      removed.map(_.length).sum,
      added.map(_.length).sum,
      added.map(_.rows).sum,
      status,
      isNext && new Undo(state, number, r, keepers).obstacle.isEmpty,
      keptBytes,
      state.replacedSince(number, r).filter(_ => expires).map(t =>
        new Timestamp(t + r.retainMs)).orNull)
  }

  private def statusOf(number: Long, r: Record): String =
    if (r.kind == Record.Abandon) "abandoned"
    else if (!r.exchangesFiles) "aborted"
    else if (log.isAbandoned(r.run) && state.isDone(number)) "abandoned"
    else if (!state.isDone(number)) "committed, not published"
    else if (state.hasConflict(number)) "conflict"
    else if (log.isUndone(r.run)) "undone"
    else "published"

}
