// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import scala.util.Try

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** What counts as total fails on no value of its type. */
class TotalExpressionsSuite extends AnyFunSuite {

  private val zones = Seq("UTC", "America/Los_Angeles", "Asia/Tokyo")

  private val timestamps = Seq(Long.MinValue, Long.MinValue + 1, -1L, 0L, Long.MaxValue)

  private val values: Seq[Literal] =
    Seq(Int.MinValue, Int.MinValue + 1, -1, 0, Int.MaxValue).map(Literal(_, DateType)) ++
      timestamps.map(Literal(_, TimestampType)) ++
      timestamps.map(Literal(_, TimestampNTZType)) ++
      Seq(Byte.MinValue, Byte.MaxValue).map(Literal(_)) ++
      Seq(Short.MinValue, Short.MaxValue).map(Literal(_)) ++
      Seq(Int.MinValue, Int.MaxValue).map(Literal(_)) ++
      Seq(Long.MinValue, Long.MaxValue).map(Literal(_)) ++
      Seq(Float.MinValue, Float.NaN, Float.NegativeInfinity).map(Literal(_)) ++
      Seq(Double.MinValue, Double.NaN, Double.PositiveInfinity).map(Literal(_)) ++
      Seq(
        Literal(true),
        Literal("x"),
        Literal(Decimal("9" * 38), DecimalType(38, 0)),
        Literal(Decimal("99.99"), DecimalType(4, 2)))

  private val dates = values.filter(_.dataType == DateType)
  private val times = values.filter(_.dataType == TimestampType)

  private val units = Seq(
    "YEAR",
    "QUARTER",
    "MONTH",
    "WEEK",
    "DAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MILLISECOND",
    "MICROSECOND",
    "nothing")

  private def check(e: Expression): Unit =
    if (TotalExpressions.isTotal(e)) assert(Try(e.eval()).isSuccess, s"$e fails")

  test("casts") {
    val types = values.map(_.dataType).distinct
    for (value <- values; to <- types; zone <- zones; ansi <- Seq(true, false)) {
      check(Cast(value, to, Some(zone), if (ansi) EvalMode.ANSI else EvalMode.LEGACY))
    }
  }

  test("fields and units of times") {
    for (d <- dates) {
      Seq(Year(d), Quarter(d), Month(d), DayOfYear(d), DayOfMonth(d), WeekOfYear(d), DayOfWeek(d))
        .foreach(check)
      Seq(WeekDay(d), YearOfWeek(d)).foreach(check)
      units.foreach(u => check(TruncDate(d, Literal(u))))
      dates.foreach(other => check(DateDiff(d, other)))
    }
    for (t <- times; zone <- zones) {
      Seq(Hour(t, Some(zone)), Minute(t, Some(zone)), Second(t, Some(zone))).foreach(check)
      check(SecondWithFraction(t, Some(zone)))
      units.foreach(u => check(TruncTimestamp(Literal(u), t, Some(zone))))
    }
  }

  test("the functions that queries have most often count as total") {
    val (d, t) = (Literal(0, DateType), Literal(0L, TimestampType))
    val total = Seq(
      Year(d),
      Cast(t, DateType, Some("UTC")),
      Cast(Literal(1), LongType),
      TruncTimestamp(Literal("SECOND"), t, Some("UTC")))
    total.foreach(e => assert(TotalExpressions.isTotal(e), e))
    val partial = Seq(
      Cast(d, TimestampType, Some("UTC")),
      TruncDate(d, Literal("YEAR")),
      TruncTimestamp(Literal("DAY"), t, Some("UTC")))
    partial.foreach(e => assert(!TotalExpressions.isTotal(e), e))
  }

  test(
    "a bound of RANGE is added to the key of the row, and may overflow; a bound of ROWS counts rows") {
    val five = Literal(5)
    def frame(t: FrameType, upper: Expression) = SpecifiedWindowFrame(t, CurrentRow, upper)
    assert(!TotalExpressions.isTotal(frame(RangeFrame, five)))
    assert(!TotalExpressions.isTotal(SpecifiedWindowFrame(
      RangeFrame,
      UnaryMinus(five),
      CurrentRow)))
    assert(TotalExpressions.isTotal(frame(RangeFrame, UnboundedFollowing)))
    assert(TotalExpressions.isTotal(frame(RowFrame, five)))
    assert(TotalExpressions.isTotal(UnspecifiedFrame))
  }

  test("a cast of an array, a map or a struct is total if the casts of its parts are") {
    def wrapped(t: DataType) = Seq(
      ArrayType(t),
      MapType(t, IntegerType),
      MapType(IntegerType, t),
      StructType.fromDDL("a INT").add("b", t),
      ArrayType(ArrayType(t)))
    wrapped(DateType).zip(wrapped(TimestampType)).foreach { case (from, to) =>
      assert(!TotalExpressions.isTotal(from, to), from)
    }
    wrapped(IntegerType).zip(wrapped(LongType)).foreach { case (from, to) =>
      assert(TotalExpressions.isTotal(from, to) === Cast.canUpCast(from, to), from)
    }
  }
}
