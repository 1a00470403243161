package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{TypeCheckResult, TypeCoercion}
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult.TypeCheckSuccess
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.sparkzorder.InputTypes
import org.apache.spark.sql.sparkzorder.InputTypes.InputType
import org.apache.spark.sql.types._

import io.sparkzorder.expressions.sampling.{ArgumentChecks, SampledCall}

/**
 * `range_partition_id(c [, n])` and `range_partition_id(c, bounds)`.
 *
 * With bounds it is evaluated as it stands, by [[CountBoundsBelow]]. With a number of ranges it stands
 * for the id until [[ResolveSampledCalls]] has put a sample of the operator's input under it.
 */
// scalastyle:off line.size.limit
@ExpressionDescription(
  usage =
    """
    _FUNC_(col [, n]) - Returns the range id of the column within the rows of the query, an INT from 0 to n - 1 in the order of the column: rows are dealt to n ranges of about as many rows each.
    _FUNC_(col, bounds) - Returns the number of bounds below the column, an INT from 0 to size(bounds).
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
    The first form samples the rows that enter the operator, once for all calls of the operator, when the query runs. Equal values have equal ids, a value of many rows leaves ids on either side of its own unused, and NULL is 0. It does not work in streams, lambda functions, or over columns of an outer query; the second form does.
  """,
  since = "0.1.0",
  group = "misc_funcs")
// scalastyle:on line.size.limit
case class RangePartitionId(child: Expression, ranges: Expression)
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

object RangePartitionId {
  val Name = "range_partition_id"
  val DefaultRanges = 1024
}
