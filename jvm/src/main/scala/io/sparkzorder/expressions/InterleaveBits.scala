// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions.{
  ExpectsInputTypes,
  Expression,
  ExpressionDescription
}
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

import io.sparkzorder.bits.{BitInterleaver, OrderedLongs}
import io.sparkzorder.expressions.sampling.ArgumentChecks
import io.sparkzorder.ordering.{
  BinaryOrder,
  FixedOrder,
  JavaNames,
  OrderedType,
  StringOrder,
  WideDecimalOrder
}

/**
 * `interleave_bits(c1, ..., cn)`: takes one bit of each column in turn, from the most significant bits on.
 *
 * Negative integers have their sign bit set, so they sort after positive integers. To keep the order,
 * interleave [[OrderedBits]] or range ids. For INT columns, the result equals the result of Delta Lake's
 * expression of the same name.
 */
// scalastyle:off line.size.limit
@ExpressionDescription(
  usage =
    """
    _FUNC_(col1, col2, ...) - Interleaves the bits of all columns into one BINARY. The most significant bits of all columns come first. Among bits of equal significance, the bit of the first column comes first.
  """,
  arguments = """
    Arguments:
      * col - TINYINT, SMALLINT, INT, BIGINT or BINARY, in any mix.
  """,
  examples = """
    Examples:
      > SELECT hex(_FUNC_(0, 99, 50));
       00000000000000000009901A
      > SELECT hex(_FUNC_(cast(214 - 256 as tinyint), cast(97 as tinyint)));
       B629
      > SELECT hex(_FUNC_(cast(NULL as tinyint), X'FFFF'));
       5555FF
  """,
  note =
    """
    The columns are aligned at their most significant bits. A column that has no bits left contributes none, so the result has as many bytes as all columns together. NULL counts as an integer with all bits zero, or as a BINARY of no bytes. Integers are interleaved as they are stored, so negative integers sort after positive ones. Use `zorder_by_value` or `zorder` to keep their order.
  """,
  since = "0.3.0",
  group = "bitwise_funcs")
// scalastyle:on line.size.limit
private[sparkzorder] case class InterleaveBits(children: Seq[Expression])
    extends InterleavedColumns {

  override def prettyName: String = "interleave_bits"

  override def checkInputDataTypes(): TypeCheckResult = {
    ArgumentChecks.requireCount(prettyName, "> 0", children.length, children.nonEmpty)
    ExpectsInputTypes.checkInputDataTypes(children, children.map(_ => InterleaveBits.inputType))
  }

  /** The width of the integers of a column in bytes; 0 for BINARY, whose width differs from row to row. */
  private def bytes(column: Int): Int = children(column).dataType match {
    case BinaryType => 0
    case integral => integral.defaultSize
  }

  override protected def nullBytes(column: Int): Int = bytes(column)

  override protected def put(interleaver: BitInterleaver, column: Int, value: Any): Unit =
    value match {
      case v: Int => interleaver.set(column, v.toLong << 32, 4)
      case v: Long => interleaver.set(column, v, 8)
      case v: Short => interleaver.set(column, v.toLong << 48, 2)
      case v: Byte => interleaver.set(column, v.toLong << 56, 1)
      case v: Array[Byte] => interleaver.set(column, v)
    }

  override protected def bitsCode(column: Int, value: String): String = bytes(column) match {
    case 0 => value
    case width => s"((long) $value) << ${64 - 8 * width}, $width"
  }

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[Expression]): InterleaveBits = copy(children = newChildren)
}

private[sparkzorder] object InterleaveBits {
  private val inputType: InputType =
    InputTypes.oneOf(ByteType, ShortType, IntegerType, LongType, BinaryType)
}

/** An expression that interleaves one value of each column by a [[BitInterleaver]]. */
private[sparkzorder] trait InterleavedColumns extends Expression {

  override def nullable: Boolean = false
  override def dataType: DataType = BinaryType
  override def foldable: Boolean = children.forall(_.foldable)

  /** Sets the non-null value of a column in the interleaver. */
  protected def put(interleaver: BitInterleaver, column: Int, value: Any): Unit

  /** Java code for the arguments that follow the column in a call of `BitInterleaver.set`; `value` is not null. */
  protected def bitsCode(column: Int, value: String): String

  /** The number of bytes, all 0, that stand for NULL in the column. */
  protected def nullBytes(column: Int): Int

  override def eval(input: InternalRow): Any = {
    // a local variable and no field, because several threads may evaluate the same expression
    val interleaver = new BitInterleaver(children.length)
    var c = 0
    while (c < children.length) {
      val value = children(c).eval(input)
      if (value == null) interleaver.set(c, 0L, nullBytes(c)) else put(interleaver, c, value)
      c += 1
    }
    interleaver.result()
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val kernel = classOf[BitInterleaver].getName
    val interleaver =
      ctx.addMutableState(kernel, "interleaver", v => s"$v = new $kernel(${children.length});")
    val steps = children.zipWithIndex.map { case (child, c) =>
      val value = child.genCode(ctx)
      val set = s"$interleaver.set($c, ${bitsCode(c, value.value.toString)});"
      val code =
        if (child.nullable) {
          s"if (${value.isNull}) { $interleaver.set($c, 0L, ${nullBytes(c)}); } else { $set }"
        } else set
      s"${value.code}\n$code"
    }
    val all = ctx.splitExpressionsWithCurrentInputs(steps, funcName = "interleave")
    ev.copy(
      code = code"""
        $all
        ${CodeGenerator.javaType(dataType)} ${ev.value} = $interleaver.result();
      """,
      isNull = FalseLiteral)
  }
}

/**
 * `zorder_by_value(c1, ..., cn)`: equals `interleave_bits(ordered_bits(c1), ...)`, without the
 * intermediate byte arrays.
 */
// scalastyle:off line.size.limit
@ExpressionDescription(
  usage =
    """
    _FUNC_(col1, col2, ...) - Returns a Z-value of the columns' own bits as a BINARY. The result equals `interleave_bits(ordered_bits(col1), ordered_bits(col2), ...)` and needs no sample of the data.
  """,
  arguments = """
    Arguments:
      * col - a column of an orderable atomic type.
  """,
  examples = """
    Examples:
      > SELECT hex(_FUNC_(cast(-1 as tinyint), cast(1 as tinyint)));
       6AAB
      > SELECT _FUNC_(-1) < _FUNC_(1);
       true
  """,
  note =
    """
    The function is stateless, so it works in streams, constraints and generated columns. If the ranges of the columns differ, as for an INT from 0 to 999 and a BIGINT of any value, one column decides the order almost alone. `zorder` has no such skew. NULL sorts before all values, or together with the smallest value.
  """,
  since = "0.3.0",
  group = "misc_funcs")
// scalastyle:on line.size.limit
private[sparkzorder] case class ZOrderByValue(children: Seq[Expression])
    extends InterleavedColumns {

  override def prettyName: String = "zorder_by_value"

  override def checkInputDataTypes(): TypeCheckResult = {
    ArgumentChecks.requireCount(prettyName, "> 0", children.length, children.nonEmpty)
    ArgumentChecks.orderable(prettyName, children)
  }

  @transient private lazy val orders: Array[OrderedType] =
    children.map(c => OrderedType.require(c.dataType)).toArray

  override protected def nullBytes(column: Int): Int = orders(column) match {
    case f: FixedOrder => f.bytes
    case _: WideDecimalOrder => 16
    case StringOrder | BinaryOrder => OrderedBits.DefaultBytes
  }

  override protected def put(interleaver: BitInterleaver, column: Int, value: Any): Unit =
    orders(column) match {
      case f: FixedOrder => interleaver.set(column, f.toBits(f.toLong(value)), f.bytes)
      case w: WideDecimalOrder => interleaver.set(column, w.unscaled(value.asInstanceOf[Decimal]))
      case StringOrder => interleaver.set(column, value.asInstanceOf[UTF8String].getPrefix, 8)
      case BinaryOrder =>
        interleaver.set(column, OrderedLongs.prefixBits(value.asInstanceOf[Array[Byte]]), 8)
    }

  override protected def bitsCode(column: Int, value: String): String = orders(column) match {
    case f: FixedOrder => s"${f.bitsCode(f.longCode(value))}, ${f.bytes}"
    case w: WideDecimalOrder => w.unscaledCode(value)
    case StringOrder => s"$value.getPrefix(), 8"
    case BinaryOrder => s"${JavaNames.of(OrderedLongs)}.prefixBits($value), 8"
  }

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[Expression]): ZOrderByValue = copy(children = newChildren)
}
