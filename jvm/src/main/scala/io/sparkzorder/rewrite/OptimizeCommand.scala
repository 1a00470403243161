package io.sparkzorder.rewrite

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.commands.TableState
import io.sparkzorder.table.Target

/**
 * The clauses of an OPTIMIZE statement as written, except WHERE.
 *
 * @param full true if the statement has FULL
 * @param columns the name parts of each ordering column; empty without ZORDER BY
 * @param into the directory of INTO
 * @param options the keys and values of OPTIONS
 * @param dryRun true if the statement has DRY RUN
 * @param auto true if the statement has ZORDER BY AUTO
 */
final case class OptimizeClauses(
    full: Boolean = false,
    columns: Seq[Seq[String]] = Nil,
    into: Option[String] = None,
    options: Map[String, String] = Map.empty,
    dryRun: Boolean = false,
    auto: Boolean = false) {

  /** What EXPLAIN shows of the statement. */
  def describe(target: String, where: Option[WherePredicate]): String = {
    val filter = where.map(w => s" WHERE $w").getOrElse("")
    val by =
      if (auto) " ZORDER BY AUTO"
      else if (columns.isEmpty) ""
      else columns.map(_.mkString(".")).mkString(" ZORDER BY (", ", ", ")")
    val intoText = into.map(d => s" INTO '$d'").getOrElse("")
    s"Optimize $target${if (full) " FULL" else ""}$filter$by$intoText${if (dryRun) " DRY RUN"
      else ""}"
  }
}

/** A WHERE predicate in a wrapper, so that the analyzer does not try to resolve its columns. */
final case class WherePredicate(condition: Expression) {
  override def toString: String = condition.sql
}

/**
 * The OPTIMIZE statement as a command, after its target has been resolved. EXPLAIN shows this
 * command and does not run it.
 *
 * @see [[OptimizeExecutor]] for what the statement does
 */
final case class OptimizeCommand(
    target: Target,
    where: Option[WherePredicate],
    clauses: OptimizeClauses)
    extends LeafRunnableCommand {

  override lazy val output: Seq[Attribute] = DataTypeUtils.toAttributes(OptimizeResult.schema)

  override def simpleString(maxFields: Int): String = clauses.describe(target.name, where)

  override def run(session: SparkSession): Seq[Row] = {
    val table = new TableState(SparkLine.session(session), target, clauses.options)
    Seq(new OptimizeExecutor(table, where.map(_.condition), clauses).run().toRow)
  }
}
