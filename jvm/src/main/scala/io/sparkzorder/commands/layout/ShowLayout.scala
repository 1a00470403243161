package io.sparkzorder.commands.layout

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.commands.TargetAction
import io.sparkzorder.table.Target

/**
 * SHOW LAYOUT of any target.
 *
 * @param columns name parts of FOR; empty without
 */
final case class ShowLayout(columns: Seq[Seq[String]]) extends TargetAction {
  override def statement: String = "SHOW LAYOUT"

  override def command(target: Target): LogicalPlan =
    ShowLayoutCommand(OwnTable(target), columns)

  override def commandOnOther(name: String, format: String): Option[LogicalPlan] =
    Some(ShowLayoutCommand(OtherTable(name, format), columns))
}

/** What SHOW LAYOUT looks at. */
sealed trait LayoutSource {
  def name: String
}

/** A directory, or a table of the session catalog. */
final case class OwnTable(target: Target) extends LayoutSource {
  override def name: String = target.name
}

/** A table of another kind of catalog, by its quoted name and its format. */
final case class OtherTable(name: String, format: String) extends LayoutSource

/**
 * SHOW LAYOUT of a known target; it writes nothing.
 *
 * @see [[ShowLayoutRun]] for what it does
 */
final case class ShowLayoutCommand(source: LayoutSource, columns: Seq[Seq[String]])
    extends LeafRunnableCommand {

  override lazy val output: Seq[Attribute] = DataTypeUtils.toAttributes(ShowLayoutResult.schema)

  override def simpleString(maxFields: Int): String = {
    val of = if (columns.isEmpty) "" else columns.map(_.mkString(".")).mkString(" FOR (", ", ", ")")
    s"ShowLayout ${source.name}$of"
  }

  override def run(session: SparkSession): Seq[Row] =
    new ShowLayoutRun(SparkLine.session(session), source, columns).run()
}
