package io.sparkzorder.commands.optimize

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.table.Target

/** A WHERE predicate, held where the analyzer does not look: its columns are those of partitions. */
final case class PartitionPredicate(condition: Expression) {
  override def toString: String = condition.sql
}

/**
 * OPTIMIZE of a known target. EXPLAIN shows it and runs nothing.
 *
 * @see [[OptimizeRun]] for what it does
 */
final case class OptimizeCommand(
    target: Target,
    where: Option[PartitionPredicate],
    clauses: OptimizeClauses)
    extends LeafRunnableCommand {

  override lazy val output: Seq[Attribute] = DataTypeUtils.toAttributes(OptimizeResult.schema)

  override def simpleString(maxFields: Int): String = {
    val filter = where.map(w => s" WHERE $w").getOrElse("")
    val by =
      if (clauses.columns.isEmpty) ""
      else clauses.columns.map(_.mkString(".")).mkString(" ZORDER BY (", ", ", ")")
    val into = clauses.into.map(d => s" INTO '$d'").getOrElse("")
    val full = if (clauses.full) " FULL" else ""
    val dryRun = if (clauses.dryRun) " DRY RUN" else ""
    s"Optimize ${target.name}$full$filter$by$into$dryRun"
  }

  override def run(session: SparkSession): Seq[Row] =
    Seq(
      new OptimizeRun(SparkLine.session(session), target, where.map(_.condition), clauses)
        .run()
        .toRow)
}
