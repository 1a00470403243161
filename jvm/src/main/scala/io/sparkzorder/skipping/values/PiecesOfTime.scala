// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.time.{LocalDate, ZoneId}
import java.time.temporal.IsoFields
import java.util.Locale

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants._
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

import io.sparkzorder.skipping.values.Extent.Between
import io.sparkzorder.skipping.values.Piece.{
  double,
  ends,
  isText,
  long,
  onlyFirst,
  require,
  unknown
}

/** Pieces for functions of dates and times. [[TextsOfTime]] has those for the texts of dates and times. */
private[values] object PiecesOfTime {

  def of(e: Expression): Option[Piece] = e match {
    case c: Cast => cast(c)
    case _: Year | _: LastDay | _: UnixDate | _: YearOfWeek => Some(dates)
    case TruncDate(_, _: Literal) | NextDay(_, _: Literal, _) => Some(dates)
    case _: DateAdd | _: DateSub => Some(plusDays)
    case _: AddMonths => Some(plusMonths)
    case _: DateDiff => Some(dates)
    case d: DateAddYMInterval if d.interval.isInstanceOf[Literal] => Some(dates)
    case d: DateAddInterval => d.interval match {
        // an interval with hours or less is not known here: Spark adds it to midnight in the session's time zone
        case Literal(i: CalendarInterval, _)
            if math.abs(i.months.toLong) < 120000 && i.microseconds == 0 =>
          Some(dates)
        case _ => None
      }
    case s: SubtractDates if s.dataType.isInstanceOf[DayTimeIntervalType] => Some(dates)
    case DateFromUnixDate(_) => Some(Ordered())
    case _: ExtractANSIIntervalDays | _: ExtractANSIIntervalYears => Some(Ordered())
    // the same number with another type
    case _: PreciseTimestampConversion => Some(Ordered())
    case _: Quarter => Some(ofDays(1, 4)(yearOf))
    case _: Month => Some(ofDays(1, 12)(yearOf))
    case _: DayOfYear => Some(ofDays(1, 366)(yearOf))
    case _: DayOfMonth => Some(ofDays(1, 31)(monthOf))
    // 1970-01-01 was a Thursday. The week of DAYOFWEEK begins on Sunday, and the week of WEEKDAY on Monday.
    case _: DayOfWeek => Some(ofDays(1, 7)(day => Math.floorDiv(day + 4, 7L)))
    case _: WeekDay => Some(ofDays(0, 6)(day => Math.floorDiv(day + 3, 7L)))
    case _: WeekOfYear => Some(ofDays(1, 53)(day =>
        LocalDate.ofEpochDay(day).get(IsoFields.WEEK_BASED_YEAR).toLong))
    case _: MakeDate => Some(MadeDate)
    case h: Hour => Some(ofClock(h.child, zone(h), MICROS_PER_DAY, Some((0, 23))))
    case m: Minute => Some(ofClock(m.child, zone(m), MICROS_PER_HOUR, Some((0, 59))))
    case s: Second => Some(ofClock(s.child, zone(s), MICROS_PER_MINUTE, Some((0, 59))))
    case s: SecondWithFraction => Some(ofClock(s.child, zone(s), MICROS_PER_MINUTE, None))
    case t: TruncTimestamp if t.format.isInstanceOf[Literal] =>
      Some(toInstants(zone(t))(onlyLast(instantSamples(zone(t)))))
    case d: DateFormatClass => TextsOfTime.formatted(d.left, d.right, zone(d), 1)
    case f: FromUnixTime => TextsOfTime.formatted(f.sec, f.format, zone(f), MICROS_PER_SECOND)
    case u: UnixTimestamp => TextsOfTime.seconds(u.left, u.right, zone(u))
    case u: ToUnixTimestamp => TextsOfTime.seconds(u.left, u.right, zone(u))
    case g: GetTimestamp if g.left.dataType.isInstanceOf[StringType] =>
      TextsOfTime.parsed(g.right).map(p => TextsOfTime.read(Seq(p), g.dataType, zone(g), 1))
    case _: UnixSeconds | _: UnixMillis | _: UnixMicros => Some(Ordered())
    case _: SecondsToTimestamp | _: MillisToTimestamp | _: MicrosToTimestamp => Some(Ordered())
    case f: FromUTCTimestamp => literalZone(f.right).map(z => Ordered(onlyFirst(instants(z))))
    case t: ToUTCTimestamp => literalZone(t.right).map(z => toInstants(z)(onlyFirst(inYears)))
    case t: TimestampAddYMInterval if t.interval.isInstanceOf[Literal] =>
      Some(toInstants(zone(t), hasMonths = true)(onlyFirst(samplesOf(t.timestamp, zone(t)))))
    case t: BinaryExpression with TimeZoneAwareExpression if plusInterval(t.nodeName) =>
      val samples = onlyFirst(samplesOf(t.left, zone(t)))
      t.right match {
        case Literal(i: CalendarInterval, _) if i.months == 0 && i.days == 0 =>
          Some(Ordered(onlyFirst(inYears)))
        // Spark adds the months to the local time and makes an instant of the sum. Then it adds the days to the
        // local time of this instant. The order is known only without months or without days.
        case Literal(i: CalendarInterval, _)
            if (i.months == 0 || i.days == 0) && math.abs(i.months.toLong) < 120000 =>
          Some(
            toInstants(zone(t), after = i.microseconds, hasMonths = i.months != 0)(samples))
        case Literal(micros: Long, _: DayTimeIntervalType) =>
          Some(toInstants(zone(t), after = micros % MICROS_PER_DAY)(samples))
        case interval
            if t.left.foldable && interval.dataType.isInstanceOf[DayTimeIntervalType] =>
          Some(Ordered(ends, aroundChanges(zone(t))))
        case _ => None
      }
    case c: ConvertTimezone =>
      for (from <- literalZone(c.sourceTz); to <- literalZone(c.targetTz))
        yield
          if (from.getRules.isFixedOffset) fromFixed(from, to)
          else Ordered(ends, aroundChanges(from, to))
    case t: TimestampAdd if !t.timestamp.foldable =>
      t.quantity match {
        case IntLiteral(_) | Literal(_: Long, _) => // since Spark 3.4, hours are elapsed time
          Some(toInstants(zone(t), hasMonths = UnitsOfMonths(t.unit.toUpperCase(Locale.ROOT)))(
            onlyLast(samplesOf(t.timestamp, zone(t)))))
        case _ => None
      }
    case t: TimestampAdd if t.timestamp.isInstanceOf[Literal] => Some(toInstants(zone(t))(ends))
    case t: TimestampDiff => Some(difference(t, zone(t)))
    case s: SubtractTimestamps if s.dataType.isInstanceOf[DayTimeIntervalType] =>
      Some(difference(s, zone(s)))
    case _: MultiplyDTInterval | _: MakeDTInterval => Some(Ordered())
    case m: MonthsBetween => monthsBetween(m)
    case _ => None
  }

  private object IntLiteral {
    def unapply(e: Expression): Option[Int] = e match {
      case Literal(n @ (_: Int | _: Short | _: Byte), _) => Some(n.asInstanceOf[Number].intValue)
      case _ => None
    }
  }

  /** The zone of a call; throws if the zone is not resolved. */
  private def zone(call: TimeZoneAwareExpression): ZoneId =
    DateTimeUtils.getZoneId(call.timeZoneId.get)

  private def literalZone(e: Expression): Option[ZoneId] = e match {
    case Literal(name: UTF8String, _) =>
      scala.util.Try(DateTimeUtils.getZoneId(name.toString)).toOption
    case _ => None
  }

  // units of TIMESTAMPADD
  private val UnitsOfMonths = Set("MONTH", "QUARTER", "YEAR")

  // the class that adds an interval to a timestamp has two names, and each Spark line has only one of the classes
  private val plusInterval = Set("TimeAdd", "TimestampAddInterval")

  // ---- where values must lie

  /** The two ends as samples. Nothing is known of the results if an end lies outside of `range`. */
  private def within(range: (Long, Long))(low: Any, high: Any): Seq[Any] = {
    require(long(low) >= range._1 && long(high) <= range._2)
    if (low == high) Seq(low) else Seq(low, high)
  }

  /** The ends as samples, for days of the years 1 to 9999. */
  private[values] def inDays(low: Any, high: Any): Seq[Any] = within(Clocks.Days)(low, high)

  /** The ends as samples, for microseconds of the years 1 to 9999. */
  private[values] def inYears(low: Any, high: Any): Seq[Any] = within(Clocks.Micros)(low, high)

  /** Samples of an interval of instants, among them one with the least and one with the greatest local time. */
  private def instants(zone: ZoneId)(low: Any, high: Any): Seq[Any] = {
    inYears(low, high)
    new Clocks(zone).ends(long(low), long(high))
  }

  /**
   * Chooses how samples are made from the ends of an interval of an argument's values. If the argument is a date or
   * a time, the samples have the least and the greatest local time of the interval. For integers, the samples are the
   * ends.
   */
  private[values] def samplesOf(argument: Expression, zone: => ZoneId): (Any, Any) => Seq[Any] =
    argument.dataType match {
      case TimestampType => instants(zone)
      case TimestampNTZType => inYears
      case DateType => inDays
      case IntegerType | LongType | ShortType | ByteType =>
        (l, h) => if (l == h) Seq(l) else Seq(l, h)
      case _ => (_, _) => unknown
    }

  /** Samples of each child of an expression. The only sample of a literal is its value. */
  private def samplesOfChildren(e: Expression, zone: => ZoneId): Seq[Between] => Seq[Seq[Any]] =
    _.zip(e.children)
      .map { case (b, child) =>
        if (child.isInstanceOf[Literal]) Seq(b.low) else samplesOf(child, zone)(b.low, b.high)
      }

  private def instantSamples(zone: => ZoneId): (Any, Any) => Seq[Any] =
    (l, h) => instants(zone)(l, h)

  /** The given samples of the last child, and the ends of the other children. */
  private def onlyLast(values: (Any, Any) => Seq[Any]): Seq[Between] => Seq[Seq[Any]] =
    c => ends(c.init) :+ values(c.last.low, c.last.high)

  /** An [[Ordered]] function of dates. The results for dates outside the years 1 to 9999 are not known. */
  private val dates: Piece = new Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent = {
      val e = call.expression
      Ordered(samplesOfChildren(e, unknown)).apply(call, children)
    }
  }

  /** A date plus or minus days. Nothing is known of the results if the sum may overflow. */
  private val plusDays: Piece = Ordered { c =>
    Seq(c.last.low, c.last.high).foreach(n => require(math.abs(long(n)) < Int.MaxValue - 5000000L))
    inDays(c.head.low, c.head.high) +: ends(c.tail)
  }

  /** A date plus fewer than 120,000 months, which are 10,000 years, so that the sum does not overflow. */
  private val plusMonths: Piece = Ordered { c =>
    Seq(c.last.low, c.last.high).foreach(n => require(math.abs(long(n)) < 120000L))
    inDays(c.head.low, c.head.high) +: ends(c.tail)
  }

  /**
   * A function that computes a local time, and returns the instant at which the clocks of a zone show this local
   * time. While an argument grows, the local time must never fall, or must never rise. The instants can break this
   * order where clocks are set forward ([[Clocks.aroundGaps]]), so the interval of results is widened there.
   *
   * @param micros the number of microseconds in one unit of the results
   * @param after microseconds that are added to the instant
   * @param hasMonths true if the function adds months. If the month does not have the day, Spark takes the last day of
   *   the month, and keeps the time of the day. So 30 January, 22:00, plus one month is 28 February, 22:00, but the
   *   later 31 January, 05:00, plus one month is 28 February, 05:00. Such results are out of order by less than a
   *   day of local time. A day of local time takes less than two days, so the interval of results is widened by
   *   two days at both ends
   */
  private[values] def toInstants(
      zone: => ZoneId,
      micros: Long = 1,
      after: Long = 0,
      hasMonths: Boolean = false)(samples: Seq[Between] => Seq[Seq[Any]]): Ordered =
    Ordered(
      samples,
      around = (low, high) => {
        val slack = if (hasMonths) 2 * MICROS_PER_DAY else 0L
        val (l, h) = (long(low) * micros - after - slack, long(high) * micros - after + slack)
        inYears(l, h)
        val (least, most) = new Clocks(zone).aroundGaps(l, h)
        (Math.floorDiv(least + after, micros), Math.floorDiv(most + after, micros))
      })

  /** CONVERT_TIMEZONE from a zone with a fixed offset. The argument is an instant, shifted by this offset. */
  private def fromFixed(from: ZoneId, to: ZoneId): Piece = Ordered { some =>
    val shift = new Clocks(from).local(0L)
    inYears(some.last.low, some.last.high)
    val ends = new Clocks(to).ends(long(some.last.low) - shift, long(some.last.high) - shift)
    some.init.map(b => Seq(b.low)) :+ ends.map(_ + shift)
  }

  /**
   * Widens an interval of results if a clock is set near the interval, because results may break the order there.
   * A zone is at most 18 hours from UTC. So a result is at most 36 hours from the result of clocks that are never
   * set, and two results are out of order by at most 72 hours.
   */
  private def aroundChanges(zones: ZoneId*)(low: Any, high: Any): (Any, Any) = {
    val (l, h) = (long(low), long(high))
    inYears(l, h)
    val far = 3 * MICROS_PER_DAY
    val isSteady = zones.forall(new Clocks(_).isSteady(l - far, h + far))
    if (isSteady) (l, h) else (l - far, h + far)
  }

  // ---- periodic functions

  private[values] def yearOf(day: Long): Long = LocalDate.ofEpochDay(day).getYear.toLong
  private[values] def monthOf(day: Long): Long = {
    val date = LocalDate.ofEpochDay(day)
    date.getYear * 12L + date.getMonthValue
  }

  /**
   * A function of days that keeps the order among days with the same `key`. For days with several keys, the results
   * lie from `least` to `greatest`.
   *
   * @param least the least result for any day
   * @param greatest the greatest result for any day
   */
  private def ofDays(least: Int, greatest: Int)(key: Long => Long): Piece = Ordered(
    onlyFirst { (low, high) =>
      inDays(low, high)
      require(key(long(low)) == key(long(high)))
      Seq(low, high)
    },
    otherwise = _ => Some((least, greatest)))

  /**
   * A function of the local time that keeps the order within each period.
   *
   * @param period its length in microseconds
   * @param all the least and the greatest result for any time; None if they are not known
   */
  private def ofClock(
      time: Expression,
      zone: => ZoneId,
      period: Long,
      all: Option[(Any, Any)]): Piece = Ordered(
    onlyFirst(periodic(time.dataType, zone, 1)(Math.floorDiv(_, period))),
    otherwise = _ => all)

  /**
   * Cuts an interval at the changes of the clock, and returns the ends of all pieces as samples. Raises if the local
   * times of a piece lie in several periods.
   *
   * @param micros the number of microseconds in one unit of the values
   * @param period gives the number of the period of a local time
   */
  private[values] def periodic(t: DataType, zone: => ZoneId, micros: Long)(
      period: Long => Long): (Any, Any) => Seq[Any] = (low, high) => {
    val unit = if (t == DateType) MICROS_PER_DAY else micros
    require(long(low) >= Clocks.Micros._1 / unit && long(high) <= Clocks.Micros._2 / unit)
    if (t == DateType || t == TimestampNTZType) {
      require(period(long(low) * unit) == period(long(high) * unit))
      Seq(low, high)
    } else {
      val clocks = new Clocks(zone)
      val pieces =
        clocks.pieces(long(low) * unit, long(high) * unit + (unit - 1)).getOrElse(unknown)
      pieces.flatMap { case (l, h) =>
        require(period(clocks.local(l)) == period(clocks.local(h)))
        // clocks change between two seconds, so a rounded value is still in its piece
        Seq(Math.floorDiv(l, unit), Math.floorDiv(h, unit)).distinct
      }
    }
  }

  // ---- casts

  private def cast(c: Cast): Option[Piece] = {
    def clock = Ordered(onlyFirst(instants(zone(c))))
    (c.child.dataType, c.dataType) match {
      case (DateType, TimestampNTZType) => Some(Ordered(onlyFirst(inDays)))
      case (DateType, TimestampType) => Some(toInstants(zone(c))(onlyFirst(inDays)))
      case (DateType, t) if isText(t) =>
        Some(Ordered(
          onlyFirst(inDays),
          template = c => dateText.filter(_ => TextsOfTime.years(c.head, DateType, 1))))
      case (TimestampType, DateType | TimestampNTZType) => Some(clock)
      case (TimestampType, t) if isText(t) => Some(clock)
      case (TimestampType, LongType | DoubleType | FloatType | _: DecimalType) =>
        Some(Ordered(onlyFirst(inYears)))
      case (TimestampNTZType, TimestampType) => Some(toInstants(zone(c))(onlyFirst(inYears)))
      case (TimestampNTZType, DateType) => Some(Ordered(onlyFirst(inYears)))
      case (TimestampNTZType, t) if isText(t) => Some(Ordered(onlyFirst(inYears)))
      case (LongType | IntegerType | ShortType | ByteType, TimestampType) =>
        Some(Ordered(onlyFirst(within((
          Clocks.Micros._1 / MICROS_PER_SECOND,
          Clocks.Micros._2 / MICROS_PER_SECOND)))))
      // these limits are seconds, and lie in the years 68 and 8307, far within the years 1 to 9999
      case (DoubleType | FloatType | _: DecimalType, TimestampType) => Some(Ordered { c =>
          val limit = 2e11
          require(double(c.head.low) > -6e10 && double(c.head.high) < limit)
          ends(c)
        })
      case (t, DateType) if isText(t) =>
        Some(TextsOfTime.read(TimePattern.Times, DateType, unknown, 1))
      case (t, to @ (TimestampType | TimestampNTZType)) if isText(t) =>
        Some(TextsOfTime.read(TimePattern.Times, to, zone(c), 1))
      case _ => None
    }
  }

  private val dateText = TimePattern.of("yyyy-MM-dd").map(_.template)

  // ---- differences

  /** A difference of times. Where the clock does not change, it grows with one time and falls with the other. */
  private def difference(e: Expression, zone: => ZoneId): Ordered = Ordered { c =>
    c.zip(e.children).map {
      case (b, _) if b.isPoint => Seq(b.low)
      case (b, child) => child.dataType match {
          case TimestampType => instants(zone)(b.low, b.high)
          case TimestampNTZType => inYears(b.low, b.high)
          case _ => unknown
        }
    }
  }

  /**
   * MONTHS_BETWEEN with a constant on one side. The results keep the order, except in two cases. First, the constant
   * may be the last day of a month, and two last days are whole months apart: 2023-02-28 is 1.06 months before
   * 2023-03-30, but only 1.0 months before 2023-03-31. Such a result is out of order by less than 4/31 of a month.
   * Second, on a day on which a clock is set, a result is out of order by the hours of the change.
   */
  private def monthsBetween(m: MonthsBetween): Option[Piece] = {
    def isBefore28th(time: Expression) = time match {
      case Literal(micros: Long, TimestampType) =>
        val days = Math.floorDiv(new Clocks(zone(m)).local(micros), MICROS_PER_DAY)
        LocalDate.ofEpochDay(days).getDayOfMonth < 28
      case _ => false
    }
    val isUsual = isBefore28th(m.date1) || isBefore28th(m.date2)
    if (!isUsual && !m.date1.foldable && !m.date2.foldable) None
    else Some(new Piece {
      override def apply(call: Call, children: Seq[Extent]): Extent = {
        val isSteady = children.forall {
          case b: Between if !b.isPoint =>
            new Clocks(zone(m))
              .isSteady(long(b.low) - MICROS_PER_DAY, long(b.high) + MICROS_PER_DAY)
          case _ => true
        }
        val slack = if (isUsual && isSteady) 0.0 else 2 * 4 / 31.0
        difference(m, zone(m)).copy(around =
          (low, high) => (double(low) - slack, double(high) + slack)).apply(call, children)
      }
    })
  }
}
