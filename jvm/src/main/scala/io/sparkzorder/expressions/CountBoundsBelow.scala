package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, RuntimeReplaceable, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{
  CodegenContext,
  CodeGenerator,
  ExprCode,
  FalseLiteral
}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.util.{ArrayData, TypeUtils}
import org.apache.spark.sql.types.{ArrayType, DataType, IntegerType}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.ordering.BoundsIndex

/** The number of `bounds` below the child, 0 for NULL. */
case class CountBoundsBelow(child: Expression, bounds: BoundsIndex) extends UnaryExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = IntegerType
  override def stringArgs: Iterator[Any] = Iterator(child)

  override def eval(input: InternalRow): Any = {
    val value = child.eval(input)
    // a slot counts each bound below the value twice, and once more for one that equals it
    if (value == null) 0 else bounds.slotOf(value) >> 1
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val value = child.genCode(ctx)
    val index = ctx.addReferenceObj("bounds", bounds)
    val slot = BoundsIndex.slotCode(child.dataType, index, value.value.toString)
    val count = if (child.nullable) s"${value.isNull} ? 0 : $slot >> 1" else s"$slot >> 1"
    ev.copy(
      code = code"""
        ${value.code}
        ${CodeGenerator.JAVA_INT} ${ev.value} = $count;
      """,
      isNull = FalseLiteral)
  }

  override protected def withNewChildInternal(newChild: Expression): CountBoundsBelow =
    copy(child = newChild)
}

private[sparkzorder] object LiteralBounds {

  /**
   * The bounds of an argument that is a literal ARRAY, in ascending order.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_BOUNDS_INVALID, which says what is wrong
   */
  def require(function: String, array: Expression): BoundsIndex = {
    def fail(problem: String) = throw ZOrderErrors.boundsInvalid(function, problem)
    if (!array.foldable) fail("they are not a literal")
    val elementType = array.dataType.asInstanceOf[ArrayType].elementType
    val value = evaluated(array)
    if (value == null) fail("they are NULL")
    val bounds = value.asInstanceOf[ArrayData].toObjectArray(elementType).asInstanceOf[Array[Any]]
    if (bounds.isEmpty) fail("they are empty")
    if (bounds.contains(null)) fail(s"element ${bounds.indexOf(null) + 1} is NULL")
    val order = TypeUtils.getInterpretedOrdering(elementType)
    bounds.indices.drop(1).find(i => order.gt(bounds(i - 1), bounds(i))).foreach { i =>
      fail(
        s"element ${i + 1}, ${TypeUtils.toSQLValue(bounds(i), elementType)}, is below element " +
          s"$i, ${TypeUtils.toSQLValue(bounds(i - 1), elementType)}")
    }
    BoundsIndex.ofSorted(elementType, bounds)
  }

  private def evaluated(array: Expression): Any =
    array.transformUp { case r: RuntimeReplaceable => r.replacement }.eval()
}
