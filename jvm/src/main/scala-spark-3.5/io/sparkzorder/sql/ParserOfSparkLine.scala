package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Parser methods of Spark 3.5: none of its own; parameters are bound in the analyzed plan. */
private[sql] trait ParserOfSparkLine { self: ParserInterface =>
  def delegate: ParserInterface

  protected def parse(
      sqlText: String,
      condition: String => Expression,
      next: => LogicalPlan): LogicalPlan
}
