package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{
  CodegenContext,
  CodeGenerator,
  ExprCode,
  FalseLiteral
}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.{DataType, LongType}

import io.sparkzorder.bits.HilbertCurve

/**
 * The Hilbert index of the point that a Z-value names: internal, put around what gives the Z-value.
 *
 * @param child BIGINT, never null: the Z-value of `columns` range ids
 * @param columns 1 to [[io.sparkzorder.bits.HilbertCurve.MaxColumns]]
 */
case class HilbertIndex(child: Expression, columns: Int) extends UnaryExpression {

  override def nullable: Boolean = false
  override def dataType: DataType = LongType
  override def prettyName: String = "hilbert_index"

  @transient private lazy val curve = HilbertCurve.of(columns)

  override def eval(input: InternalRow): Any =
    curve.index(child.eval(input).asInstanceOf[Long])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val z = child.genCode(ctx)
    val kernel = ctx.addReferenceObj("hilbertCurve", curve)
    ev.copy(
      code = code"""
        ${z.code}
        ${CodeGenerator.JAVA_LONG} ${ev.value} = $kernel.index(${z.value});
      """,
      isNull = FalseLiteral)
  }

  override protected def withNewChildInternal(newChild: Expression): HilbertIndex =
    copy(child = newChild)
}
