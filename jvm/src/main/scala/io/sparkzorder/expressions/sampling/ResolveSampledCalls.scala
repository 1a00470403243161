package io.sparkzorder.expressions.sampling

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

import io.sparkzorder.conf.Settings

/**
 * Replaces each [[SampledCall]] by an expression that reads its ranks from a sample of the operator's
 * input.
 *
 * The sample is an uncorrelated scalar subquery over that input, so Spark runs it when the query runs
 * and not before (EXPLAIN starts no job), once for all calls of the operator, and plans it as any
 * other subquery: below caches, in commands, in views.
 *
 * Runs after resolution, when the input's columns are known, and before Spark's checks, so that a call
 * that cannot be sampled is refused by our own condition.
 */
object ResolveSampledCalls extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    // a part of a query may come here before the rest of it is resolved; it comes again
    if (!enabled || !plan.resolved && plan.exists(_.expressions.exists(!_.resolved))) plan
    else {
      plan.resolveOperatorsUp {
        case op if calls(op).nonEmpty =>
          SamplingLimits.check(op)
          rewrite(op)
      }
    }

  private def enabled: Boolean =
    Settings.Enabled.parse(
      conf.getConfString(Settings.Enabled.sessionKey, "true"),
      Settings.Enabled.sessionKey)

  private def rewrite(op: LogicalPlan): LogicalPlan = op match {
    case aggregate: Aggregate if calls(aggregate).exists(SampledAggregate.isOverGroups) =>
      val overGroups = SampledAggregate.split(aggregate)
      sampled(overGroups.copy(child = sampled(overGroups.child)))
    case _ => sampled(op)
  }

  /** Replaces the calls of an operator, those that are arguments of others first. */
  private def sampled(op: LogicalPlan): LogicalPlan = {
    val innermost = calls(op).filterNot(_.children.exists(_.exists(isCall)))
    if (innermost.isEmpty) op
    else {
      val replacements = innermost.groupBy(SamplingLimits.inputOf(op, _)).toSeq.flatMap {
        case (input, group) => group.zip(bySample(op.children(input), group))
      }
      sampled(op.transformExpressionsUp {
        case call: SampledCall =>
          replacements.collectFirst { case (c, found) if c eq call => found }.getOrElse(call)
      })
    }
  }

  /** What evaluates calls over one input: they share a sample. */
  private def bySample(input: LogicalPlan, calls: Seq[SampledCall]): Seq[Expression] = {
    val columns = ExpressionSet(calls.flatMap(_.sampledColumns)).toSeq
    val sample = ScalarSubquery(sampleOf(input, columns))
    calls.map { call =>
      call.bySample(sample, call.sampledColumns.map(c => columns.indexWhere(c.semanticEquals)))
    }
  }

  /** The aggregate over the input; computed columns get a projection of their own. */
  private def sampleOf(input: LogicalPlan, columns: Seq[Expression]): LogicalPlan = {
    val named = columns.map {
      case a: Attribute => a
      case e => Alias(e, "key")()
    }
    val keys = SampleKeys(named.map(_.toAttribute)).toAggregateExpression()
    Aggregate(Nil, Seq(Alias(keys, "sample")()), Project(named, input))
  }

  private[sparkzorder] def calls(op: LogicalPlan): Seq[SampledCall] =
    op.expressions.flatMap(_.collect { case c: SampledCall if c.isSampled => c })

  private[sparkzorder] def isCall(e: Expression): Boolean = e match {
    case c: SampledCall => c.isSampled
    case _ => false
  }
}
