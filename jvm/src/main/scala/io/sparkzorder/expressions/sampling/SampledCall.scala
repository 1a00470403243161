package io.sparkzorder.expressions.sampling

import org.apache.spark.sql.catalyst.expressions.Expression

import io.sparkzorder.errors.ZOrderErrors

/**
 * A call whose result depends on the distribution of its columns. The parser makes it, and
 * [[ResolveSampledCalls]] replaces it by an expression that can be evaluated.
 */
trait SampledCall extends Expression {

  /** Whether this call needs a sample. */
  def isSampled: Boolean

  /** The columns whose distribution is needed. */
  def sampledColumns: Seq[Expression]

  /**
   * The expression that evaluates this call.
   *
   * @param sample BINARY, the [[SampledRanks]] of all columns sampled together
   * @param positions for each of [[sampledColumns]], its position in the sample
   */
  def bySample(sample: Expression, positions: Seq[Int]): Expression

  /** Fails: the rule has not seen this call. */
  protected def notSampled(): Nothing =
    throw ZOrderErrors.samplingNotSupported(prettyName, "while spark.zorder.enabled is false")
}
