package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.expressions.{Alias, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * Computes what a join condition reads from a sample in a projection below the join.
 *
 * Left in the condition it could become a key of a broadcast, which Spark computes where the result of
 * a subquery is not known: the query would fail. This happens in the optimizer, since the analyzed
 * plan of a join has to stay a join (`Dataset.join` casts it).
 */
object ProjectSampledJoinKeys extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case join: Join if join.condition.exists(sampledIn(_).nonEmpty) => project(join)
  }

  private def project(join: Join): LogicalPlan = {
    val keys = join.condition.toSeq.flatMap(sampledIn).map(e => Alias(e, e.prettyName)())
    val (ofLeft, rest) = keys.partition(_.references.subsetOf(join.left.outputSet))
    val ofRight = rest.filter(_.references.subsetOf(join.right.outputSet))
    val moved = ofLeft ++ ofRight
    val condition = join.condition.map(_.transformDown {
      case e: BySample =>
        moved.collectFirst { case k if k.child eq e => k.toAttribute }.getOrElse(e)
    })
    val left = withKeys(join.left, ofLeft)
    val right = withKeys(join.right, ofRight)
    Project(join.output, join.copy(left = left, right = right, condition = condition))
  }

  private def withKeys(input: LogicalPlan, keys: Seq[Alias]): LogicalPlan =
    if (keys.isEmpty) input else Project(input.output ++ keys, input)

  /** The outermost ones: an inner one goes with the one around it. */
  private def sampledIn(e: Expression): Seq[Expression] = e match {
    case s: BySample => Seq(s)
    case other => other.children.flatMap(sampledIn)
  }
}
