package io.sparkzorder.commands.history

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.{LongType, StringType, StructType}

import io.sparkzorder.commands.{TableState, TargetAction}
import io.sparkzorder.table.Target

/** RECOVER LAYOUT: publishes what was committed and not published. */
case object RecoverLayout extends TargetAction {
  override def statement: String = "RECOVER LAYOUT"
  override def command(target: Target): LogicalPlan = RecoverLayoutCommand(target)

  /** Columns of the result; the numbers of files are those of the recovered runs. */
  val schema: StructType = new StructType()
    .add("path", StringType, nullable = false)
    .add("runsRecovered", LongType, nullable = false)
    .add("filesAdded", LongType, nullable = false)
    .add("filesRemoved", LongType, nullable = false)
}

/** RECOVER LAYOUT of a known target. It reads no row of a data file and removes no retained file. */
final case class RecoverLayoutCommand(target: Target) extends LeafRunnableCommand {

  override lazy val output: Seq[Attribute] = DataTypeUtils.toAttributes(RecoverLayout.schema)

  override def simpleString(maxFields: Int): String = s"RecoverLayout ${target.name}"

  override def run(session: SparkSession): Seq[Row] = {
    val table = new TableState(SparkLine.session(session), target)
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
