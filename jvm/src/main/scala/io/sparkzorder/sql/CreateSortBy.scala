// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import scala.util.{Failure, Success, Try}

import org.antlr.v4.runtime.{CommonTokenStream, Token}

import org.apache.spark.sql.catalyst.analysis.PlanWithUnresolvedIdentifier
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.command.{CreateTableLikeCommand, ExplainCommand}

import io.sparkzorder.sql.parser.{ZOrderSqlBaseLexer, ZOrderSqlBaseParser}
import io.sparkzorder.sql.parser.ZOrderSqlBaseParser.SortByContext

/**
 * The clause SORT BY of a CREATE TABLE or REPLACE TABLE. All other clauses are those of the next
 * parser, which reads the statement with blanks in place of ours.
 *
 * What the next parser accepts as it stands is not ours: a query may end in `SORT BY zorder(a, b)`.
 *
 * @param text the statement
 * @param tokens of the statement
 */
private[sql] final class CreateSortBy(
    text: String,
    tokens: CommonTokenStream,
    delegate: ParserInterface) {
  import CreateSortBy._

  private val words = ZOrderParser.visible(tokens)

  /** True if the statement has such a clause. */
  def hasSortBy: Boolean = clauses.nonEmpty

  /** @param original the statement before variables were substituted */
  def parse(original: String, next: String => LogicalPlan): LogicalPlan =
    clauses match {
      case Nil => next(original)
      case first :: others =>
        Try(next(original)) match {
          case Success(plan) => plan
          case Failure(_) =>
            others.foreach(o => throw ZOrderParser.syntaxError(o, "duplicate clause SORT BY"))
            declared(first, next)
        }
    }

  private def declared(first: Token, next: String => LogicalPlan): LogicalPlan = {
    val clause = read(first)
    val builder =
      new ZOrderAstBuilder(tokens, delegate, _.read(delegate.parseExpression), _ => None)
    val order = builder.sortBy(clause)
    val plan =
      try next(without(clause))
      catch { case e: ParseException => throw e.withCommand(text) }
    order.fold(plan)(o =>
      withProperties(plan, o.properties).getOrElse {
        throw ZOrderParser.syntaxError(
          first,
          "SORT BY is supported only in statements that create a table")
      })
  }

  /** The first word of each clause: outside of parentheses and before the query. */
  private def clauses: List[Token] =
    if (!isCreate) Nil
    else {
      var depth = 0
      val found = List.newBuilder[Token]
      var i = 0
      var isQuery = false
      while (i < words.length && !isQuery) {
        words(i).getType match {
          case ZOrderSqlBaseLexer.LEFT_PAREN => depth += 1
          case ZOrderSqlBaseLexer.RIGHT_PAREN => depth -= 1
          case _ if depth > 0 =>
          case ZOrderSqlBaseLexer.SORT if typeAt(i + 1) == ZOrderSqlBaseLexer.BY =>
            found += words(i)
          case _ => isQuery = i > 2 && beginsQuery(i)
        }
        i += 1
      }
      found.result()
    }

  private def isCreate: Boolean = {
    val start = words.take(7).map(ZOrderParser.upper).toList
    val create =
      if (start.headOption.contains("EXPLAIN")) start.drop(1).dropWhile(!begins(_)) else start
    create.headOption.exists(begins) && create.contains("TABLE")
  }

  private def beginsQuery(i: Int): Boolean = ZOrderParser.upper(words(i)) match {
    case "AS" => ZOrderParser.upper(words(i - 1)) != "STORED"
    case "SELECT" => true
    case "WITH" => i + 1 >= words.length || ZOrderParser.upper(words(i + 1)) != "SERDEPROPERTIES"
    case _ => false
  }

  private def typeAt(i: Int): Int = if (i < words.length) words(i).getType else Token.EOF

  private def read(first: Token): SortByContext = {
    tokens.seek(first.getTokenIndex)
    val parser = new ZOrderSqlBaseParser(tokens)
    parser.removeErrorListeners()
    parser.addErrorListener(ZOrderParser.FirstError)
    try parser.sortBy()
    catch {
      case e: ZOrderParser.SyntaxError => throw ZOrderParser.syntaxError(e.token, e.getMessage)
    }
  }

  /** The statement with a blank for each character of the clause, so that all positions hold. */
  private def without(clause: SortByContext): String = {
    // tokens count code points
    val from = text.offsetByCodePoints(0, clause.start.getStartIndex)
    val until =
      text.offsetByCodePoints(from, clause.stop.getStopIndex + 1 - clause.start.getStartIndex)
    val blanks = StatementPart(clause.start, clause.stop).blank
    text.substring(0, from) + blanks + text.substring(until)
  }
}

private object CreateSortBy {
  private val begins = Set("CREATE", "REPLACE")

  /** The plan of a new table with more properties; None if the plan makes no table. */
  private def withProperties(plan: LogicalPlan, more: Map[String, String]): Option[LogicalPlan] =
    plan match {
      case c: CreateTable => spec(c.tableSpec, more).map(s => c.copy(tableSpec = s))
      case c: CreateTableAsSelect => spec(c.tableSpec, more).map(s => c.copy(tableSpec = s))
      case c: ReplaceTable => spec(c.tableSpec, more).map(s => c.copy(tableSpec = s))
      case c: ReplaceTableAsSelect => spec(c.tableSpec, more).map(s => c.copy(tableSpec = s))
      case c: CreateTableLikeCommand => Some(c.copy(properties = c.properties ++ more))
      case e: ExplainCommand =>
        withProperties(e.logicalPlan, more).map(inner => e.copy(logicalPlan = inner))
      // CREATE TABLE IDENTIFIER(..)
      case p: PlanWithUnresolvedIdentifier =>
        Some(p.copy(planBuilder = (name, children) => {
          val plan = p.planBuilder(name, children)
          withProperties(plan, more).getOrElse(plan)
        }))
      // Spark 4.2's unresolved CREATE TABLE LIKE; its only map is that of the properties
      case like if like.nodeName == "CreateTableLike" =>
        Some(like.makeCopy(like.productIterator.map {
          case m: Map[_, _] => m.asInstanceOf[Map[String, String]] ++ more
          case other => other.asInstanceOf[AnyRef]
        }.toArray[AnyRef]))
      case _ => None
    }

  private def spec(spec: TableSpecBase, more: Map[String, String]): Option[TableSpecBase] =
    spec match {
      case s: UnresolvedTableSpec => Some(s.copy(properties = s.properties ++ more))
      case _ => None
    }
}
