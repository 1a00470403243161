// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import scala.util.Try

import org.antlr.v4.runtime.{CommonTokenStream, Token}

import org.apache.spark.sql.catalyst.expressions.{Alias, Expression}
import org.apache.spark.sql.catalyst.parser.ParserInterface

import io.sparkzorder.sql.parser.ZOrderSqlBaseLexer
import io.sparkzorder.sql.parser.ZOrderSqlBaseParser.AnythingContext

/**
 * What stands between WHERE and the next clause.
 *
 * @param condition the predicate
 * @param full the clause FULL, if it follows the predicate
 */
private[sql] final case class WhereAndFull(condition: Expression, full: Option[Token])

/**
 * Reads the predicate of a WHERE, and decides whether the word FULL at its end is a clause or a
 * column.
 *
 * @param tokens of the whole statement
 * @param names the next parser
 * @param condition parses a predicate, parameters included
 */
private[sql] final class PredicateReader(
    tokens: CommonTokenStream,
    names: ParserInterface,
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
   * Whether the last word belongs to the expression, as in `a = full` or `NOT full`. Where the expression
   * is complete without that word, the next parser takes the word for an alias, or refuses it.
   */
  private def isOperand(part: StatementPart): Boolean =
    Try(names.parseExpression(part.text)).toOption.exists(!_.isInstanceOf[Alias])

  private def parse(part: StatementPart): Expression = condition(part) match {
    // a word behind the predicate that is none of our clauses
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
