// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.{LongType, StringType, StructType}

import io.sparkzorder.commands.{TableAction, TableState}
import io.sparkzorder.log.Record
import io.sparkzorder.log.publish.Publisher
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
