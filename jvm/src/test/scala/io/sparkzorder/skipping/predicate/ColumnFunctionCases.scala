// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

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

  /** Keys of days, and what looks like them. */
  private val dayKeys =
    Seq(101, 20240101, 20240131, 20240229, 20240230, 20241231, 20250000, 20251301) ++
      Seq(99991231, -20240101)

  private val dayTexts = dayKeys.map(_.toString) ++
    Seq("+20240101", " 20240101", "20240101 ", "2024010", "202401011", "20240A01", "0020240101") ++
    Seq("2024010110", "2024031002", "2024031003", "2024110301") ++
    Seq(
      "2024-01-05 10:00:00",
      "2024-01-05 10:00:01",
      "2024-03-10 02:30:00",
      "2024-13-05 10:00:00") ++
    Seq(
      "2011-12-30 10:00:00",
      "2018-11-04 00:30:00",
      "2024-1-5 10:00:00",
      "2024-01-05 10:00:00.5") ++
    Seq(
      "2024-1-5",
      "2024-01",
      "2024",
      " 2024-01-05",
      "2024-01-05T10",
      "12024-01-01",
      "10:00",
      "2024-01-5") ++
    Seq(
      "2024-01-05 10:00:00+14:00",
      "2024-01-05Z",
      "2024-01-05 ",
      "0002024-01-05",
      "2024-1",
      "2023-12-31") ++
    Seq(
      "2024-01-04",
      "2024-01-06",
      "2024-02-30",
      "2024-10-05",
      "2024-1-05 23:59:59-12:00",
      "9999-12-31")

  /** Letters in both cases, and others that become plain letters or more letters than one. */
  private val letters = Seq(
    "A",
    "ABC",
    "aBc",
    "Abcd",
    "ab c",
    "ABCDEFGHIJ",
    "abcdefghij",
    "abcdefghijk",
    "i",
    "I",
    "\u0131",
    "\u0130",
    "i\u0307",
    "I\u0307x",
    "a\u017f",
    "as",
    "\u212a",
    "k",
    "stra\u00dfe",
    "STRASSE",
    "a\ufb01",
    "AFI",
    "\u03a3",
    "a\u03a3",
    "\u0149",
    "ab-c",
    "ab-",
    "-ab",
    "ab\u00e9-c",
    " ab",
    "  abc ",
    "ab ",
    "xab",
    "xxabx",
    "abx",
    "xabx",
    " ",
    "x",
    "-")

  /** Texts around those of which a cast makes an integer. */
  private val integers = Seq(
    "0",
    "-0",
    "+12",
    "12",
    " 12",
    "12 ",
    "\t12\n",
    "\u007f12",
    "012",
    "12.7",
    "12.",
    "12a",
    "-12",
    "99",
    "100",
    "1000",
    "1e3",
    "127",
    "128",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "\u0663",
    "1\u0663")

  /** Bytes that are no UTF-8. At the end of half a character Spark's SUBSTRING reads beyond the text. */
  private val noText = Seq(Array(0x61, 0x80), Array(0x80), Array(0x61, 0xff, 0x2d))
    .map(bytes => org.apache.spark.unsafe.types.UTF8String.fromBytes(bytes.map(_.toByte)))

  /** Values of a type around each place where a function could break their order. */
  def values(t: DataType, zone: String, random: Random): Seq[Any] = {
    def text(value: String) = org.apache.spark.unsafe.types.UTF8String.fromString(value)
    val all: Seq[Any] = t match {
      case TimestampType | TimestampNTZType => micros(zone)
      case DateType => days
      case LongType => ValuesOfTypes.values(t, random) ++ micros(zone).map(_ / 1000000L)
      case IntegerType => ValuesOfTypes.values(t, random) ++ dayKeys
      case StringType =>
        (dayTexts ++ Seq(
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
          "2024-02-30",
          "12x",
          "7 x",
          "zz")).map(text) ++ letters.map(text) ++ integers.map(text) ++ noText
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
    "date_add(cast(c as date), 3)",
    "hour(c)",
    "minute(c)",
    "hour(c) * 60 + minute(c)",
    "weekofyear(c)",
    "dayofyear(c)",
    "year(c) * 100 + month(c)",
    "extract(YEAROFWEEK FROM c) * 100 + extract(WEEK FROM c)",
    "date_format(c, 'HH:mm')",
    "date_format(c, 'MM-dd')",
    "date_format(c, 'yyyy-MM-01')",
    "date_format(c, 'yyyy/yyyy-MM')",
    "date_format(c, 'yyyyDDD')",
    "date_format(c, 'yyyy-MM-dd HH:mm:ss.SSS')",
    "upper(date_format(c, 'MMM'))",
    "cast(date_format(c, 'yyyyMMdd') as int)",
    "concat(year(c), '-', lpad(month(c), 2, '0'))",
    "make_date(year(c), month(c), 1)",
    "make_date(year(c), month(c), day(c))",
    "cast(concat(to_date(c), ' 00:00:00') as timestamp)",
    "to_timestamp(date_format(c, 'yyyy-MM-dd HH:mm:ss'))",
    "to_timestamp(date_format(c, 'yyyyMMddHH'), 'yyyyMMddHH')",
    "cast(date_format(c, 'yyyy-MM-dd HH:mm') as timestamp_ntz)",
    "from_utc_timestamp(c, 'America/Havana')",
    "to_utc_timestamp(c, 'Africa/Cairo')",
    "to_date(from_utc_timestamp(c, 'Pacific/Apia'))",
    "c + interval 1 month",
    "c - interval 1 day 3 hours",
    "c + interval '25' hour",
    "c + make_interval(0, 2, 0, 1)",
    "dateadd(DAY, 3, c)",
    "timestampadd(HOUR, -5, c)",
    "timestampadd(MONTH, -5, c)",
    "extract(DAY FROM c - timestamp'2012-01-01 00:00:00')",
    "timestampdiff(DAY, timestamp'2012-01-01 00:00:00', c)",
    "timestampdiff(HOUR, c, timestamp'2012-01-01 00:00:00')",
    "timestampdiff(MONTH, c, timestamp'2024-05-05 00:00:00')",
    "c - timestamp'2012-01-01 00:00:00'",
    "months_between(c, timestamp'2012-01-05 10:00:00')",
    "months_between(timestamp'2012-01-31 10:00:00', c)",
    "greatest(cast(c as date), date'2012-01-01')",
    "if(month(c) > 6, 'b', 'a')",
    "coalesce(cast(c as string), '2')",
    "nullif(year(c), 2012)",
    "date_trunc('MINUTE', c)",
    "date_trunc('QUARTER', c)",
    "substring(cast(cast(c as date) as string), 6, 2)",
    "right(cast(cast(c as date) as string), 5)",
    "replace(cast(to_date(c) as string), '-', '')",
    "cast(c as date) - interval 1 day",
    "to_date(c) = last_day(c)")

  /** Functions of the column `c`, by its type. */
  val functions: Seq[(DataType, Seq[String])] = Seq(
    TimestampType -> (times ++ Seq(
      "cast(c as timestamp_ntz)",
      "unix_timestamp(c)",
      "unix_micros(c)",
      "cast(c as bigint)",
      "second(c)",
      "extract(SECOND FROM c)",
      "unix_millis(c)",
      "from_unixtime(unix_timestamp(c), 'yyyy-MM-dd 00:00:00')",
      "cast(c as decimal(20,6))",
      "cast(c as float)",
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
      "left(cast(c as string), 7)",
      "year(c) * 10000 + month(c) * 100 + day(c)",
      "date_add(c, -pmod(datediff(c, date'1900-01-01'), 7))",
      "date_sub(c, dayofweek(c) - 1)",
      "next_day(c, 'MON')",
      "c + interval '1' month",
      "c - date'2024-01-01'",
      "cast(replace(cast(c as string), '-', '') as int)",
      "concat_ws('-', year(c), month(c))",
      "date_format(c, 'MMM yyyy')",
      "date_format(c, 'dd.MM.yyyy')",
      "weekofyear(c)",
      "extract(YEAROFWEEK FROM c)",
      "add_months(c, 1 - month(c))",
      "make_date(year(c), quarter(c) * 3 - 2, 1)",
      "make_date(2023, month(c), day(c))",
      "to_date(date_format(c, 'yyyyMMdd'), 'yyyyMMdd')",
      "months_between(c, date'2024-01-15')",
      "date_from_unix_date(unix_date(c) + 1)",
      "substring_index(cast(c as string), '-', 2)",
      "substring(cast(c as string), -2, 2)",
      "hash(year(c))",
      "greatest(c, date'2000-01-01')",
      "least(c, date'2000-01-01')",
      "unix_timestamp(c)",
      "coalesce(month(c), 13)",
      "case when c < date'2000-01-01' then 'x' when month(c) = 2 then 'y' end",
      "isnull(c)",
      "year(c) IN (1999, 2024, NULL)",
      "from_utc_timestamp(c, 'Asia/Tokyo')"),
    ByteType -> Seq(
      "abs(c)",
      "c % 7Y",
      "pmod(c, 7Y)",
      "cast(c as string)",
      "cast(c as boolean)",
      "-c * c",
      "round(c, -1)",
      "shiftleft(c, 3)",
      "c + 1Y",
      "c - 100Y",
      "1Y - c",
      "c * 3Y",
      "c * -3Y",
      "-c",
      "c + 1",
      "c div 7"),
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
      "abs(c)",
      "abs(c - 5)",
      "c % 7",
      "c % -7",
      "pmod(c, 7)",
      "mod(c - 3, 100)",
      "c - c % 10",
      "c * c",
      "cast(c as string)",
      "lpad(cast(c as string), 8, '0')",
      "concat('C', c)",
      "cast(c as string) || 'x'",
      "substring(cast(c as string), 1, 6)",
      "substring(cast(c as string), 3, 2)",
      "to_date(cast(c as string), 'yyyyMMdd')",
      "make_date(c div 10000, c div 100 % 100, c % 100)",
      "shiftright(c, 2)",
      "c << 3",
      "c >>> 1",
      "~c",
      "c & 255",
      "round(c, -2)",
      "bround(c, -1)",
      "sqrt(c)",
      "power(c, 2)",
      "exp(c / 1000)",
      "sign(c)",
      "greatest(c, 5)",
      "least(c, 5)",
      "nullif(c, 5)",
      "coalesce(c, 0)",
      "width_bucket(c, 0, 100, 10)",
      "case when c < 0 then 'x' when c < 100 then 'y' else 'z' end",
      "hash(c)",
      "timestampadd(HOUR, c, timestamp'2012-01-01 00:00:00')",
      "timestampadd(DAY, c, timestamp'2018-11-03 00:00:00')",
      "timestampadd(MONTH, c, timestamp'2012-01-31 00:30:00')",
      "c > c + 1",
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
      "from_unixtime(c, 'yyyy-MM-dd HH')",
      "from_unixtime(c, 'HH:mm')",
      "to_date(from_unixtime(c))",
      "cast(c / 1000 as timestamp)",
      "c - c % 86400",
      "floor(c / 86400)",
      "abs(c)",
      "cast(c as string)",
      "c * c",
      "c % 3",
      "shiftleft(c, 40)",
      "round(c, -3)",
      "cast(c as decimal(20,2))"),
    FloatType -> Seq(
      "c + 1",
      "cast(c as double) * 2",
      "-c",
      "floor(c)",
      "cast(c as int)",
      "cast(c as string)"),
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
      "abs(c)",
      "round(c, 1)",
      "round(c, -1)",
      "bround(c, 1)",
      "rint(c)",
      "sqrt(c)",
      "cbrt(c)",
      "exp(c)",
      "ln(c)",
      "log10(c + 1)",
      "log(2, c)",
      "power(c, 2)",
      "power(c, -1)",
      "sign(c)",
      "c * c",
      "1 / c",
      "c - c",
      "c % 3",
      "atan(c)",
      "tanh(c)",
      "asin(c)",
      "cast(c as string)",
      "cast(c as timestamp)",
      "greatest(c, 1D)",
      "least(c, 0D)",
      "coalesce(c, 0D)",
      "nanvl(c, 0D)",
      "isnan(c)",
      "width_bucket(c, 0, 100, 10)",
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
      "round(c, 1)",
      "round(c, -1)",
      "abs(c)",
      "ceil(c, 1)",
      "floor(c, -1)",
      "c % 3",
      "c * c",
      "1 / c",
      "cast(c as string)",
      "cast(c as double) * 1.19",
      "greatest(c, 1)",
      "cast(c as decimal(9,4)) + 0.0001"),
    DecimalType(18, 6) -> Seq(
      "c + 1",
      "c * 1000000",
      "cast(c as bigint)",
      "cast(c as tinyint)",
      "cast(c as string)",
      "concat('$', cast(c as string), '!')",
      "10 - c"),
    StringType -> Seq(
      "to_date(c, 'yyyyMMdd')",
      "year(to_date(c, 'yyyyMMdd'))",
      "month(to_date(c, 'yyyyMMdd'))",
      "unix_timestamp(c, 'yyyyMMdd')",
      "to_timestamp(c, 'yyyy-MM-dd HH:mm:ss')",
      "to_timestamp(c, 'yyyyMMddHH')",
      "to_timestamp_ntz(c, 'yyyyMMddHH')",
      "hour(to_timestamp(c, 'yyyyMMddHH'))",
      "to_date(substring(c, 1, 8), 'yyyyMMdd')",
      "to_date(left(c, 10))",
      "cast(c as date)",
      "cast(c as timestamp)",
      "cast(c as int)",
      "cast(c as bigint) + 1",
      "cast(c as tinyint) % 10",
      "try_cast(c as int)",
      "month(c)",
      "upper(c)",
      "lower(c)",
      "lower(left(c, 2))",
      "left(upper(c), 2)",
      "lower(trim(c))",
      "trim(c)",
      "ltrim(c)",
      "rtrim(c)",
      "trim(BOTH 'x ' FROM c)",
      "trim(LEADING 'x' FROM c)",
      "concat(c, 'x')",
      "concat('a', c)",
      "concat('x', c, 'b', 'x')",
      "concat_ws('-', 'a', c, 'b')",
      "concat(c, upper(c))",
      "instr(c, 'ab')",
      "locate('ab', c)",
      "locate('ab', c) = 1",
      "substring_index(c, '-', 1)",
      "substring_index(c, '-', 2)",
      "split_part(c, '-', 1)",
      "split(c, '-')[0]",
      "split(c, '[a-c]')[0]",
      "split(c, '-')[1]",
      "coalesce(left(c, 2), '2')",
      "substring(c, 1, 2)",
      "left(c, 1)",
      "substr(c, 0, 3)"))

  /** Functions that have a value where the function inside of them is NULL: of a text that is no number, say. */
  val aroundNull: Seq[(DataType, Seq[String])] = Seq(
    StringType -> Seq(
      "greatest(try_cast(c as int), 5)",
      "least(try_cast(c as int), 12)",
      "greatest(cast(c as bigint), 5)",
      "greatest(try_cast(c as date), date'2024-02-29')",
      "greatest(try_cast(c as timestamp), timestamp'2024-02-29')",
      "greatest(try_to_timestamp(c, 'yyyy-MM-dd'), timestamp'2024-02-29')",
      "concat_ws('-', cast(try_cast(c as int) as string), 'y')",
      "concat_ws('-', 'x', c)",
      "hash(try_cast(c as int))",
      "isnull(try_cast(c as int))",
      "coalesce(try_cast(c as int), 5) + 1"),
    LongType -> Seq("greatest(try_cast(c as int), 5)", "least(cast(c as tinyint), 5)"),
    DecimalType(38, 2) -> Seq("greatest(try_cast(c as int), 5)", "least(cast(c as bigint), 5)"))
}
