package io.sparkzorder.sql

import scala.collection.JavaConverters._

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression}
import org.apache.spark.sql.catalyst.parser.{ParameterContext, ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.Origin
import org.apache.spark.sql.types.StructType

/**
 * Parser methods from Spark 4.1 on. Parameters are substituted inside Spark's parser there (SPARK-53573),
 * by Spark's own grammar, so our predicate is shown to it as the WHERE of a query.
 */
private[sql] trait ParserOfSparkLine extends DelegatingParser { self: ParserInterface =>

  override def parsePlanWithParameters(sqlText: String, context: ParameterContext): LogicalPlan =
    parse(
      sqlText,
      predicate => conditionWithParameters(predicate, context),
      delegate.parsePlanWithParameters(sqlText, context))

  override def parseRoutineParam(sqlText: String): StructType = delegate.parseRoutineParam(sqlText)

  private def conditionWithParameters(
      predicate: StatementPart,
      context: ParameterContext): Expression =
    // refuses what is more than one expression, such as `x = 1 GROUP BY y`
    predicate.read(delegate.parseExpression) match {
      case refusedByTheCaller: Alias => refusedByTheCaller
      case plain =>
        // a line of its own, so that positions differ from those in the statement by one line
        val query = s"SELECT * FROM VALUES (1) WHERE\n${predicate.atItsPlace}"
        val plan =
          try delegate.parsePlanWithParameters(query, context)
          catch { case e: AnalysisException => throw inStatement(e, predicate.statement) }
        plan.collectFirst { case f: Filter => f.condition }.getOrElse(plain)
    }

  /** The same error, with the text of the statement and the position in it. */
  private def inStatement(e: AnalysisException, statement: String): Throwable = {
    val (condition, parameters) = (e.getCondition, e.getMessageParameters.asScala.toMap)
    e match {
      case p: ParseException =>
        val start = p.start.copy(line = p.start.line.map(_ - 1))
        new ParseException(Some(statement), start, condition, parameters)
      case _ if condition != null =>
        new AnalysisException(
          condition,
          parameters,
          Origin(e.line.map(_ - 1), e.startPosition, sqlText = Some(statement)))
      case other => other
    }
  }
}
