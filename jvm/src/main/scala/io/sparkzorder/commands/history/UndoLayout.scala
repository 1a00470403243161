package io.sparkzorder.commands.history

import java.sql.Timestamp

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.{LongType, StringType, StructType, TimestampType}

import io.sparkzorder.commands.TargetAction
import io.sparkzorder.log.Record
import io.sparkzorder.table.Target

/** UNDO LAYOUT: puts the inputs of the last run back. */
case object UndoLayout extends TargetAction {
  override def statement: String = "UNDO LAYOUT"
  override def command(target: Target): LogicalPlan = UndoLayoutCommand(target)

  /** Columns of the result. */
  val schema: StructType = new StructType()
    .add("path", StringType, nullable = false)
    .add("runUndone", StringType, nullable = false)
    .add("filesAdded", LongType, nullable = false)
    .add("filesRemoved", LongType, nullable = false)
    .add("bytesAdded", LongType, nullable = false)
    .add("bytesRemoved", LongType, nullable = false)
    .add("numRows", LongType, nullable = false)
    .add("retainedUntil", TimestampType, nullable = false)

  /** @param record of the undo */
  private[sparkzorder] def row(path: String, record: Record, retainedUntilMs: Long): Row = {
    val added = record.changes.flatMap(_.added)
    val removed = record.changes.flatMap(_.replaced)
    Row(
      path,
      record.undone.get,
      added.size.toLong,
      removed.size.toLong,
      added.map(_.length).sum,
      removed.map(_.length).sum,
      added.map(_.rows).sum,
      new Timestamp(retainedUntilMs))
  }
}

/** UNDO LAYOUT of a known target; see [[UndoRun]] for what it does. */
final case class UndoLayoutCommand(target: Target) extends LeafRunnableCommand {

  override lazy val output: Seq[Attribute] = DataTypeUtils.toAttributes(UndoLayout.schema)

  override def simpleString(maxFields: Int): String = s"UndoLayout ${target.name}"

  override def run(session: SparkSession): Seq[Row] =
    Seq(new UndoRun(SparkLine.session(session), target).run())
}
