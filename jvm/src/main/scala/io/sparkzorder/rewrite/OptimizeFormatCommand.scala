package io.sparkzorder.rewrite

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.sources.TableFormat

/**
 * OPTIMIZE of a table of another format, after its table has been resolved. EXPLAIN shows this
 * command and does not run it.
 *
 * @see [[FormatOptimize]] for what the statement does
 */
final case class OptimizeFormatCommand(
    format: TableFormat,
    where: Option[WherePredicate],
    clauses: OptimizeClauses,
    ownStatement: String)
    extends LeafRunnableCommand {

  override lazy val output: Seq[Attribute] = DataTypeUtils.toAttributes(OptimizeResult.schema)

  override def simpleString(maxFields: Int): String = clauses.describe(format.name, where)

  override def run(session: SparkSession): Seq[Row] =
    Seq(new FormatOptimize(
      SparkLine.session(session),
      format,
      where.map(_.condition),
      clauses,
      ownStatement).run().toRow)
}
