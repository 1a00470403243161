package io.sparkzorder.expressions.sampling

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

import io.sparkzorder.errors.ZOrderErrors

/** Where the rows of a call cannot be sampled. */
private[sparkzorder] object SamplingLimits {

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_SAMPLING_NOT_SUPPORTED */
  def check(op: LogicalPlan): Unit = {
    val calls = ResolveSampledCalls.calls(op)
    val inLambda = op.expressions.flatMap(_.collect { case l: LambdaFunction => l }).flatMap {
      _.collect { case c: SampledCall if c.isSampled => c }
    }
    inLambda.headOption.foreach(refuse(_, "inside a lambda function"))
    calls.find(c => hasOuter(c)).foreach(refuse(_, "over columns of an outer query"))
    calls.headOption.foreach { call =>
      if (op.isStreaming) refuse(call, "on a stream")
      if (op.children.exists(_.exists(PlanBridge.isRecursion))) {
        refuse(call, "inside a recursive query")
      }
      if (op.children.exists(_.exists(_.expressions.exists(hasOuter)))) {
        refuse(call, "in a subquery that depends on columns of an outer query")
      }
    }
  }

  /**
   * The index of the input whose rows a call samples: of several, as of a join, the one that has all
   * columns of the call.
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
