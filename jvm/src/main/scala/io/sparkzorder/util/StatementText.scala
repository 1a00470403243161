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

  /**
   * The clause `OPTIONS`, with its values as string literals.
   *
   * @param verbatim whether the session has set [[VerbatimLiterals]]
   */
  def options(values: Iterable[(String, String)], verbatim: => Boolean): String = values.map {
    case (key, value) => s"${string(key, verbatim)} ${string(value, verbatim)}"
  }.mkString("OPTIONS (", ", ", ")")

  /** A string literal for a session that has not set [[VerbatimLiterals]]. */
  def string(text: String): String =
    "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

  /** Spark's setting under which a literal is its characters as written, and a backslash escapes nothing. */
  val VerbatimLiterals = "spark.sql.parser.escapedStringLiterals"

  /**
   * A string literal for a session.
   *
   * @param verbatim whether the session has set [[VerbatimLiterals]]; asked for only if the text has
   *   a character that the two kinds of session read differently
   * @throws IllegalArgumentException if a literal of such a session cannot have this text
   */
  def string(text: String, verbatim: => Boolean): String =
    if (!text.exists(c => c == '\'' || c == '\\') || !verbatim) string(text)
    else Seq('\'', '"').find(isVerbatim(text, _)).map(q => s"$q$text$q").getOrElse(
      throw new IllegalArgumentException(
        s"with $VerbatimLiterals=true, no literal of SQL has the text: $text"))

  /**
   * True if the text between two of these quotes is one literal. `a\` is not: to find the end of a literal, a parser
   * skips the character behind each backslash, here the closing quote, even if the backslash escapes nothing.
   */
  private def isVerbatim(text: String, quote: Char): Boolean = {
    val passed = text.replaceAll("(?s)\\\\.", "")
    passed.indexOf(quote.toInt) < 0 && !passed.endsWith("\\")
  }
}

/** Splits the value of a setting at its commas, except inside back quotes. The parts keep their back quotes. */
private[sparkzorder] object NameList {
  // a back quote that is not closed stays, so that the parser of the name reports an error
  private val item = "(?:`(?:[^`]|``)*`|[^,])+".r

  def split(text: String): Seq[String] =
    item.findAllIn(text).map(_.trim).filter(_.nonEmpty).toSeq
}
