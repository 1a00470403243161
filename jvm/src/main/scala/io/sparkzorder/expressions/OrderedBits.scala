// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{
  CodegenContext,
  CodeGenerator,
  ExprCode,
  FalseLiteral
}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.sparkzorder.InputTypes
import org.apache.spark.sql.sparkzorder.InputTypes.InputType
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.bits.OrderedBytes
import io.sparkzorder.expressions.sampling.ArgumentChecks
import io.sparkzorder.ordering.{
  BinaryOrder,
  FixedOrder,
  JavaNames,
  OrderedStrings,
  OrderedType,
  StringOrder,
  WideDecimalOrder
}

/**
 * `ordered_bits(c [, bytes])`: bytes whose unsigned order is Spark's order of the column's values.
 */
// scalastyle:off line.size.limit
@ExpressionDescription(
  usage =
    """
    _FUNC_(col [, bytes]) - Returns a BINARY whose unsigned byte order is Spark's order of the column.
  """,
  arguments =
    """
    Arguments:
      * col - a column of an orderable atomic type.
      * bytes - the width of the result for STRING, CHAR, VARCHAR and BINARY, a literal INT from 1 to 64; 8 by default. Every other type has a fixed width.
  """,
  examples = """
    Examples:
      > SELECT hex(_FUNC_(-1)), hex(_FUNC_(0)), hex(_FUNC_(1));
       7FFFFFFF	80000000	80000001
      > SELECT hex(_FUNC_('ab'));
       6162000000000000
      > SELECT hex(_FUNC_('common/prefix/1', 16));
       636F6D6D6F6E2F7072656669782F3100
      > SELECT hex(_FUNC_(cast(NULL as smallint)));
       0000
  """,
  note =
    """
    -0.0 equals 0.0, and NaN is the greatest value. Strings and binaries with the same first bytes give the same result. All bytes of a NULL are 0, like those of the smallest value of most types. The width is 1 byte for BOOLEAN and TINYINT; 2 for SMALLINT; 4 for INT, FLOAT, DATE and year-month intervals; 8 for BIGINT, DOUBLE, timestamps, TIME, day-time intervals and DECIMAL of up to 18 digits; and 16 for longer DECIMAL.
  """,
  since = "0.3.0",
  group = "bitwise_funcs")
// scalastyle:on line.size.limit
private[sparkzorder] case class OrderedBits(child: Expression, bytes: Expression)
    extends Expression
    with ImplicitCastInputTypes {

  def this(child: Expression) = this(child, Literal(OrderedBits.DefaultBytes))

  override def children: Seq[Expression] = Seq(child, bytes)
  override def prettyName: String = "ordered_bits"
  override def nullable: Boolean = false
  override def dataType: DataType = BinaryType
  override def foldable: Boolean = child.foldable && bytes.foldable
  override def inputTypes: Seq[InputType] = Seq(InputTypes.any, IntegerType)

  override def checkInputDataTypes(): TypeCheckResult = {
    val checks = Iterator(
      () => super.checkInputDataTypes(),
      () => ArgumentChecks.orderable(prettyName, Seq(child)),
      () => ArgumentChecks.literalInt("bytes", bytes, 1 to OrderedBits.MaxBytes))
    checks.map(_()).find(_.isFailure).getOrElse(TypeCheckResult.TypeCheckSuccess)
  }

  @transient private lazy val order: OrderedType = OrderedType.require(child.dataType)
  @transient private lazy val width: Int = bytes.eval().asInstanceOf[Int]

  override def eval(input: InternalRow): Any =
    OrderedBits.of(child.dataType, child.eval(input), width)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val value = child.genCode(ctx)
    val v = value.value.toString
    val kernel = JavaNames.of(OrderedBytes)
    val strings = JavaNames.of(OrderedStrings)
    val (found, zeros) = order match {
      case f: FixedOrder => (s"$kernel.of(${f.bitsCode(f.longCode(v))}, ${f.bytes})", f.bytes)
      case w: WideDecimalOrder => (s"$kernel.of(${w.unscaledCode(v)})", 16)
      case BinaryOrder => (s"$kernel.padded($v, $width)", width)
      case StringOrder => (s"$strings.padded($v, $width)", width)
    }
    val result = if (child.nullable) s"${value.isNull} ? new byte[$zeros] : $found" else found
    ev.copy(
      code = code"""
        ${value.code}
        ${CodeGenerator.javaType(dataType)} ${ev.value} = $result;
      """,
      isNull = FalseLiteral)
  }

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[Expression]): OrderedBits = copy(newChildren(0), newChildren(1))
}

private[sparkzorder] object OrderedBits {

  /** The default width of the ordered bits of a string. */
  val DefaultBytes = 8
  val MaxBytes = 64

  /**
   * The ordered bits of one Catalyst value; a null gives only zeros.
   *
   * @param bytes the width for STRING, CHAR, VARCHAR and BINARY; other types have a fixed width
   */
  def of(dataType: DataType, value: Any, bytes: Int = DefaultBytes): Array[Byte] =
    OrderedType.require(dataType) match {
      case f: FixedOrder =>
        if (value == null) new Array[Byte](f.bytes)
        else OrderedBytes.of(f.toBits(f.toLong(value)), f.bytes)
      case w: WideDecimalOrder =>
        if (value == null) new Array[Byte](16)
        else OrderedBytes.of(w.unscaled(value.asInstanceOf[Decimal]))
      case _ if value == null => new Array[Byte](bytes)
      case StringOrder => OrderedStrings.padded(value.asInstanceOf[UTF8String], bytes)
      case BinaryOrder => OrderedBytes.padded(value.asInstanceOf[Array[Byte]], bytes)
    }
}
