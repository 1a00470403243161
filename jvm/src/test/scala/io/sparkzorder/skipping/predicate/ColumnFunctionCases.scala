package io.sparkzorder.skipping.predicate

import java.time.{LocalDate, ZoneId}

import scala.collection.JavaConverters._
import scala.util.Random

import org.apache.spark.sql.types._

import io.sparkzorder.ordering.ValuesOfTypes

/**
 * Functions of a column `c`, with values around each place where a function could break the order:
 * changes of clocks, ends of years, overflows.
 */
private[predicate] object ColumnFunctionCases {

  val zones = Seq(
    "UTC",
    "America/Los_Angeles",
    // clocks are set at midnight: back to the day before, or a minute after midnight, or forward
    "America/Havana",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Africa/Cairo",
    // a day was left out, or came twice
    "Pacific/Apia",
    "America/Juneau",
    "Asia/Manila")

  private def around(zone: String): Seq[Long] = {
    val rules = ZoneId.of(zone).getRules
    val all = rules.getTransitions.asScala.map(_.getInstant.getEpochSecond)
    val some =
      all.take(2) ++ all.takeRight(2) ++ all.filter(s => s > 1325000000L && s < 1326000000L)
    val later = Option(rules.nextTransition(java.time.Instant.parse("2030-01-01T00:00:00Z")))
      .map(_.getInstant.getEpochSecond)
    val steps = Seq(-86400L, -3600, -1800, -60, 0, 60, 1800, 3600, 86400)
    for (s <- (some ++ later).toSeq; step <- steps; micro <- Seq(-1L, 0L))
      yield (s + step) * 1000000L + micro
  }

  private def micros(zone: String): Seq[Long] = around(zone) ++
    Seq("0001-01-01", "1582-10-15", "1899-12-31", "1970-01-01", "2024-02-29", "9999-12-31")
      .map(d => LocalDate.parse(d).toEpochDay * 86400000000L)
      .flatMap(m => Seq(m - 1, m, m + 86399999999L)) ++
    Seq(Long.MinValue, Long.MaxValue, -62167219200000000L, 253402300800000000L)

  private val days: Seq[Int] =
    Seq("0001-01-01", "1582-10-04", "1999-12-31", "2000-01-01", "2024-02-29", "9999-12-31")
      .map(LocalDate.parse(_).toEpochDay.toInt)
      .flatMap(d => Seq(d - 1, d, d + 1)) ++ (19700 to 19760) ++ Seq(15336, 15337, 15338, 15339) ++
      Seq(Int.MinValue, Int.MaxValue, Int.MaxValue - 1)

  /** Values of a type around each place where a function could break their order. */
  def values(t: DataType, zone: String, random: Random): Seq[Any] = {
    val all: Seq[Any] = t match {
      case TimestampType | TimestampNTZType => micros(zone)
      case DateType => days
      case LongType => ValuesOfTypes.values(t, random) ++ micros(zone).map(_ / 1000000L)
      case StringType =>
        Seq(
          "",
          "a",
          "ab",
          "abc",
          "abcd",
          "abd",
          "b",
          "é",
          "éa",
          "éab",
          "\uD83D\uDE00x",
          "2024-01",
          "zz").map(org.apache.spark.unsafe.types.UTF8String.fromString)
      case other => ValuesOfTypes.values(other, random)
    }
    all.distinct
  }

  private val times = Seq(
    "cast(c as date)",
    "year(c)",
    "month(c)",
    "quarter(c)",
    "dayofweek(c)",
    "cast(c as string)",
    "substring(cast(c as string), 1, 10)",
    "date_format(c, 'yyyy-MM')",
    "date_format(c, 'yyyyMMdd')",
    "date_format(c, \"yyyy'MM'dd\")",
    "date_format(c, \"yyyy-'MM'-dd\")",
    "date_format(c, \"yyyy-MM'dd'HH\")",
    "date_format(c, \"yyyy-MM-dd'T'HH':'mm\")",
    "trunc(cast(c as date), 'MM')",
    "date_trunc('HOUR', c)",
    "date_trunc('DAY', c)",
    "date_trunc('WEEK', c)",
    "date_trunc('MONTH', c)",
    "date_trunc('YEAR', c)",
    "c + interval 1 day",
    "c - interval 36 hours",
    "c + interval 5 minutes",
    "last_day(c)",
    "cast(cast(c as date) as timestamp)",
    "year(c) + 1",
    "date_add(cast(c as date), 3)")

  /** Functions of the column `c`, by its type. */
  val functions: Seq[(DataType, Seq[String])] = Seq(
    TimestampType -> (times ++ Seq(
      "cast(c as timestamp_ntz)",
      "unix_timestamp(c)",
      "unix_micros(c)",
      "cast(c as bigint)",
      "cast(c as double)")),
    TimestampNTZType -> (times :+ "cast(c as timestamp)"),
    DateType -> Seq(
      "year(c)",
      "month(c)",
      "dayofyear(c)",
      "day(c)",
      "weekday(c)",
      "trunc(c, 'YEAR')",
      "trunc(c, 'QUARTER')",
      "c + 1",
      "c - 400",
      "date_add(c, 2147483647)",
      "date_sub(c, 7)",
      "add_months(c, -1)",
      "last_day(c)",
      "cast(c as timestamp)",
      "cast(c as timestamp_ntz)",
      "cast(c as string)",
      "date_format(c, 'yyyy')",
      "datediff(c, date'2024-01-01')",
      "datediff(date'2024-01-01', c)",
      "unix_date(c)",
      "date_trunc('MONTH', c)",
      "left(cast(c as string), 7)"),
    ByteType -> Seq("c + 1Y", "c - 100Y", "1Y - c", "c * 3Y", "c * -3Y", "-c", "c + 1", "c div 7"),
    IntegerType -> Seq(
      "c + 1",
      "c - 1",
      "7 - c",
      "-c",
      "c * 2",
      "c * -2",
      "c / 2",
      "c div 3",
      "c + 1.5",
      "c * 1.5D",
      "cast(c as double)",
      "cast(c as float)",
      "cast(c as smallint)",
      "cast(c as bigint) * 3L",
      "cast(c as decimal(5,2))",
      "cast(c as timestamp)"),
    LongType -> Seq(
      "c + 1L",
      "c - 9223372036854775807L",
      "-c",
      "c * 1000L",
      "c * -1L",
      "cast(c as int)",
      "cast(c as double)",
      "cast(c as float)",
      "timestamp_seconds(c)",
      "timestamp_millis(c)",
      "timestamp_micros(c)",
      "to_date(timestamp_seconds(c))",
      "year(timestamp_seconds(c))",
      "cast(c as timestamp)",
      "cast(c as decimal(20,2))"),
    FloatType -> Seq("c + 1", "cast(c as double) * 2", "-c", "floor(c)", "cast(c as int)"),
    DoubleType -> Seq(
      "c + 1.5D",
      "1D - c",
      "c * 0.1D",
      "c / 3",
      "c * -2D",
      "floor(c)",
      "ceil(c)",
      "cast(c as float)",
      "cast(c as bigint)",
      "cast(c as decimal(10,2))",
      "c + double('NaN')"),
    DecimalType(5, 2) -> Seq(
      "c + 1",
      "c * 2.5",
      "-c",
      "c / 3",
      "cast(c as int)",
      "floor(c)",
      "cast(c as double)",
      "cast(c as decimal(4,1))",
      "cast(c as decimal(9,4)) + 0.0001"),
    DecimalType(18, 6) -> Seq(
      "c + 1",
      "c * 1000000",
      "cast(c as bigint)",
      "cast(c as tinyint)",
      "10 - c"),
    StringType -> Seq("substring(c, 1, 2)", "left(c, 1)", "substr(c, 0, 3)"))
}
