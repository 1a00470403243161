package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions.{
  ExpectsInputTypes,
  Expression,
  ExpressionDescription
}
import org.apache.spark.sql.sparkzorder.InputTypes
import org.apache.spark.sql.sparkzorder.InputTypes.InputType
import org.apache.spark.sql.types._

import io.sparkzorder.bits.BitInterleaver
import io.sparkzorder.expressions.sampling.ArgumentChecks

/**
 * `interleave_bits(c1, ..., cn)`: the bits of the columns, one of each in turn.
 *
 * Negative integers have their sign bit set and so come after positive ones; [[OrderedBits]] or range
 * ids keep the order. For INT columns these are the bytes of Delta Lake's expression of this name.
 */
// scalastyle:off line.size.limit
@ExpressionDescription(
  usage =
    """
    _FUNC_(col1, col2, ...) - Returns the bits of all columns interleaved into a BINARY, the most significant bits and the first column first.
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
    Columns are aligned at their most significant bits, and a column that has run out of bits contributes none, so the result has as many bytes as the columns together. NULL counts as zero bits: all bits of an integer zero, and no bits of a BINARY. Integers are taken as they are, so negative ones come after positive ones; `zorder_by_value` and `zorder` keep the order.
  """,
  since = "0.1.0",
  group = "bitwise_funcs")
// scalastyle:on line.size.limit
case class InterleaveBits(children: Seq[Expression]) extends InterleavedColumns {

  override def prettyName: String = "interleave_bits"

  override def checkInputDataTypes(): TypeCheckResult = {
    ArgumentChecks.requireCount(prettyName, "> 0", children.length, children.nonEmpty)
    ExpectsInputTypes.checkInputDataTypes(children, children.map(_ => InterleaveBits.inputType))
  }

  /** The width of an integer; 0 for BINARY, whose rows have widths of their own. */
  private def bytes(column: Int): Int = children(column).dataType match {
    case BinaryType => 0
    case integral => integral.defaultSize
  }

  override protected def nullBytes(column: Int): Int = bytes(column)

  override protected def put(interleaver: BitInterleaver, column: Int, value: Any): Unit =
    value match {
      case null => interleaver.set(column, 0L, nullBytes(column))
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

object InterleaveBits {
  private val inputType: InputType =
    InputTypes.oneOf(ByteType, ShortType, IntegerType, LongType, BinaryType)
}
