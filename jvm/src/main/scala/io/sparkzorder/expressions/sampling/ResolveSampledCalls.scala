// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions.sampling

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types.{DataType, LongType}

import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.plans.Repeatability

/**
 * Replaces each [[SampledCall]] by an expression that reads ranks from a sample of the input of the
 * operator.
 *
 * The sample is an uncorrelated scalar subquery over this input. Spark runs the subquery once for all calls over one
 * input, and only when the query runs, so EXPLAIN starts no job. A call inside a call has a sample of its own. Spark
 * plans the subquery like any other one, so sampled calls also work in cached queries, commands and views.
 *
 * The rule runs after resolution, when the columns of the input are known. It runs before Spark's checks, so a call
 * whose input cannot be sampled fails with an error condition of spark-zorder.
 */
private[sparkzorder] object ResolveSampledCalls extends Rule[LogicalPlan] {
  import SampledCall._

  override def apply(plan: LogicalPlan): LogicalPlan =
    // Spark may apply the rule to a part of a query that is not resolved yet, and applies the rule again
    // when the part is resolved.
    if (!enabled || !plan.resolved && plan.exists(_.expressions.exists(!_.resolved))) plan
    else {
      plan.resolveOperatorsUp {
        case op if in(op).nonEmpty =>
          SamplingLimits.check(op)
          rewrite(op)
      }
    }

  private def enabled: Boolean = Settings.ofSession(Settings.Enabled)

  private def rewrite(op: LogicalPlan): LogicalPlan = op match {
    case aggregate: Aggregate if in(aggregate).exists(CallsOverGroups.isOverGroups) =>
      val overGroups = CallsOverGroups.split(aggregate)
      sampled(overGroups.copy(child = sampled(overGroups.child)))
    case _ => sampled(op)
  }

  /** Replaces the calls of an operator. Calls that are arguments of other calls are replaced first. */
  private def sampled(op: LogicalPlan): LogicalPlan = {
    val innermost = in(op).filterNot(_.children.exists(_.exists(isCall)))
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

  /**
   * The replacements of the calls over one input. All calls share one sample.
   *
   * @param prepare transforms the plan of the subquery. A caller that runs after Spark's optimizer optimizes the
   *   plan here
   */
  def bySample(
      input: LogicalPlan,
      calls: Seq[SampledCall],
      prepare: LogicalPlan => LogicalPlan = identity): Seq[Expression] = {
    val columns = ExpressionSet(calls.flatMap(_.sampledColumns)).toSeq
    val sample = ScalarSubquery(prepare(sampleOf(input, columns)))
    calls.map { call =>
      call.bySample(sample, call.sampledColumns.map(c => columns.indexWhere(c.semanticEquals)))
    }
  }

  /**
   * The sampling aggregate over the input. A projection below the aggregate computes the sampled columns,
   * which may be expressions.
   */
  private def sampleOf(input: LogicalPlan, columns: Seq[Expression]): LogicalPlan = {
    val named = columns.map {
      case a: Attribute => a
      case e => Alias(e, "key")()
    }
    val keys = SampleAggregate(named.map(_.toAttribute)).toAggregateExpression()
    Aggregate(Nil, Seq(Alias(keys, "sample")()), Project(named, input))
  }
}

/**
 * Sampled calls whose arguments are results of an aggregate, as in
 * `SELECT zorder(max(a), b) ... GROUP BY b`.
 */
private[sampling] object CallsOverGroups {

  def isOverGroups(call: SampledCall): Boolean =
    call.children.exists(_.exists(_.isInstanceOf[AggregateExpression]))

  /**
   * Splits the aggregate in two: an aggregate that computes the groups, and above it a projection with the calls over
   * the results of the groups.
   */
  def split(aggregate: Aggregate): Project = {
    val computed = Seq.newBuilder[NamedExpression]
    def below(e: Expression): Expression =
      if (e.foldable) e
      else if (!e.exists(isCallOverGroups)) {
        val alias = Alias(e, "group")()
        computed += alias
        alias.toAttribute
      } else e.mapChildren(below)
    val above = aggregate.aggregateExpressions.map {
      case e if e.exists(isCallOverGroups) => below(e).asInstanceOf[NamedExpression]
      case e =>
        computed += e
        e.toAttribute
    }
    Project(above, aggregate.copy(aggregateExpressions = computed.result()))
  }

  private def isCallOverGroups(e: Expression): Boolean = e match {
    case c: SampledCall => c.isSampled && isOverGroups(c)
    case _ => false
  }
}

/** Checks whether the input of a call can be sampled. */
private[sampling] object SamplingLimits {

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_SAMPLING_NOT_SUPPORTED */
  def check(op: LogicalPlan): Unit = {
    val calls = SampledCall.in(op)
    val inLambda = op.expressions.flatMap(_.collect { case l: LambdaFunction => l }).flatMap {
      SampledCall.in(_)
    }
    inLambda.headOption.foreach(refuse(_, "inside a lambda function"))
    // an expression such as rand() would give the sample other values than the rows
    calls.find(!_.sampledColumns.forall(Repeatability.isSameValue))
      .foreach(refuse(_, "over values that differ each time they are computed"))
    calls.find(c => hasOuter(c)).foreach(refuse(_, "over columns of an outer query"))
    calls.headOption.foreach { call =>
      if (op.isStreaming) refuse(call, "on a stream")
      if (op.children.exists(_.exists(PlanBridge.isSelfReference))) {
        refuse(call, "inside a recursive query")
      }
      if (op.children.exists(_.exists(_.expressions.exists(hasOuter)))) {
        refuse(call, "in a subquery that depends on columns of an outer query")
      }
    }
  }

  /**
   * The index of the input of the operator that a call samples. One input of a join must have all columns
   * of the call.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_SAMPLING_NOT_SUPPORTED
   */
  def inputOf(op: LogicalPlan, call: SampledCall): Int = op.children match {
    case Seq(_) => 0
    case Seq() => refuse(call, s"in ${op.nodeName}, which has no input")
    case inputs =>
      val index = inputs.indexWhere(i => call.references.subsetOf(i.outputSet))
      if (index < 0) refuse(call, "over columns of both sides of a join") else index
  }

  def refuse(call: SampledCall, where: String): Nothing =
    throw ZOrderErrors.samplingNotSupported(call.prettyName, where)

  private def hasOuter(e: Expression): Boolean = e.exists(_.isInstanceOf[OuterReference])
}

/**
 * A function call whose result depends on the distribution of its columns. [[ResolveSampledCalls]]
 * replaces the call by an expression that can be evaluated.
 */
private[sparkzorder] trait SampledCall extends Expression {

  /** Whether this call needs a sample. */
  def isSampled: Boolean

  /** The columns whose distribution the call needs. */
  def sampledColumns: Seq[Expression]

  /**
   * The expression that evaluates this call.
   *
   * @param sample a BINARY expression with the [[SampledRanks]] of all columns that are sampled
   *   together
   * @param positions for each of [[sampledColumns]], its position in the sample
   */
  def bySample(sample: Expression, positions: Seq[Int]): Expression

  /** Raises an error, because [[ResolveSampledCalls]] has not replaced this call. */
  protected def notSampled(): Nothing =
    throw ZOrderErrors.samplingNotSupported(prettyName, "while spark.zorder.enabled is false")
}

private[sampling] object SampledCall {

  /** The calls that need a sample in an expression, or in the expressions of one operator. */
  def in(e: Expression): Seq[SampledCall] = e.collect { case c: SampledCall if c.isSampled => c }
  def in(op: LogicalPlan): Seq[SampledCall] = op.expressions.flatMap(in(_: Expression))

  def isCall(e: Expression): Boolean = e match {
    case c: SampledCall => c.isSampled
    case _ => false
  }
}

/** A sampled call that returns a BIGINT: a row's position on a curve through the call's columns. */
private[sparkzorder] trait SampledCurve extends SampledCall {

  /** The maximum number of columns; the minimum is 1. */
  protected def maxColumns: Int

  override def nullable: Boolean = false
  override def dataType: DataType = LongType
  override def foldable: Boolean = false

  override def checkInputDataTypes(): TypeCheckResult = {
    val n = children.length
    ArgumentChecks.requireCount(prettyName, s"1 to $maxColumns", n, n >= 1 && n <= maxColumns)
    ArgumentChecks.orderable(prettyName, children)
  }

  override def isSampled: Boolean = true
  override def sampledColumns: Seq[Expression] = children

  override def eval(input: InternalRow): Any = notSampled()
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = notSampled()
}
