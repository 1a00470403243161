package io.sparkzorder.expressions.sampling

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.types.{DataType, LongType}

/** A sampled call that gives the place of a row on a curve through all of its columns, BIGINT. */
trait SampledCurve extends SampledCall {

  /** The most columns that the curve takes; the least is 1. */
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
