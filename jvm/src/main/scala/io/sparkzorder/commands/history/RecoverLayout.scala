package io.sparkzorder.commands.history

import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.{LongType, StringType, StructType}

import io.sparkzorder.commands.{TableAction, TableState}
import io.sparkzorder.table.Target

/**
 * RECOVER LAYOUT: publishes the runs that were committed but not published. The command reads no
 * row of a data file and removes no retained file.
 */
case object RecoverLayout extends TableAction {
  override def statement: String = "RECOVER LAYOUT"
  override def description(target: Target): String = s"RecoverLayout ${target.name}"

  /** `filesAdded` and `filesRemoved` count the files of the recovered runs. */
  override val schema: StructType = new StructType()
    .add("path", StringType, nullable = false)
    .add("runsRecovered", LongType, nullable = false)
    .add("filesAdded", LongType, nullable = false)
    .add("filesRemoved", LongType, nullable = false)

  override def run(session: Session, target: Target): Seq[Row] = {
    val table = new TableState(session, target)
    table.checkInPlace()
    val runs = table.exchanging(table.rollForward())
    val changes = runs.flatMap(_.changes)
    Seq(
      Row(
        table.root.toString,
        runs.size.toLong,
        changes.map(_.added.size.toLong).sum,
        changes.map(_.replaced.size.toLong).sum))
  }
}
