package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.analysis.{ResolvedTable, UnresolvedAttribute}
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIfNeeded

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
      statement.where.map("where" -> byName(_).sql))
    val catalog = quoteIfNeeded(table.catalog.name)
    arguments.flatten.map { case (key, value) => s"$key => ${StatementText.string(value)}" }
      .mkString(s"CALL $catalog.system.rewrite_data_files(", ", ", ")")
  }

  /** Columns by their bare names, as Iceberg resolves them anew. */
  private def byName(condition: Expression): Expression = condition.transform {
    case a: AttributeReference => UnresolvedAttribute(Seq(a.name))
  }

  private def quoted(parts: Seq[String]): String = parts.map(quoteIfNeeded).mkString(".")
}
