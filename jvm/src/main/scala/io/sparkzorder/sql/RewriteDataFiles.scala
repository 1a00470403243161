package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIfNeeded

import io.sparkzorder.commands.WhereClause
import io.sparkzorder.util.StatementText

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
