package io.sparkzorder.skipping.values

import org.apache.spark.sql.catalyst.expressions.Cast
import org.apache.spark.sql.types._

import io.sparkzorder.bits.OrderedLongs

/** Which casts keep the order of values, and for which values. */
private[sparkzorder] object OrderedCasts {
  import OrderedFunctions._

  def of(cast: Cast): Option[ColumnFunction] = {
    def clock = Disorder.ClockChanges(zone(cast))
    val found = (cast.child.dataType, cast.dataType) match {
      case (from, to) if from == to => None
      case (DateType, TimestampType | TimestampNTZType) => exact(cast, cast.child, Some(Days))
      case (DateType, t) if isText(t) => exact(cast, cast.child, Some(Days))
      case (TimestampType, DateType | TimestampNTZType) =>
        exact(cast, cast.child, Some(Micros), disorder = clock)
      case (TimestampType, t) if isText(t) =>
        exact(cast, cast.child, Some(Micros), disorder = clock)
      case (TimestampType, LongType | DoubleType) => exact(cast, cast.child, Some(Micros))
      case (TimestampNTZType, TimestampType) =>
        exact(cast, cast.child, Some(Micros), disorder = clock)
      case (TimestampNTZType, DateType) => exact(cast, cast.child, Some(Micros))
      case (TimestampNTZType, t) if isText(t) => exact(cast, cast.child, Some(Micros))
      case (t, TimestampType) if isIntegral(t) =>
        exact(cast, cast.child, Some(per(1000000L)))
      case (from, to) if isNumber(from) && isNumber(to) =>
        exact(cast, cast.child, valuesThatFit(from, to))
      case _ => None
    }
    found.map(_._2)
  }

  private def isText(t: DataType): Boolean =
    t == StringType && ComparisonDomain.of(t).contains(BytesDomain)

  private def isNumber(t: DataType): Boolean = t.isInstanceOf[NumericType]

  /**
   * The values of a type that another type can hold, as ordered longs. None if it can hold all of
   * them. Spark raises an error for other values, or replaces them.
   */
  private def valuesThatFit(from: DataType, to: DataType): Option[(Long, Long)] = {
    // the greatest integer of the type that the other type holds
    val limit: BigDecimal = to match {
      case d: DecimalType => BigDecimal(10).pow(d.precision - d.scale) - 1
      case t if isIntegral(t) => BigDecimal(OrderedValue.range(t).get._2)
      case _ => BigDecimal(10).pow(400)
    }
    from match {
      case t if isIntegral(t) && limit < Long.MaxValue => Some((-limit.toLong, limit.toLong))
      case FloatType | DoubleType if limit < BigDecimal(10).pow(300) =>
        // the cast may round, and the greatest double below a long's limit is 1024 lower
        val inside = OrderedLongs.ofDouble((limit * BigDecimal("0.9999999")).toDouble)
        Some((OrderedLongs.ofDouble(-(limit * BigDecimal("0.9999999")).toDouble), inside))
      case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS =>
        val unscaled = limit * BigDecimal(10).pow(d.scale)
        if (unscaled < Long.MaxValue) Some((-unscaled.toLong, unscaled.toLong)) else None
      case _ => None
    }
  }
}
