// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import org.apache.spark.sql.types._

/** Functions of `x` that keep or reverse the order of its values, and some that do in parts. */
object OrderKeepingFunctions {

  def of(t: DataType): Seq[String] = t match {
    case ByteType | ShortType | IntegerType | LongType => Seq(
        "x + 1",
        "x - 7",
        "3 - x",
        "-x",
        "x * 2",
        "x * -1",
        "x / 3",
        "x div 2",
        "cast(x as double)",
        "cast(x as int)",
        "cast(x as float)",
        "cast(x as bigint) + 100",
        "cast(x as decimal(12,2))",
        "abs(x)",
        "x % 7",
        "x - x % 10",
        "cast(x as string)",
        "lpad(cast(x as string), 6, '0')",
        "greatest(x, 3)",
        "least(x, 3)",
        "round(x, -1)",
        "shiftright(x, 2)",
        "format_string('n%06d', x)",
        "format_string('%02d-%03d', 3, try_cast(x as tinyint))",
        "timestamp'2000-01-01 00:00:00' + try_cast(x as smallint) * interval '1' hour",
        "sqrt(abs(x))",
        "coalesce(x, 0)",
        "case when x < 0 then 'n' when x < 10 then 'd' else 'm' end")
    case FloatType | DoubleType =>
      Seq(
        "x + 1.5D",
        "x * -2D",
        "x / 4",
        "floor(x)",
        "cast(x as float)",
        "1D - x",
        "abs(x)",
        "round(x, 1)",
        "sqrt(x)",
        "exp(x)",
        "x * x",
        "rint(x)",
        "greatest(x, 0D)",
        "sign(x)")
    case _: DecimalType => Seq(
        "x + 1",
        "7 - x",
        "floor(x)",
        "ceil(x)",
        "round(x, 1)",
        "cast(x as double)",
        "cast(x as float)",
        "cast(x as bigint)",
        "cast(x as int)",
        "cast(x as decimal(18,1))",
        "x * 2",
        "x * -3",
        "x / 3",
        "-x",
        "abs(x)",
        "greatest(x, 1)",
        "x * x")
    case DateType => Seq(
        "year(x)",
        "month(x)",
        "quarter(x)",
        "dayofweek(x)",
        "trunc(x, 'MM')",
        "date_add(x, 3)",
        "cast(x as timestamp)",
        "cast(x as string)",
        "datediff(x, date'2000-01-01')",
        "last_day(x)",
        "add_months(x, 5)",
        "date_format(x, 'yyyy-MM')",
        "year(x) * 100 + month(x)",
        "date_add(x, -pmod(datediff(x, date'1900-01-01'), 7))",
        "make_date(year(x), month(x), 1)",
        "cast(replace(cast(x as string), '-', '') as int)",
        "concat(year(x), '-', lpad(month(x), 2, '0'))",
        "months_between(x, date'2000-01-15')",
        "months_between(x, date'2000-02-29')",
        "format_string('%04d-%02d', year(x), month(x))",
        "date_format(x, 'MMMM d, yyyy')",
        "date_format(x, 'yy-MM')",
        "date_format(x, 'EEE')",
        "weekofyear(x)",
        "greatest(x, date'2000-01-01')")
    case TimestampType | TimestampNTZType => Seq(
        "cast(x as date)",
        "year(x)",
        "month(x)",
        "date_trunc('DAY', x)",
        "date_trunc('HOUR', x)",
        "date_trunc('MONTH', x)",
        "cast(x as string)",
        "x + interval 1 day",
        "x - interval 90 minutes",
        "date_format(x, 'yyyy-MM-dd')",
        "cast(x as timestamp)",
        "substring(cast(x as string), 1, 13)",
        "trunc(x, 'YEAR')",
        "hour(x)",
        "from_utc_timestamp(x, 'Asia/Tokyo')",
        "to_utc_timestamp(x, 'America/New_York')",
        "cast(concat(to_date(x), ' 00:00:00') as timestamp)",
        "from_unixtime(unix_timestamp(x), 'yyyy-MM-dd 00:00:00')",
        "cast(date_format(x, 'yyyyMMdd') as int)",
        "year(x) * 12 + month(x)",
        "dateadd(DAY, 7, x)",
        "timestampdiff(DAY, timestamp'2000-01-01 00:00:00', x)",
        "months_between(x, timestamp'2000-01-15 00:00:00')",
        "months_between(timestamp'2000-01-31 12:00:00', x)",
        "date_format(x, 'EEE dd MMM yyyy')",
        "convert_timezone('America/New_York', 'Asia/Kolkata', cast(x as timestamp_ntz))",
        "convert_timezone('Europe/London', 'America/New_York', cast(x as timestamp_ntz))")
    case StringType => Seq(
        "substring(x, 1, 3)",
        "left(x, 12)",
        "substring(x, 0, 1)",
        "left(x, instr(x, '0') - 1)",
        "replace(x, '/', '')",
        "replace(x, 'tt', 'a')",
        "translate(x, ':/', '_')",
        "regexp_replace(x, '[^a-z]', '')",
        "regexp_replace(x, '^http', '')",
        "regexp_extract(x, '^([a-z]*)', 1)",
        "split_part(x, '/', 3)",
        "substring_index(x, '/', 3)",
        "split(x, '/')[0]",
        "rpad(x, 5, ' ')",
        "overlay(x PLACING '-' FROM 2 FOR 1)",
        "initcap(x)",
        "trim(LEADING 'ht' FROM x)",
        "upper(replace(x, '/', '-'))",
        "concat(left(x, 2), x)",
        "ascii(x)",
        "to_date(x, 'yyyyMMdd')",
        "coalesce(left(x, 2), 'a')")
    case _ => Nil
  }

  /** Functions of `x` and `y`. */
  def ofTwo(x: DataType, y: DataType): Seq[String] = {
    def isNumber(t: DataType) = t.isInstanceOf[NumericType]
    def isTime(t: DataType) = t == TimestampType || t == TimestampNTZType
    val ofAny = Seq(
      "concat(x, '-', y)",
      "concat_ws('|', x, y)",
      "coalesce(string(x), string(y))",
      "concat(left(x, 2), y)",
      "concat(y, upper(x))",
      "elt(2, string(x), string(y))")
    (x, y) match {
      case (a, b) if isNumber(a) && isNumber(b) =>
        Seq(
          "x + y",
          "x - y",
          "x * y",
          "abs(x - y)",
          "x * 2 - y",
          "try_add(x, y)",
          "try_subtract(x, y)",
          "x / nullif(y, 0)",
          "coalesce(x, y)",
          "nullif(x, y)",
          "greatest(x, y) - least(x, y)",
          "array_min(array(x, y))",
          "sort_array(array(x, y))[0]",
          "array_max(array(x, y))",
          "if(x > y, x, y)",
          "power(x - y, 2)",
          "x > y + 1",
          "concat(x, '-', y)")
      case (DateType, DateType) =>
        Seq("datediff(x, y)", "greatest(x, y)", "year(x) - year(y)", "date_add(x, year(y))") ++
          Seq("concat(x, ' ', y)", "x > date_add(y, 3)")
      case (a, b) if isTime(a) && isTime(b) =>
        Seq(
          "timestampdiff(HOUR, x, y)",
          "timestampdiff(MONTH, x, y)",
          "datediff(x, y)",
          "unix_timestamp(x) - unix_timestamp(y)",
          "to_date(x) > to_date(y)",
          "concat(to_date(x), ' ', hour(y))")
      case (DateType, b) if isTime(b) =>
        Seq("datediff(x, y)", "to_timestamp(string(x) || date_format(y, ' HH:mm:ss'))", "x < y")
      case (DateType, b) if isNumber(b) => Seq("date_add(x, try_cast(y as smallint))") ++ ofAny
      case (StringType, StringType) =>
        Seq(
          "x > lower(y)",
          "concat(split_part(x, '/', 1), y)",
          "replace(concat(x, y), '/', '')") ++ ofAny
      case (_: BinaryType, _) | (_, _: BinaryType) => Nil
      case _ => ofAny
    }
  }
}
