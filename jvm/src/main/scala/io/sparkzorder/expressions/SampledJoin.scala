package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project}

/** Calls in a join condition. */
private[expressions] object SampledJoin {

  /**
   * Moves each call of the condition into a projection of the side that its columns come from, which
   * is then sampled by `sampled`.
   *
   * Left in the condition, a call could become a key of a broadcast; those are computed where a
   * subquery's result is not known.
   */
  def apply(join: Join)(sampled: LogicalPlan => LogicalPlan): LogicalPlan = {
    val calls = outermost(join.condition.toSeq)
    val (ofLeft, rest) = calls.partition(_.references.subsetOf(join.left.outputSet))
    rest.find(c => !c.references.subsetOf(join.right.outputSet)).foreach {
      SamplingLimits.refuse(_, "over columns of both sides of a join")
    }
    val leftKeys = ofLeft.map(named)
    val rightKeys = rest.map(named)
    val keys = ofLeft.zip(leftKeys) ++ rest.zip(rightKeys)
    val condition = join.condition.map(_.transformDown {
      case c: SampledCall if c.isSampled =>
        keys.collectFirst { case (call, key) if call eq c => key.toAttribute }.getOrElse(c)
    })
    def side(input: LogicalPlan, keys: Seq[Alias]): LogicalPlan =
      if (keys.isEmpty) input else sampled(Project(input.output ++ keys, input))
    val moved = join.copy(
      left = side(join.left, leftKeys),
      right = side(join.right, rightKeys),
      condition = condition)
    Project(join.output, moved)
  }

  private def named(call: SampledCall): Alias = Alias(call, call.prettyName)()

  private def outermost(expressions: Seq[Expression]): Seq[SampledCall] = expressions.flatMap {
    case c: SampledCall if c.isSampled => Seq(c)
    case e => outermost(e.children)
  }
}
