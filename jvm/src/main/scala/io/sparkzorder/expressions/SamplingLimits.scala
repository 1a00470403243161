package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

import io.sparkzorder.errors.ZOrderErrors

/** Where the rows of a call cannot be sampled. */
private[expressions] object SamplingLimits {

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
      if (op.children.exists(_.exists(_.expressions.exists(hasOuter)))) {
        refuse(call, "in a subquery that depends on columns of an outer query")
      }
    }
  }

  /** The input whose rows are sampled: of several, the one that has all columns of the calls. */
  def inputOf(op: LogicalPlan, calls: Seq[SampledCall]): LogicalPlan = op.children match {
    case Seq(input) => input
    case inputs =>
      val columns = AttributeSet(calls.flatMap(_.references))
      inputs.find(i => columns.subsetOf(i.outputSet)).getOrElse {
        val where =
          if (inputs.isEmpty) s"in ${op.nodeName}, which has no input"
          else s"over columns of both sides of ${op.nodeName}"
        refuse(calls.head, where)
      }
  }

  def refuse(call: SampledCall, where: String): Nothing =
    throw ZOrderErrors.samplingNotSupported(call.prettyName, where)

  private def hasOuter(e: Expression): Boolean = e.exists(_.isInstanceOf[OuterReference])
}
