// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions.sampling

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.{DataType, LongType}

import io.sparkzorder.errors.ZOrderErrors

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
