// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.commands.TableState
import io.sparkzorder.sources.{OptimizeClauses, TableFormat, WherePredicate}
import io.sparkzorder.sources.plain.PlainFormat
import io.sparkzorder.table.Target

/** What OPTIMIZE rewrites, after the table has been looked up. */
private[sparkzorder] sealed trait OptimizeTarget {
  def name: String
}

/** A table of plain files. */
private[sparkzorder] final case class PlainTable(target: Target) extends OptimizeTarget {
  override def name: String = target.name
}

/**
 * A Delta or Iceberg table.
 *
 * @param ownStatement the format's own statement for the same purpose
 */
private[sparkzorder] final case class FormatTable(format: TableFormat, ownStatement: String)
    extends OptimizeTarget {
  override def name: String = format.name
}

/**
 * The OPTIMIZE statement as a command, after its target has been resolved. EXPLAIN shows this
 * command and does not run it.
 *
 * @see [[RewriteRunner]] for what the statement does
 */
private[sparkzorder] final case class OptimizeCommand(
    target: OptimizeTarget,
    where: Option[WherePredicate],
    clauses: OptimizeClauses)
    extends LeafRunnableCommand {

  override lazy val output: Seq[Attribute] = DataTypeUtils.toAttributes(OptimizeResult.schema)

  override def simpleString(maxFields: Int): String = clauses.describe(target.name, where)

  override def run(session: SparkSession): Seq[Row] = {
    val user = SparkLine.session(session)
    val (format, own) = target match {
      case PlainTable(plain) =>
        val table = new TableState(user, plain, clauses.options)
        (new PlainFormat(table, clauses.into), "")
      case FormatTable(format, own) => (format, own)
    }
    Seq(new RewriteRunner(user, format, where.map(_.condition), clauses, own).run().toRow)
  }
}
