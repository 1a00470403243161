// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.antlr.v4.runtime.{CharStream, Token}
import org.antlr.v4.runtime.misc.Interval

import org.apache.spark.sql.catalyst.parser.ParseException

/**
 * A part of a statement that the next parser (Spark's, or that of another extension) reads: a name,
 * a literal, a predicate or a query.
 *
 * The next parser gets white space in place of everything before the part, so the part keeps its
 * position. Each position that the next parser notes, in an error or in an expression, is therefore
 * a position in the whole statement.
 *
 * @param first the first token of the part
 * @param last the last token of the part
 */
private[sql] final case class StatementPart(first: Token, last: Token) {
  private def source: CharStream = first.getInputStream

  /** The text as written, comments and white space included. */
  def text: String = source.getText(Interval.of(first.getStartIndex, last.getStopIndex))

  /** The text after white space that replaces everything before it. Line ends are kept. */
  def atItsPlace: String = blank(before) + text

  /** White space of the same length; line ends are kept. */
  def blank: String = blank(text)

  /** The whole statement. */
  def statement: String =
    if (source.size == 0) "" else source.getText(Interval.of(0, source.size - 1))

  /**
   * Lets the next parser read this part.
   *
   * @throws ParseException with the whole statement as its command, and a position in the statement
   */
  def read[T](parse: String => T): T =
    try parse(atItsPlace)
    catch { case e: ParseException => throw e.withCommand(statement) }

  private def before: String =
    if (first.getStartIndex == 0) ""
    else source.getText(Interval.of(0, first.getStartIndex - 1))

  // one blank for each code point: parsers count code points, and some have two characters
  private def blank(text: String): String = {
    val blanks = new StringBuilder
    text.codePoints.forEach(c => blanks += (if (c == '\n' || c == '\r') c.toChar else ' '))
    blanks.toString
  }
}
