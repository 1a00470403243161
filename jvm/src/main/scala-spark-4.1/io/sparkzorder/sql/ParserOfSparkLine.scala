package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.{ParameterContext, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
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
      predicate: String,
      context: ParameterContext): Expression = {
    // refuses what is more than one expression, such as `x = 1 GROUP BY y`
    val plain = delegate.parseExpression(predicate)
    val query = s"SELECT * FROM VALUES (1) WHERE $predicate"
    delegate.parsePlanWithParameters(query, context).collectFirst { case f: Filter =>
      f.condition
    }.getOrElse(plain)
  }
}
