package io.sparkzorder.util

import org.apache.spark.sql.catalyst.util.AttributeNameParser.parseAttributeName
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteNameParts

/**
 * SQL text from values: every name and value that reaches a statement is quoted here. A client of Spark
 * Connect does so, too, and has no Catalyst: nothing but what Spark's module `sql-api` has may stand here.
 */
private[sparkzorder] object StatementText {

  /**
   * Quotes every part of a dotted name, so that Spark reads it as a name whatever it holds.
   *
   * @param name as in SQL: `sales`, `shop.sales`, or with a part in back-quotes
   */
  def identifier(name: String): String = {
    require(name.nonEmpty, "a name is empty")
    quoteNameParts(parseAttributeName(name))
  }

  /** Writes a list of columns, nested fields among them. */
  def columns(names: Seq[String]): String = names.map(identifier).mkString("(", ", ", ")")

  /** Writes a string literal. */
  def string(text: String): String =
    "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
}
