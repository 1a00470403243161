// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.time.{LocalDate, LocalDateTime, ZoneId, ZoneOffset}

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

import io.sparkzorder.skipping.values.Extent.Between

class PieceSuite extends AnyFunSuite {
  private val column = BoundReference(0, DoubleType, nullable = true)

  test("nothing is known of a function that makes a usual value of NaN, where NaN is an end") {
    val toNaN = Between(1.0, Double.NaN, isPoint = false)
    val functions = Seq[(Expression, Seq[Extent])](
      Floor(column) -> Seq(toNaN),
      Ceil(column) -> Seq(toNaN),
      NaNvl(column, Literal(5.0)) -> Seq(toNaN, Extent.point(5.0)))
    functions.foreach { case (f, extents) =>
      intercept[Exception](Ordered()(new Call(f), extents))
    }
    assert(Ordered()(new Call(Floor(column)), Seq(Between(1.0, 8.5, isPoint = false))) ===
      Between(1L, 8L, isPoint = false))
  }

  test("to the base 1, the logarithm of 1 is NaN among infinite ones: nothing is known of it") {
    assert(PiecesOfNumbers.of(Logarithm(Literal(1.0), column)).isEmpty)
    assert(PiecesOfNumbers.of(Logarithm(Literal(2.0), column)).isDefined)
  }

  test("a date plus months and hours goes through the midnight of a zone: nothing is known of it") {
    val date = BoundReference(0, DateType, nullable = true)
    def sum(hours: Long) = DateAddInterval(
      date,
      Literal(new CalendarInterval(-1, 0, hours * 3600000000L), CalendarIntervalType),
      Some("Asia/Amman"))
    assert(PiecesOfTime.of(sum(23)).isEmpty && PiecesOfTime.of(sum(0)).isDefined)
  }

  test("an interval of times has all results between, also around changes of clocks") {
    val seed = new Random().nextLong()
    val random = new Random(seed)
    val times = BoundReference(0, TimestampNTZType, nullable = true)
    val instants = BoundReference(0, TimestampType, nullable = true)
    val zones = Seq("America/New_York", "Europe/London", "Asia/Kolkata", "Pacific/Apia", "UTC")
    val start = micros("2011-01-01T00:00")
    val zone = Some("America/New_York")
    def clocks = ConvertTimezone(
      Literal(zones(random.nextInt(zones.size))),
      Literal(zones(random.nextInt(zones.size))),
      times)
    def months = {
      val day = Literal(
        micros(Seq("2012-02-29T10:00", "2012-01-31T00:00", "2012-01-15T07:00")(random.nextInt(3))),
        TimestampType)
      if (random.nextBoolean()) MonthsBetween(instants, day, Literal(true), zone)
      else MonthsBetween(day, instants, Literal(true), zone)
    }
    withClue(s"seed $seed\n") {
      for (_ <- 1 to 3000) {
        val e = if (random.nextBoolean()) clocks else months
        val variable = e.collectFirst { case b: BoundReference => b }.get
        val low = start + (random.nextInt(2 * 365 * 24) * 3600000000L / 2)
        val high =
          low + (random.nextDouble() * Seq(3, 50, 900)(random.nextInt(3)) * 86400000000L).toLong
        ExtentTree.of(e, variable)(Between(low, high, isPoint = false)) match {
          case Between(least, most, _, _, _, _) =>
            for (_ <- 1 to 20) {
              val value =
                low + (random.nextDouble() * (high - low)).toLong / 1800000000L * 1800000000L
              val result = e.eval(InternalRow(value))
              val order = ValueOrder.of(e.dataType).get
              assert(
                value < low || order.lteq(least, result) && order.lteq(result, most),
                s"$e at $value, between $low and $high: $result, not of $least to $most")
            }
          case other => fail(s"$e between $low and $high: $other")
        }
      }
    }
  }

  test("on a day of 25 hours more of a month has passed than at the midnight after it") {
    val zone = ZoneId.of("America/New_York")
    def instant(local: String) =
      LocalDateTime.parse(local).atZone(zone).toEpochSecond * 1000000L
    val time = BoundReference(0, TimestampType, nullable = true)
    val e = MonthsBetween(
      time,
      Literal(instant("2000-01-15T00:00"), TimestampType),
      Literal(true),
      Some(zone.getId))
    val evening = e.eval(InternalRow(instant("2023-11-05T23:50"))).asInstanceOf[Double]
    val (low, high) = (instant("2023-11-01T00:00"), instant("2023-11-06T00:10"))
    ExtentTree.of(e, time)(Between(low, high, isPoint = false)) match {
      case Between(_, most: Double, _, _, _, _) => assert(most >= evening)
      case other => fail(other.toString)
    }
  }

  test("a text of numbers is not NULL where a number is") {
    val number = BoundReference(0, IntegerType, nullable = true)
    val texts = Seq[Expression](
      FormatString(Literal("%04d-%02d"), number, Literal(null, IntegerType)),
      FormatString(Literal("%02d"), Remainder(Literal(100), number)))
    texts.foreach { e =>
      for (extent <- Seq[Extent](
          Between(-1, 5, isPoint = false),
          Extent.point(0),
          Between(0, 900, isPoint = false))) {
        ExtentTree.of(e, number)(extent) match {
          case Extent.OnlyNull => fail(s"$e of $extent")
          case Between(low, high, _, _, _, _) =>
            val order = ValueOrder.of(e.dataType).get
            val nulls = UTF8String.fromString(if (e.children.size == 3) "0000-null" else "null")
            assert(order.lteq(low, nulls) && order.lteq(nulls, high), s"$e of $extent")
          case Extent.Anything =>
        }
      }
    }
  }

  test("the days of a month by its name are found in two years, of a date as of a moment") {
    val zone = Some("Europe/Berlin")
    val november = Intervals.ofBytes(Seq("Nov 2024".getBytes("US-ASCII")))
    def found(variable: Expression, time: Expression, range: (Long, Long)): Seq[(Long, Long)] = {
      val text = DateFormatClass(time, Literal("MMM yyyy"), zone)
      val known = Some(KnownRange(range._1, range._2, isOfAllFiles = true))
      val intervals = new SearchedFunction(text, variable).valuesFor(november, false, known)
      Intervals.joined(intervals.asInstanceOf[LongIntervals].ranges)
    }
    def day(date: String) = LocalDate.parse(date).toEpochDay
    def midnight(date: String) =
      LocalDate.parse(date).atStartOfDay(ZoneId.of(zone.get)).toEpochSecond * 1000000L
    val date = BoundReference(0, DateType, nullable = true)
    assert(found(
      date,
      Cast(date, TimestampType, zone),
      (day("2023-01-01"), day("2024-12-31"))) === Seq((day("2024-11-01"), day("2024-11-30"))))
    val moment = BoundReference(0, TimestampType, nullable = true)
    assert(found(moment, moment, (midnight("2023-01-01"), midnight("2025-01-01") - 1)) === Seq(
      (midnight("2024-11-01"), midnight("2024-12-01") - 1)))
  }

  private def micros(local: String): Long =
    LocalDateTime.parse(local).toEpochSecond(ZoneOffset.UTC) * 1000000L
}
