package io.sparkzorder.skipping.predicate

import java.math.{BigDecimal, BigInteger, RoundingMode}

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.bits.OrderedLongs
import io.sparkzorder.index.IndexValue
import io.sparkzorder.ordering.{FixedOrder, OrderedType, WideDecimalOrder}

/** On what the values of a column are laid out, so that they can be compared with those of the index. */
private[sparkzorder] sealed trait Axis

/** Integers, dates, times, booleans, and decimals of up to 18 digits by their unscaled value. */
private[sparkzorder] final case class WholeNumbers(scale: Int) extends Axis

/** FLOAT and DOUBLE, as doubles in Spark's order. */
private[sparkzorder] case object Reals extends Axis

/** Strings and binaries in unsigned order of their bytes. */
private[sparkzorder] case object ByteStrings extends Axis

/** Decimals of more than 18 digits, as 16 ordered bytes. */
private[sparkzorder] final case class WideDecimals(scale: Int) extends Axis

private[sparkzorder] object Axis {

  /** None for types whose values cannot be compared so, collated strings and CHAR among them. */
  def of(dataType: DataType): Option[Axis] = dataType match {
    // on some lines of Spark it is a kind of string
    case _: CharType => None
    case _ =>
      OrderedType.of(dataType).map {
        case FixedOrder(FloatType | DoubleType, _) => Reals
        case FixedOrder(d: DecimalType, _) => WholeNumbers(d.scale)
        case _: FixedOrder => WholeNumbers(0)
        case WideDecimalOrder(scale) => WideDecimals(scale)
        case _ => ByteStrings
      }
  }

  /** Where NaN lies on [[Reals]]: above all else. */
  val NaN: Long = OrderedLongs.ofDouble(Double.NaN)
}

/**
 * A literal on an axis: between the greatest value that is not above it and the least that is not below
 * it, which are one value if it lies on the axis.
 */
private[sparkzorder] sealed trait Point { def isExact: Boolean }
private[sparkzorder] final case class LongPoint(low: Long, high: Long) extends Point {
  override def isExact: Boolean = low == high
}
private[sparkzorder] final case class BytesPoint(
    low: Array[Byte],
    high: Array[Byte],
    isExact: Boolean)
    extends Point

private[sparkzorder] object Point {

  /**
   * @param value of a literal, not null, in Spark's internal form
   * @return None where the axis does not reach so far
   */
  def of(value: Any, axis: Axis): Option[Point] = (axis, value) match {
    case (WholeNumbers(0), b: Boolean) => exactly(OrderedLongs.ofBoolean(b))
    case (WholeNumbers(scale), d: Decimal) => whole(d.toJavaBigDecimal, scale)
    case (WholeNumbers(0), n: Number) => exactly(n.longValue)
    case (Reals, n: Number) => exactly(OrderedLongs.ofDouble(n.doubleValue))
    case (ByteStrings, s: UTF8String) => exactly(s.getBytes)
    case (ByteStrings, b: Array[Byte]) => exactly(b)
    case (WideDecimals(scale), d: Decimal) =>
      val (low, high) = around(d.toJavaBigDecimal, scale)
      for (a <- IndexValue.wide(low); b <- IndexValue.wide(high))
        yield BytesPoint(a, b, low == high)
    case _ => None
  }

  private def whole(value: BigDecimal, scale: Int): Option[Point] = {
    val (low, high) = around(value, scale)
    if (low.bitLength > 63 || high.bitLength > 63) None
    else Some(LongPoint(low.longValue, high.longValue))
  }

  private def around(value: BigDecimal, scale: Int): (BigInteger, BigInteger) = {
    val floor = value.setScale(scale, RoundingMode.FLOOR)
    val low = floor.unscaledValue
    (low, if (floor.compareTo(value) == 0) low else low.add(BigInteger.ONE))
  }

  private def exactly(value: Long): Option[Point] = Some(LongPoint(value, value))
  private def exactly(value: Array[Byte]): Option[Point] =
    Some(BytesPoint(value, value, isExact = true))
}
