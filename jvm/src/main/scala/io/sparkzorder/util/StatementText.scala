// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import org.apache.spark.sql.catalyst.util.AttributeNameParser.parseAttributeName
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteNameParts

/**
 * Makes SQL text from values and quotes every name and literal. A Spark Connect client runs this
 * code without Catalyst, so this file may use nothing outside Spark's module `sql-api`.
 */
private[sparkzorder] object StatementText {

  /**
   * Quotes every part of a dotted name, so that Spark reads each part as a name, whatever it
   * contains.
   *
   * @param name as in SQL: `sales`, `shop.sales`, or with a part in back quotes
   */
  def identifier(name: String): String = {
    require(name.nonEmpty, "a name is empty")
    quoteNameParts(parseAttributeName(name))
  }

  /** A parenthesised list of columns, which may be nested fields. */
  def columns(names: Seq[String]): String = names.map(identifier).mkString("(", ", ", ")")

  /** The clause `OPTIONS`, with its values as string literals. */
  def options(values: Iterable[(String, String)]): String = values.map { case (key, value) =>
    s"${string(key)} ${string(value)}"
  }.mkString("OPTIONS (", ", ", ")")

  /** A string literal. */
  def string(text: String): String =
    "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
}

/** Splits a setting at its commas, except inside back quotes. The parts keep their quotes. */
private[sparkzorder] object NameList {
  // a back quote that is not closed stays, so that the parser of the name reports an error
  private val item = "(?:`(?:[^`]|``)*`|[^,])+".r

  def split(text: String): Seq[String] =
    item.findAllIn(text).map(_.trim).filter(_.nonEmpty).toSeq
}
