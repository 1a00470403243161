// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionDescription}
import org.apache.spark.sql.types.Decimal
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
  since = "0.1.0",
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
    if (value == null) interleaver.set(column, 0L, nullBytes(column))
    else
      orders(column) match {
        case f: FixedOrder => interleaver.set(column, f.toBits(f.toLong(value)), f.bytes)
        case w: WideDecimalOrder =>
          interleaver.set(column, w.unscaled(value.asInstanceOf[Decimal]))
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
