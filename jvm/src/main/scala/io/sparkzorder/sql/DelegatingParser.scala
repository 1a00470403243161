// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** What the parser methods of one Spark line build on. */
private[sql] trait DelegatingParser { self: ParserInterface =>

  /** The next parser: Spark's, or that of another extension. */
  def delegate: ParserInterface

  /**
   * @param condition parses a predicate
   * @param next the next parser, which parses the whole text when it is not ours
   */
  protected def parse(
      sqlText: String,
      condition: StatementPart => Expression,
      next: String => LogicalPlan): LogicalPlan
}
