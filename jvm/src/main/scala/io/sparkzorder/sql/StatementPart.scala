// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import scala.util.Try

import org.antlr.v4.runtime.{CharStream, CommonTokenStream, Token}
import org.antlr.v4.runtime.misc.Interval

import org.apache.spark.sql.catalyst.expressions.{Alias, Expression}
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}

import io.sparkzorder.sql.parser.ZOrderSqlBaseLexer
import io.sparkzorder.sql.parser.ZOrderSqlBaseParser.AnythingContext

/**
 * A part of a statement that the next parser (Spark's, or that of another extension) parses: a name, a
 * literal, a predicate or a query.
 *
 * The next parser gets white space in place of all text before the part, so the part keeps its position. Therefore
 * each position that the next parser notes, in an error or in an expression, is a position in the whole statement.
 *
 * @param first the first token of the part
 * @param last the last token of the part
 */
private[sql] final case class StatementPart(first: Token, last: Token) {
  private def source: CharStream = first.getInputStream

  /** The text as written, comments and white space included. */
  def text: String = source.getText(Interval.of(first.getStartIndex, last.getStopIndex))

  /** The text of the part behind white space that replaces all text before the part. Line ends are kept. */
  def atItsPlace: String = blank(before) + text

  /** White space with as many code points as the part. Line ends are kept. */
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

  // one blank for each code point, because parsers count code points, and a code point may have two chars
  private def blank(text: String): String = {
    val blanks = new StringBuilder
    text.codePoints.forEach(c => blanks += (if (c == '\n' || c == '\r') c.toChar else ' '))
    blanks.toString
  }
}

/**
 * The content of a WHERE clause, and the clause FULL behind it.
 *
 * @param condition the predicate
 * @param full the clause FULL, if it follows the predicate
 */
private[sql] final case class WhereAndFull(condition: Expression, full: Option[Token])

/**
 * Reads the predicate of a WHERE. Decides whether the word FULL at its end is a clause, as in `WHERE a = 1 FULL`, or a
 * column, as in `WHERE a = full`.
 *
 * @param tokens the tokens of the whole statement
 * @param parser the next parser
 * @param condition parses a predicate, which may have parameters
 */
private[sql] final class PredicateReader(
    tokens: CommonTokenStream,
    parser: ParserInterface,
    condition: StatementPart => Expression) {

  def read(ctx: AnythingContext): WhereAndFull = {
    val whole = StatementPart(ctx.start, ctx.stop)
    lastBefore(ctx.stop, ctx.start) match {
      case Some(before) if ctx.stop.getType == ZOrderSqlBaseLexer.FULL && !isOperand(whole) =>
        WhereAndFull(parse(StatementPart(ctx.start, before)), Some(ctx.stop))
      case _ => WhereAndFull(parse(whole), None)
    }
  }

  /**
   * True if the last word belongs to the expression, as in `a = full` or `NOT full`. If the expression is complete
   * without the last word, the next parser takes the word for an alias, as in `a = 1 full`, or fails.
   */
  private def isOperand(part: StatementPart): Boolean =
    Try(parser.parseExpression(part.text)).toOption.exists(!_.isInstanceOf[Alias])

  private def parse(part: StatementPart): Expression = condition(part) match {
    // an alias: behind the predicate is a word that begins none of our clauses
    case _: Alias => throw ZOrderParser.syntaxError(part.last, "")
    case predicate => predicate
  }

  /** The token before `token`, without comments and white space; None if it is before `first`. */
  private def lastBefore(token: Token, first: Token): Option[Token] =
    Iterator.iterate(token.getTokenIndex - 1)(_ - 1)
      .takeWhile(_ >= first.getTokenIndex)
      .map(tokens.get)
      .find(_.getChannel == Token.DEFAULT_CHANNEL)
}
