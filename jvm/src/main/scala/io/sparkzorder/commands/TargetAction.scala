package io.sparkzorder.commands

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.table.Target

/**
 * What a statement does with the table that it names: all of the statement but its target. It is
 * neither a plan nor an expression, so the analyzer does not look inside.
 */
trait TargetAction {

  /** The statement's name in messages, such as UNDO LAYOUT. */
  def statement: String

  /** The command, as soon as the target is known; nothing is read or checked before it runs. */
  def command(target: Target): LogicalPlan

  /**
   * The command for a table of another kind of catalog; None where the statement refuses such tables.
   *
   * @param name of the table, its catalog included, quoted as SQL has it
   * @param format such as `delta` or `iceberg`
   */
  def commandOnOther(name: String, format: String): Option[LogicalPlan] = None
}

/** An action that takes tables of the session catalog and paths only. */
trait TableAction extends TargetAction {

  /** Columns of the result, as the SQL reference documents them. */
  def schema: StructType

  def run(session: Session, target: Target): Seq[Row]

  /** What EXPLAIN shows. */
  def description(target: Target): String

  override def command(target: Target): LogicalPlan = TableCommand(target, this)
}

/** An action on a known target. EXPLAIN shows it and runs nothing. */
final case class TableCommand(target: Target, action: TableAction) extends LeafRunnableCommand {
  override lazy val output: Seq[Attribute] = DataTypeUtils.toAttributes(action.schema)
  override def simpleString(maxFields: Int): String = action.description(target)
  override def run(session: SparkSession): Seq[Row] =
    action.run(SparkLine.session(session), target)
}
