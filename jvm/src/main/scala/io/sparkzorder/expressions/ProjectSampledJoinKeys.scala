// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.expressions.{Alias, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * Moves sampled expressions from a join condition into a projection below the join.
 *
 * In the condition, such an expression could become a key of a broadcast. Spark computes those keys
 * where the result of a subquery is not available, so the query would fail. This is an optimizer
 * rule, because `Dataset.join` requires that the analyzed plan of a join is a join.
 */
private[sparkzorder] object ProjectSampledJoinKeys extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case join: Join if join.condition.exists(sampledIn(_).nonEmpty) => project(join)
  }

  private def project(join: Join): LogicalPlan = {
    val keys = join.condition.toSeq.flatMap(sampledIn).map(e => Alias(e, e.prettyName)())
    val (ofLeft, rest) = keys.partition(_.references.subsetOf(join.left.outputSet))
    val ofRight = rest.filter(_.references.subsetOf(join.right.outputSet))
    val moved = ofLeft ++ ofRight
    val condition = join.condition.map(_.transformDown {
      case e: SampledExpression =>
        moved.collectFirst { case k if k.child eq e => k.toAttribute }.getOrElse(e)
    })
    val left = withKeys(join.left, ofLeft)
    val right = withKeys(join.right, ofRight)
    Project(join.output, join.copy(left = left, right = right, condition = condition))
  }

  private def withKeys(input: LogicalPlan, keys: Seq[Alias]): LogicalPlan =
    if (keys.isEmpty) input else Project(input.output ++ keys, input)

  /** The outermost sampled expressions: nested ones move with them. */
  private def sampledIn(e: Expression): Seq[Expression] = e match {
    case s: SampledExpression => Seq(s)
    case other => other.children.flatMap(sampledIn)
  }
}
