// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.math.{BigDecimal, BigInteger, RoundingMode}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.bits.OrderedLongs
import io.sparkzorder.index.IndexValue
import io.sparkzorder.ordering.{FixedOrder, OrderedType, WideDecimalOrder}

/**
 * The form in which the values of a column are ordered. A literal in the same form can be compared with the
 * bounds in the index.
 */
private[sparkzorder] sealed trait ComparisonDomain

/**
 * Integers, dates, timestamps, times, intervals and booleans as longs, and decimals of up to 18
 * digits as their unscaled values.
 */
private[sparkzorder] final case class WholeNumbers(scale: Int) extends ComparisonDomain

/** FLOAT and DOUBLE, as longs that have Spark's order of doubles. */
private[sparkzorder] case object Reals extends ComparisonDomain

/** Strings and binaries in unsigned order of their bytes. */
private[sparkzorder] case object BytesDomain extends ComparisonDomain

/** Decimals of more than 18 digits, as 16 ordered bytes. */
private[sparkzorder] final case class WideDecimals(scale: Int) extends ComparisonDomain

private[sparkzorder] object ComparisonDomain {

  /** None for types without such an order, for example collated strings and CHAR. */
  def of(dataType: DataType): Option[ComparisonDomain] = dataType match {
    // in some Spark versions CharType is a kind of string type
    case _: CharType => None
    case _ =>
      OrderedType.of(dataType).map {
        case FixedOrder(FloatType | DoubleType, _) => Reals
        case FixedOrder(d: DecimalType, _) => WholeNumbers(d.scale)
        case _: FixedOrder => WholeNumbers(0)
        case WideDecimalOrder(scale) => WideDecimals(scale)
        case _ => BytesDomain
      }
  }

  /** The long of NaN in [[Reals]]. NaN is above all other values. */
  val NaN: Long = OrderedLongs.ofDouble(Double.NaN)
}

/**
 * The position of a literal among the values of a domain. `low` is the greatest value of the domain
 * that is not above the literal. `high` is the least value that is not below the literal. The two
 * are equal if the literal itself is in the domain. Example: in the domain of DECIMAL(3, 1), the literal 1.25 has
 * the position 12 to 13.
 */
private[sparkzorder] sealed trait LiteralPosition { def isExact: Boolean }
private[sparkzorder] final case class LongPosition(low: Long, high: Long) extends LiteralPosition {
  override def isExact: Boolean = low == high
}
private[sparkzorder] final case class BytesPosition(
    low: Array[Byte],
    high: Array[Byte],
    isExact: Boolean)
    extends LiteralPosition

private[sparkzorder] object LiteralPosition {

  /**
   * @param value of a literal, not null, in Spark's internal form
   * @return None if the value has another type, or lies beyond what the domain can represent
   */
  def of(value: Any, domain: ComparisonDomain): Option[LiteralPosition] = (domain, value) match {
    case (WholeNumbers(0), b: Boolean) => exactly(OrderedLongs.ofBoolean(b))
    case (WholeNumbers(scale), d: Decimal) => whole(d.toJavaBigDecimal, scale)
    case (WholeNumbers(0), n: Number) => exactly(n.longValue)
    case (Reals, n: Number) => exactly(OrderedLongs.ofDouble(n.doubleValue))
    case (BytesDomain, s: UTF8String) => exactly(s.getBytes)
    case (BytesDomain, b: Array[Byte]) => exactly(b)
    case (WideDecimals(scale), d: Decimal) =>
      val (low, high) = around(d.toJavaBigDecimal, scale)
      for (a <- IndexValue.wide(low); b <- IndexValue.wide(high))
        yield BytesPosition(a, b, low == high)
    case _ => None
  }

  private def whole(value: BigDecimal, scale: Int): Option[LiteralPosition] = {
    val (low, high) = around(value, scale)
    if (low.bitLength > 63 || high.bitLength > 63) None
    else Some(LongPosition(low.longValue, high.longValue))
  }

  private def around(value: BigDecimal, scale: Int): (BigInteger, BigInteger) = {
    val floor = value.setScale(scale, RoundingMode.FLOOR)
    val low = floor.unscaledValue
    (low, if (floor.compareTo(value) == 0) low else low.add(BigInteger.ONE))
  }

  private def exactly(value: Long): Option[LiteralPosition] = Some(LongPosition(value, value))
  private def exactly(value: Array[Byte]): Option[LiteralPosition] =
    Some(BytesPosition(value, value, isExact = true))
}

/** Comparisons with a column on the left and a literal on the right. */
private[sparkzorder] sealed abstract class Comparison {
  def negated: Comparison

  /** The comparison with the literal on the left and the column on the right. */
  def flipped: Comparison

  /** True if values greater than the literal make the comparison true. */
  def isGreater: Boolean = this == Comparison.Greater || this == Comparison.AtLeast

  /** The values that make the comparison with `literal` true. */
  def intervals(literal: LiteralPosition): Intervals = negated.intervals(literal).complement
}

private[sparkzorder] object Comparison {
  import Intervals.{between, Endless}

  /** Matches an inequality with a literal on either side; the comparison then has the literal on the right. */
  object WithLiteral {
    def unapply(e: Expression): Option[(Expression, Comparison, Literal)] = e match {
      case c: BinaryComparison => (c.left, c.right) match {
          case (other, literal: Literal) => of(c).map((other, _, literal))
          case (literal: Literal, other) => of(c).map(found => (other, found.flipped, literal))
          case _ => None
        }
      case _ => None
    }
  }

  private def of(c: BinaryComparison): Option[Comparison] = c match {
    case _: LessThan => Some(Less)
    case _: LessThanOrEqual => Some(AtMost)
    case _: GreaterThan => Some(Greater)
    case _: GreaterThanOrEqual => Some(AtLeast)
    case _ => None
  }

  case object Less extends Comparison {
    override def negated: Comparison = AtLeast
    override def flipped: Comparison = Greater
    override def intervals(literal: LiteralPosition): Intervals = literal match {
      case LongPosition(_, Long.MinValue) => Intervals.none
      case LongPosition(_, high) => between(Long.MinValue, high - 1)
      case BytesPosition(_, high, _) => ByteIntervals.of(Endless, ByteEnd(high, inclusive = false))
    }
  }

  case object AtMost extends Comparison {
    override def negated: Comparison = Greater
    override def flipped: Comparison = AtLeast
    override def intervals(literal: LiteralPosition): Intervals = literal match {
      case LongPosition(low, _) => between(Long.MinValue, low)
      case BytesPosition(low, _, _) => ByteIntervals.of(Endless, ByteEnd(low, inclusive = true))
    }
  }

  case object Greater extends Comparison {
    override def negated: Comparison = AtMost
    override def flipped: Comparison = Less
  }

  case object AtLeast extends Comparison {
    override def negated: Comparison = Less
    override def flipped: Comparison = AtMost
  }
}

/** A function of a column. A predicate compares the result of the function in place of the column. */
private[sparkzorder] trait ColumnFunction {

  /**
   * The values that the function may map into `results`. The set may hold further values. It may lack values
   * outside of `range` only if `range` holds the values of all files. Otherwise the set could be empty, and an
   * empty set prunes every file, also a file without bounds that holds such a value.
   *
   * @param ofNulls values for which the function is NULL are wanted, too
   * @param range where the values of the files lie; None if this is not known
   * @throws scala.Exception if the values cannot be computed
   */
  def valuesFor(results: Intervals, ofNulls: Boolean, range: => Option[KnownRange]): Intervals
}

/**
 * The range of the values of the files that have bounds.
 *
 * @param isOfAllFiles false if a file without bounds may hold any other value
 */
private[sparkzorder] final case class KnownRange(
    least: Long,
    greatest: Long,
    isOfAllFiles: Boolean) {
  def isEmpty: Boolean = least > greatest
}

/** Ordered longs as values in Spark's internal form. */
private[sparkzorder] object OrderedValue {

  /** @throws IllegalArgumentException for a type whose values are not ordered longs */
  def ofLong(dataType: DataType): Long => Any = dataType match {
    case BooleanType => _ != 0
    case ByteType => _.toByte
    case ShortType => _.toShort
    case IntegerType | DateType => _.toInt
    case LongType | TimestampType | TimestampNTZType => identity
    case FloatType => v => OrderedLongs.toDouble(v).toFloat
    case DoubleType => OrderedLongs.toDouble
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS =>
      v => Decimal(v, d.precision, d.scale)
    case other => throw new IllegalArgumentException(s"values of ${other.sql} are no longs")
  }

  /** The least and the greatest value of a type, without NaN; None if its values are no longs. */
  def range(dataType: DataType): Option[(Long, Long)] = dataType match {
    case BooleanType => Some((0L, 1L))
    case ByteType => Some((Byte.MinValue.toLong, Byte.MaxValue.toLong))
    case ShortType => Some((Short.MinValue.toLong, Short.MaxValue.toLong))
    case IntegerType | DateType => Some((Int.MinValue.toLong, Int.MaxValue.toLong))
    case LongType | TimestampType | TimestampNTZType => Some((Long.MinValue, Long.MaxValue))
    case FloatType | DoubleType =>
      Some((
        OrderedLongs.ofDouble(Double.NegativeInfinity),
        OrderedLongs.ofDouble(Double.PositiveInfinity)))
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS =>
      val limit = BigInt(10).pow(d.precision).toLong - 1
      Some((-limit, limit))
    case _ => None
  }
}
