// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral
import org.apache.spark.sql.catalyst.plans.ExistenceJoin
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}
import org.apache.spark.sql.types.BooleanType

/**
 * The columns that tell whether a row has a partner in a subquery. Spark's optimizer makes such a column for each
 * IN and EXISTS that is only a part of a condition.
 */
private[dynamic] object ExistenceColumns {

  /** The columns of a plan, each with the join that makes the column. */
  def in(plan: LogicalPlan): Map[ExprId, Join] = plan match {
    case j @ Join(_, _, ExistenceJoin(exists), _, _) => in(j.left) + (exists.exprId -> j)
    case p: Project => in(p.child)
    case f: Filter => in(f.child)
    case _ => Map.empty
  }

  /**
   * Splits a condition: where it is true, at least one of the results is true. An example is
   * `CASE WHEN a IN (SELECT ..) THEN TRUE ELSE b = 5 END`, which is true where the membership or `b = 5` is true.
   */
  def alternatives(condition: Expression): Seq[Expression] = condition match {
    case Or(left, right) => alternatives(left) ++ alternatives(right)
    case EqualNullSafe(child, TrueLiteral) => alternatives(child)
    case EqualTo(child, TrueLiteral) => alternatives(child)
    case If(when, TrueLiteral, otherwise) => alternatives(when) ++ alternatives(otherwise)
    case CaseWhen(Seq((when, TrueLiteral)), otherwise) =>
      alternatives(when) ++ otherwise.toSeq.flatMap(alternatives)
    case Literal(false | null, BooleanType) => Nil
    case other => Seq(other)
  }
}
