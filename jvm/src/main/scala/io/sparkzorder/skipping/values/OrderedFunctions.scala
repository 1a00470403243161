package io.sparkzorder.skipping.values

import java.math.{BigDecimal, BigInteger}
import java.time.{LocalDate, ZoneId}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants.MICROS_PER_DAY
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

import io.sparkzorder.bits.OrderedLongs

/**
 * Which of Spark's functions keep or reverse the order of their argument, and for which values.
 * Arithmetic that overflows and dates beyond the years 1 to 9999 are left out: Spark may raise an
 * error for them, or give a result out of order.
 */
private[sparkzorder] object OrderedFunctions {

  /** The only argument of a call that is no literal, and the function; None for other calls. */
  def of(call: Expression): Option[(Expression, ColumnFunction)] = call match {
    case WideCall(child, function) => Some(child -> function)
    case c: Cast => OrderedCasts.of(c).map(f => c.child -> f)
    case Year(date) => days(call, date)
    case LastDay(date) => days(call, date)
    case TruncDate(date, Literal(_, _)) => days(call, date)
    case DateAdd(date, IntLiteral(n)) => shifted(call, date, n.toLong)
    case DateSub(date, IntLiteral(n)) => shifted(call, date, -n.toLong)
    case AddMonths(date, IntLiteral(n)) if math.abs(n.toLong) < 120000 => days(call, date)
    case DateDiff(date, Literal(day: Int, _)) if isUsual(day) => days(call, date)
    case DateDiff(Literal(day: Int, _), date) if isUsual(day) => days(call, date, isReversed = true)
    case UnixDate(date) => days(call, date)
    case Quarter(date) => inYears(call, date)
    case Month(date) => inYears(call, date)
    case DayOfYear(date) => inYears(call, date)
    case DayOfMonth(date) => inYears(call, date)
    case DayOfWeek(date) => inYears(call, date)
    case WeekDay(date) => inYears(call, date)
    case t: TruncTimestamp if t.format.isInstanceOf[Literal] => instants(t, t.timestamp)
    case d: DateFormatClass => d.right match {
        case Literal(format: UTF8String, _)
            if sortedFormat.pattern.matcher(format.toString)
              .matches =>
          instants(d, d.left)
        case _ => None
      }
    case u: UnixTimestamp if isTime(u.left.dataType) => instants(u, u.left)
    case u: ToUnixTimestamp if isTime(u.left.dataType) => instants(u, u.left)
    case UnixSeconds(time) => exact(call, time, Some(Micros))
    case UnixMillis(time) => exact(call, time, Some(Micros))
    case UnixMicros(time) => exact(call, time, Some(Micros))
    case SecondsToTimestamp(n) if isIntegral(n.dataType) => exact(call, n, Some(per(1000000L)))
    case MillisToTimestamp(n) => exact(call, n, Some(per(1000L)))
    case MicrosToTimestamp(n) => exact(call, n, Some(Micros))
    case t: BinaryExpression if plusInterval(t.nodeName) =>
      t.right match {
        case Literal(i: CalendarInterval, _) if i.months == 0 => plus(t, i.days)
        case Literal(micros: Long, _: DayTimeIntervalType) => plus(t, micros / MICROS_PER_DAY)
        case _ => None
      }
    case Substring(text, Literal(0 | 1, _), IntLiteral(n))
        if n > 0 && ComparisonDomain.of(text.dataType).contains(BytesDomain) &&
          text.dataType.isInstanceOf[StringType] =>
      Some(text -> FirstCharacters(n))
    case other => OrderedArithmetic.of(other)
  }

  private object IntLiteral {
    def unapply(e: Expression): Option[Int] = e match {
      case Literal(n: Int, _) => Some(n)
      case Literal(n: Short, _) => Some(n.toInt)
      case Literal(n: Byte, _) => Some(n.toInt)
      case _ => None
    }
  }

  private def isUsual(day: Int): Boolean = day >= Days._1 && day <= Days._2

  private val plusInterval = Set("TimeAdd", "TimestampAddInterval")

  // year, month, day, .. in this order, with the same characters between them
  private val sortedFormat = {
    // quotes around letters of the pattern make text of them
    val gap = "(?:[-/:. _,]|'[-/:. _,T]*'){0,3}"
    s"yyyy($gap(MM)($gap(dd)($gap(HH)($gap(mm)($gap(ss)?)?)?)?)?)?".r
  }

  private def isTime(t: DataType): Boolean = t match {
    case TimestampType | TimestampNTZType | DateType => true
    case _ => false
  }

  private[sparkzorder] def isIntegral(t: DataType): Boolean = t match {
    case ByteType | ShortType | IntegerType | LongType => true
    case _ => false
  }

  /** Days of the years 1 to 9999, without those that another time zone moves out of these years. */
  val Days: (Long, Long) =
    (LocalDate.of(1, 1, 5).toEpochDay, LocalDate.of(9999, 12, 25).toEpochDay)

  val Micros: (Long, Long) = per(1)

  def per(micros: Long): (Long, Long) =
    (Days._1 * (MICROS_PER_DAY / micros), Days._2 * (MICROS_PER_DAY / micros))

  /** The zone of a call; throws if it is not resolved. */
  def zone(call: TimeZoneAwareExpression): ZoneId = DateTimeUtils.getZoneId(call.timeZoneId.get)

  private type Found = Option[(Expression, ColumnFunction)]

  def exact(
      call: Expression,
      child: Expression,
      values: Option[(Long, Long)] = None,
      isReversed: Boolean = false,
      disorder: Disorder = Disorder.None): Found = {
    val usable = ComparisonDomain.of(call.dataType).isDefined
    OrderedValue.range(child.dataType).filter(_ => usable).map { all =>
      val some = values.fold(all)(v => (math.max(v._1, all._1), math.min(v._2, all._2)))
      val hasNaN = ComparisonDomain.of(child.dataType).contains(Reals)
      val spark = new SparkCall(call, child)
      child -> new OrderedFunction(spark(_), some, all, isReversed, disorder, hasNaN)
    }
  }

  private def days(call: Expression, date: Expression, isReversed: Boolean = false): Found =
    if (date.dataType == DateType) exact(call, date, Some(Days), isReversed) else None

  /** A date plus `n` days. The sum of the two integers must not overflow. */
  private def shifted(call: Expression, date: Expression, n: Long): Found = {
    val fits = (math.max(Int.MinValue, Int.MinValue - n), math.min(Int.MaxValue, Int.MaxValue - n))
    if (date.dataType == DateType) {
      exact(call, date, Some((math.max(Days._1, fits._1), math.min(Days._2, fits._2))))
    } else None
  }

  private def inYears(call: Expression, date: Expression): Found =
    if (date.dataType == DateType) Some(date -> new FunctionOfDays(new SparkCall(call, date)))
    else None

  /** A function of what clocks show. */
  private def instants(call: Expression with TimeZoneAwareExpression, time: Expression): Found =
    time.dataType match {
      case TimestampType | TimestampNTZType =>
        exact(call, time, Some(Micros), disorder = Disorder.ClockChanges(zone(call)))
      case DateType => exact(call, time, Some(Days))
      case _ => None
    }

  /** @param days of the interval: a day of a time zone may have more or less than 24 hours */
  private def plus(call: BinaryExpression, days: Long): Found = call.left.dataType match {
    case TimestampNTZType => exact(call, call.left, Some(Micros))
    case TimestampType if days == 0 => exact(call, call.left, Some(Micros))
    // the clocks may change near the result, too
    case TimestampType =>
      exact(call, call.left, Some(Micros), disorder = Disorder.Everywhere(3 * MICROS_PER_DAY))
    case _ => None
  }
}

/** Arithmetic of a value and a literal. */
private object OrderedArithmetic {
  import OrderedFunctions.{exact, isIntegral}

  def of(call: Expression): Option[(Expression, ColumnFunction)] = call match {
    case a: Add => commuted(a).flatMap { case (child, n) => linear(a, child, One, n) }
    case s: Subtract => (s.left, s.right) match {
        case (child, NumberLiteral(n)) => linear(s, child, One, n.negate)
        case (NumberLiteral(n), child) => linear(s, child, One.negate, n)
        case _ => None
      }
    case m: Multiply => commuted(m).filter(_._2.signum != 0)
        .flatMap { case (child, n) => linear(m, child, n, BigDecimal.ZERO) }
    case UnaryMinus(child, _) if isNumber(child.dataType) =>
      linear(call, child, One.negate, BigDecimal.ZERO)
    case d: Divide => d.right match {
        case NumberLiteral(n) if n.signum > 0 => exact(d, d.left)
        case _ => None
      }
    case d: IntegralDivide => d.right match {
        case NumberLiteral(n) if n.signum > 0 && isIntegral(d.left.dataType) => exact(d, d.left)
        case _ => None
      }
    case Floor(child) => rounded(call, child)
    case Ceil(child) => rounded(call, child)
    case _ => None
  }

  private val One = BigDecimal.ONE

  private object NumberLiteral {
    def unapply(e: Expression): Option[BigDecimal] = e match {
      case Literal(d: Decimal, _) => Some(d.toJavaBigDecimal)
      case Literal(n @ (_: Double | _: Float), _) =>
        val d = n.asInstanceOf[Number].doubleValue
        if (d.isNaN || d.isInfinite) None else Some(new BigDecimal(d))
      case Literal(n: Number, t) if isIntegral(t) => Some(BigDecimal.valueOf(n.longValue))
      case _ => None
    }
  }

  private def commuted(b: BinaryArithmetic): Option[(Expression, BigDecimal)] =
    (b.left, b.right) match {
      case (child, NumberLiteral(n)) => Some(child -> n)
      case (NumberLiteral(n), child) => Some(child -> n)
      case _ => None
    }

  private def isNumber(t: DataType): Boolean = t.isInstanceOf[NumericType]

  /** `times * child + plus`, for the values for which it does not overflow. */
  private def linear(
      call: Expression,
      child: Expression,
      times: BigDecimal,
      plus: BigDecimal): Option[(Expression, ColumnFunction)] = {
    val fits =
      if (!isIntegral(call.dataType)) None
      else OrderedValue.range(call.dataType).map { case (min, max) =>
        val (m, b) = (times.toBigIntegerExact, plus.toBigIntegerExact)
        val ends = Seq(min, max).map(BigInteger.valueOf(_).subtract(b))
        // the division cuts off towards 0, so a quotient lies inside the range
        val values = ends.map(_.divide(m)).sorted
        (saturated(values.head), saturated(values.last))
      }
    if (isNumber(child.dataType) && isNumber(call.dataType)) {
      exact(call, child, fits, isReversed = times.signum < 0)
    } else None
  }

  private def saturated(n: BigInteger): Long =
    n.max(BigInteger.valueOf(Long.MinValue)).min(BigInteger.valueOf(Long.MaxValue)).longValue

  /** FLOOR or CEIL of a number that a BIGINT can hold. */
  private def rounded(call: Expression, child: Expression): Option[(Expression, ColumnFunction)] =
    child.dataType match {
      case DoubleType | FloatType =>
        val limit = OrderedLongs.ofDouble(9.2e18)
        exact(call, child, Some((-limit, limit)))
      case _: DecimalType | LongType => exact(call, child)
      case _ => None
    }
}
