// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import scala.collection.JavaConverters._

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression}
import org.apache.spark.sql.catalyst.parser.{ParameterContext, ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.Origin
import org.apache.spark.sql.types.StructType

/**
 * The parser methods of Spark 4.1 and later. In these lines, Spark's parser itself puts values in the place of
 * parameters (SPARK-53573), and its grammar does not know our statements. So Spark's parser gets our predicate as the
 * WHERE clause of a query.
 */
private[sql] trait ParserOfSparkLine extends DelegatingParser { self: ParserInterface =>

  override def parsePlanWithParameters(sqlText: String, context: ParameterContext): LogicalPlan =
    parse(
      sqlText,
      predicate => conditionWithParameters(predicate, context),
      delegate.parsePlanWithParameters(_, context))

  override def parseRoutineParam(sqlText: String): StructType = delegate.parseRoutineParam(sqlText)

  private def conditionWithParameters(
      predicate: StatementPart,
      context: ParameterContext): Expression =
    // this call refuses a text that is more than one expression, such as `x = 1 GROUP BY y`
    predicate.read(delegate.parseExpression) match {
      case refusedByTheCaller: Alias => refusedByTheCaller
      case plain if !predicate.text.exists(c => c == ':' || c == '?') => plain
      case plain =>
        val plan =
          try predicate.read(text =>
              delegate.parsePlanWithParameters(asQuery(text, markersBefore(predicate)), context))
          catch {
            case e: ParseException => throw e
            case e: AnalysisException => throw inStatement(e, predicate.statement)
          }
        plan.collectFirst { case f: Filter => f.condition }.getOrElse(plain)
    }

  /**
   * A query with the predicate at the line and column that it has in our statement, so that errors point to the right
   * place. `SELECT 1 WHERE` takes the place of white space in the first line. There is enough: it stands for at least
   * `OPTIMIZE t WHERE`. If the first line is shorter, the predicate is on a later line, and the first line may grow.
   *
   * @param predicate the predicate after white space in place of all text before it
   * @param markers the number of `?` before the predicate, as in `IDENTIFIER(?)`. The query selects as many
   *   `?`, so that the predicate gets its own values
   */
  private def asQuery(predicate: String, markers: Int): String = {
    val query = s"SELECT ${if (markers == 0) "1" else Seq.fill(markers)("?").mkString(",")} WHERE"
    val (line, lines) = predicate.span(c => c != '\n' && c != '\r')
    val room = line.takeWhile(_ == ' ').length
    query + line.drop(math.min(room, query.length)) + lines
  }

  private def markersBefore(predicate: StatementPart): Int =
    ZOrderParser.visible(ZOrderParser.tokens(predicate.statement))
      .takeWhile(_.getStartIndex < predicate.first.getStartIndex)
      .count(_.getText == "?")

  /** The same error, which shows our statement in place of the query. */
  private def inStatement(e: AnalysisException, statement: String): AnalysisException =
    e.context.headOption.filter(_ => e.getCondition != null).fold(e) { at =>
      val (from, to) = (Some(at.startIndex), Some(at.stopIndex))
      val origin = Origin(e.line, e.startPosition, from, to, Some(statement))
      new AnalysisException(e.getCondition, e.getMessageParameters.asScala.toMap, origin)
    }
}
