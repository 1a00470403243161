package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIfNeeded

import io.sparkzorder.commands.WhereClause
import io.sparkzorder.commands.optimize.OptimizeClauses
import io.sparkzorder.table.DataFormat
import io.sparkzorder.util.StatementText

/**
 * An OPTIMIZE statement whose target is not looked up yet.
 *
 * @param child the target: Spark's unresolved table, or [[PathTable]]
 * @param where the WHERE predicate; an expression of the plan, so that Spark binds its parameters
 * @param clauses everything else
 * @param otherParser what the next parser makes of it, when it knows OPTIMIZE too: the statement is
 *   handed to it when the table turns out to be Delta's
 */
final case class OptimizeTable(
    child: LogicalPlan,
    where: Option[Expression],
    clauses: OptimizeClauses,
    otherParser: OtherParser)
    extends UnaryNode {
  override def output: Seq[Attribute] = Nil
  // replaced by ResolveZOrderStatements as soon as the child is known
  override lazy val resolved: Boolean = false
  override protected def withNewChildInternal(newChild: LogicalPlan): OptimizeTable =
    copy(child = newChild)
}

/**
 * What other parsers make of the same statement, held where the analyzer does not look for a plan.
 *
 * @param text the statement as Delta's grammar has it: without TABLE, a directory as delta.`path`
 * @param plan the next parser's reading of it, if it has one
 */
final case class OtherParser(text: String, plan: Option[LogicalPlan]) {
  override def toString: String = ""
}

/** A directory named as parquet.`path`, 'path' or orc.`path`. */
final case class PathTable(path: String, format: DataFormat) extends LeafNode {
  override def output: Seq[Attribute] = Nil
}

/** A target named parquet.`path` until it is known that no such table is in a database parquet; ORC alike. */
final case class PathOrTable(nameParts: Seq[String]) extends LeafNode {
  override def output: Seq[Attribute] = Nil
  override lazy val resolved: Boolean = false
}

/** What Iceberg has for an OPTIMIZE of ours on an Iceberg table. */
private[sql] object RewriteDataFiles {

  /**
   * The CALL that lays an Iceberg table out by the same columns, or compacts it where there are none.
   * INTO, OPTIONS and DRY RUN have no counterpart in it.
   */
  def call(statement: OptimizeTable, table: ResolvedTable): String = {
    val columns = statement.clauses.columns.map(quoted)
    // zorder() of one column would be a sort with a key of more bytes
    val order = if (columns.size > 1) columns.mkString("zorder(", ", ", ")") else columns.mkString
    val name = quoted(table.identifier.namespace.toSeq :+ table.identifier.name)
    val arguments = Seq(
      Some("table" -> name),
      if (columns.isEmpty) None else Some("strategy" -> "sort"),
      if (columns.isEmpty) None else Some("sort_order" -> order),
      // as Iceberg resolves them anew
      statement.where.map("where" -> WhereClause.byName(_).sql))
    val catalog = quoteIfNeeded(table.catalog.name)
    arguments.flatten.map { case (key, value) => s"$key => ${StatementText.string(value)}" }
      .mkString(s"CALL $catalog.system.rewrite_data_files(", ", ", ")")
  }

  private def quoted(parts: Seq[String]): String = parts.map(quoteIfNeeded).mkString(".")
}
