// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIfNeeded

import io.sparkzorder.commands.{TargetAction, WhereClause}
import io.sparkzorder.sources.OptimizeClauses
import io.sparkzorder.table.DataFormat
import io.sparkzorder.util.StatementText

/**
 * An OPTIMIZE statement whose target has not been looked up yet.
 *
 * @param child the target: Spark's unresolved table, [[PathTable]] or [[PathOrTable]]
 * @param where the WHERE predicate; an expression of the plan, so that Spark binds its parameters
 * @param clauses everything else
 * @param delegated the statement as the next parser reads it, for a Delta table that is left to Delta
 */
private[sparkzorder] final case class OptimizeTable(
    child: LogicalPlan,
    where: Option[Expression],
    clauses: OptimizeClauses,
    delegated: DelegatedStatement)
    extends UnaryNode {
  override def output: Seq[Attribute] = Nil
  // replaced by ResolveZOrderStatements as soon as the child is known
  override lazy val resolved: Boolean = false
  override protected def withNewChildInternal(newChild: LogicalPlan): OptimizeTable =
    copy(child = newChild)
}

/**
 * A statement other than OPTIMIZE, whose target has not been looked up yet.
 *
 * @param child the target: Spark's unresolved table, [[PathTable]] or [[PathOrTable]]
 * @param action what the statement does with the target
 * @param where the WHERE predicate; an expression of the plan, so that Spark binds its parameters
 */
private[sparkzorder] final case class TargetStatement(
    child: LogicalPlan,
    action: TargetAction,
    where: Option[Expression] = None)
    extends UnaryNode {
  override def output: Seq[Attribute] = Nil
  // replaced by ResolveZOrderStatements as soon as the child is known
  override lazy val resolved: Boolean = false
  override protected def withNewChildInternal(newChild: LogicalPlan): TargetStatement =
    copy(child = newChild)
}

/**
 * The statement as another extension reads it. This class is no plan, so that the analyzer does not find and resolve
 * the plan in it.
 *
 * @param text the statement in Delta's grammar: without TABLE, and with a directory as delta.`path`
 * @param plan the plan that the next parser made of `text`, if that parser accepts it
 * @param clauses what follows the target, if the target is known only after the statement is parsed: for
 *   `IDENTIFIER(..)`, and for a [[PathOrTable]]. None for any other target
 */
private[sparkzorder] final case class DelegatedStatement(
    text: String,
    plan: Option[LogicalPlan],
    clauses: Option[String] = None) {

  /** The statement on this table, whose name is known now. */
  def on(name: => String): DelegatedStatement =
    clauses.fold(this)(c => DelegatedStatement(s"OPTIMIZE $name$c", None))

  override def toString: String = ""
}

/** A directory named as parquet.`path`, 'path' or orc.`path`. */
private[sparkzorder] final case class PathTable(path: String, format: DataFormat) extends LeafNode {
  override def output: Seq[Attribute] = Nil
}

/**
 * A target named parquet.`path` or orc.`path`. It may be a directory, or a table `path` of a
 * database named parquet or orc. The analyzer decides this later.
 */
private[sparkzorder] final case class PathOrTable(nameParts: Seq[String]) extends LeafNode {
  override def output: Seq[Attribute] = Nil
  override lazy val resolved: Boolean = false
}

/** Iceberg's own statement for the same work, which an error proposes if an Iceberg table is left to Iceberg. */
private[sql] object RewriteDataFiles {

  /**
   * The CALL that orders an Iceberg table by the same columns. Without columns, the CALL only
   * compacts the table. INTO, OPTIONS and DRY RUN have no counterpart in the CALL.
   */
  def call(statement: OptimizeTable, table: ResolvedTable): String = {
    val columns = statement.clauses.columns.map(quoted)
    // with one column, zorder() would sort in the same order by a longer key
    val order = if (columns.size > 1) columns.mkString("zorder(", ", ", ")") else columns.mkString
    val name = quoted(table.identifier.namespace.toSeq :+ table.identifier.name)
    val arguments = Seq(
      Some("table" -> name),
      if (columns.isEmpty) None else Some("strategy" -> "sort"),
      if (columns.isEmpty) None else Some("sort_order" -> order),
      // with plain names, because Iceberg itself resolves the columns of the predicate
      statement.where.map("where" -> WhereClause.byName(_).sql))
    val catalog = quoteIfNeeded(table.catalog.name)
    arguments.flatten.map { case (key, value) => s"$key => ${StatementText.string(value)}" }
      .mkString(s"CALL $catalog.system.rewrite_data_files(", ", ", ")")
  }

  private def quoted(parts: Seq[String]): String = parts.map(quoteIfNeeded).mkString(".")
}
