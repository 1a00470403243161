// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{TypeCheckResult, TypeCoercion}
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult.TypeCheckSuccess
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{
  CodegenContext,
  CodeGenerator,
  ExprCode,
  FalseLiteral
}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.util.{ArrayData, TypeUtils}
import org.apache.spark.sql.sparkzorder.InputTypes
import org.apache.spark.sql.sparkzorder.InputTypes.InputType
import org.apache.spark.sql.types._

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.expressions.sampling.{ArgumentChecks, SampledCall}
import io.sparkzorder.ordering.BoundsIndex

/**
 * `range_partition_id(c [, n])` and `range_partition_id(c, bounds)`.
 *
 * With bounds, [[CountBoundsBelow]] evaluates the call. With a number of ranges, the call is a
 * placeholder: [[ResolveSampledCalls]] replaces it by an expression that reads a sample.
 */
// scalastyle:off line.size.limit
@ExpressionDescription(
  usage =
    """
    _FUNC_(col [, n]) - Divides the rows of the query into n ranges of the column with about the same number of rows each, and returns the number of the row's range, an INT from 0 to n - 1.
    _FUNC_(col, bounds) - Returns how many of the bounds are less than the value of the column, an INT from 0 to size(bounds).
  """,
  arguments = """
    Arguments:
      * col - a column of an orderable atomic type.
      * n - the number of ranges, a literal INT of at least 1; 1024 by default.
      * bounds - a literal ARRAY in ascending order, without NULL and with at least one element.
  """,
  examples = """
    Examples:
      > SELECT col, _FUNC_(col, 4) FROM VALUES (10), (20), (30), (40) AS tab(col) ORDER BY col;
       10	0
       20	1
       30	2
       40	3
      > SELECT _FUNC_(15, array(10, 20, 30));
       1
      > SELECT _FUNC_(10, array(10, 20, 30)), _FUNC_(99, array(10, 20, 30));
       0	3
  """,
  note =
    """
    For the first form, Spark samples the input of the operator once for all calls in it, when the query runs. Equal values get equal ids. The ids next to the id of a very frequent value can remain unused. NULL gets 0. The sample gives at most 4096 bounds, so more than 4096 ranges have very different numbers of rows, and of more than 8193 ranges some stay empty: 4096 bounds give at most 8193 different ids, one for each bound and one for each gap. The first form does not work in streams, in lambda functions, or over columns of an outer query. The second form works there.
  """,
  since = "0.3.0",
  group = "misc_funcs")
// scalastyle:on line.size.limit
private[sparkzorder] case class RangePartitionId(child: Expression, ranges: Expression)
    extends Expression
    with ImplicitCastInputTypes
    with SampledCall {

  def this(child: Expression) = this(child, Literal(RangePartitionId.DefaultRanges))

  override def children: Seq[Expression] = Seq(child, ranges)
  override def prettyName: String = RangePartitionId.Name
  override def nullable: Boolean = false
  override def dataType: DataType = IntegerType
  override def foldable: Boolean = !isSampled && child.foldable && ranges.foldable

  override def inputTypes: Seq[InputType] = ranges.dataType match {
    case ArrayType(element, _) =>
      TypeCoercion.findWiderTypeWithoutStringPromotion(Seq(child.dataType, element)) match {
        case Some(common) => Seq(common, ArrayType(common))
        case None => Seq(InputTypes.any, InputTypes.any)
      }
    case _ => Seq(InputTypes.any, IntegerType)
  }

  override def checkInputDataTypes(): TypeCheckResult = {
    val checks = Iterator(
      () => ArgumentChecks.orderable(prettyName, Seq(child)),
      () => super.checkInputDataTypes(),
      () => checkRanges())
    checks.map(_()).find(_.isFailure).getOrElse(TypeCheckSuccess)
  }

  private def checkRanges(): TypeCheckResult =
    if (isSampled) ArgumentChecks.literalInt("n", ranges, 1 to Int.MaxValue)
    else if (ranges.dataType.asInstanceOf[ArrayType].elementType != child.dataType) {
      ArgumentChecks.unexpectedType(ranges, 1, TypeUtils.toSQLType(ArrayType(child.dataType)))
    } else {
      LiteralBounds.require(prettyName, ranges)
      TypeCheckSuccess
    }

  override def isSampled: Boolean = !ranges.dataType.isInstanceOf[ArrayType]
  override def sampledColumns: Seq[Expression] = Seq(child)

  override def bySample(sample: Expression, positions: Seq[Int]): Expression =
    RangeIdBySample(child, ranges.eval().asInstanceOf[Int], sample, positions.head)

  @transient private lazy val byBounds: CountBoundsBelow =
    CountBoundsBelow(child, LiteralBounds.require(prettyName, ranges))

  override def eval(input: InternalRow): Any =
    if (isSampled) notSampled() else byBounds.eval(input)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    if (isSampled) notSampled() else byBounds.genCode(ctx)

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[Expression]): RangePartitionId = copy(newChildren(0), newChildren(1))
}

private[sparkzorder] object RangePartitionId {
  val Name = "range_partition_id"
  val DefaultRanges = 1024
}

/** The number of `bounds` below the value of the child; 0 for NULL. */
private[sparkzorder] case class CountBoundsBelow(child: Expression, bounds: BoundsIndex)
    extends UnaryExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = IntegerType
  override def stringArgs: Iterator[Any] = Iterator(child)

  override def eval(input: InternalRow): Any = {
    val value = child.eval(input)
    // a slot counts each bound below the value twice and a bound that equals the value once
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

private[expressions] object LiteralBounds {

  /**
   * The bounds in an argument that must be a literal ARRAY in ascending order.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_BOUNDS_INVALID
   */
  def require(function: String, array: Expression): BoundsIndex = {
    def fail(problem: String) = throw ZOrderErrors.boundsInvalid(function, problem)
    if (!array.foldable) fail("they are not a literal")
    val elementType = array.dataType.asInstanceOf[ArrayType].elementType
    val value = array.transformUp { case r: RuntimeReplaceable => r.replacement }.eval()
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
}
