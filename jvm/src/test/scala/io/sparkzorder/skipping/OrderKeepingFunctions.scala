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
        "cast(x as decimal(12,2))")
    case FloatType | DoubleType =>
      Seq("x + 1.5D", "x * -2D", "x / 4", "floor(x)", "cast(x as float)", "1D - x")
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
        "-x")
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
        "date_format(x, 'yyyy-MM')")
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
        "trunc(x, 'YEAR')")
    case StringType => Seq("substring(x, 1, 3)", "left(x, 12)", "substring(x, 0, 1)")
    case _ => Nil
  }
}
