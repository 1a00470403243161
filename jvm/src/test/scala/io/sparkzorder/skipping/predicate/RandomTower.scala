// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import scala.util.Random

import org.apache.spark.sql.types._

/**
 * Random functions of a column `c`, one inside of another. Some are NULL where their argument is not, and some have
 * a value where their argument is NULL.
 */
private[predicate] final class RandomTower(random: Random) {

  def next(t: DataType): String = {
    val tower = new Of(t)
    val depth = random.nextInt(3) + 1
    one(
      tower.number(depth),
      tower.number(depth),
      tower.text(depth),
      tower.date(depth),
      tower.double(depth))
  }

  private def one[T](some: T*): T = some(random.nextInt(some.size))

  /** The texts are computed for one of them only. */
  private def oneOf(some: (() => String)*): String = one(some: _*)()

  /** @param t the type of the column */
  private final class Of(t: DataType) {

    def number(depth: Int): String = {
      def n = number(depth - 1)
      if (depth == 0) t match {
        case StringType =>
          one("try_cast(c AS INT)", "cast(c AS INT)", "length(c)", "instr(c, 'ab')")
        case LongType => one("c", "try_cast(c AS INT)", "cast(c AS TINYINT)")
        case TimestampType => one("year(c)", "hour(c)")
        case _ => one("try_cast(c AS INT)", "try_cast(c AS BIGINT)")
      }
      else oneOf(
        () => s"coalesce($n, 5)",
        () => s"nullif($n, 12)",
        () => s"nvl2($n, $n, 7)",
        () => s"greatest($n, 5)",
        () => s"least($n, 12)",
        () => s"if($n > 5, $n, 3)",
        () => s"CASE WHEN $n = 12 THEN NULL WHEN $n > 99 THEN 1 ELSE $n END",
        () => s"$n + 1",
        () => s"-($n)",
        () => s"length(${text(depth - 1)})",
        () => s"year(${date(depth - 1)})",
        () => s"int(isnull($n))")
    }

    def text(depth: Int): String = {
      def s = text(depth - 1)
      if (depth == 0) t match {
        case StringType => "c"
        case _ => "cast(c AS STRING)"
      }
      else oneOf(
        () => s"concat_ws('-', $s, 'y')",
        () => s"concat_ws('-', 'x', $s)",
        () => s"cast(${number(depth - 1)} AS STRING)",
        () => s"coalesce($s, 'x')",
        () => s"nullif($s, 'ab')",
        () => s"nvl2($s, $s, 'none')",
        () => s"lower($s)",
        () => s"trim($s)",
        () => s"concat('a', $s)",
        () => s"substring($s, 1, 2)",
        () => s"greatest($s, 'b')",
        () => s"date_format(${date(depth - 1)}, 'yyyy-MM')")
    }

    def date(depth: Int): String = {
      def d = date(depth - 1)
      if (depth == 0) t match {
        case TimestampType => "cast(c AS DATE)"
        case StringType => one("try_cast(c AS DATE)", "cast(try_cast(c AS TIMESTAMP) AS DATE)")
        case _ => "try_cast(cast(c AS STRING) AS DATE)"
      }
      else oneOf(
        () => s"coalesce($d, date'2024-02-29')",
        () => s"nullif($d, date'2024-02-29')",
        () => s"greatest($d, date'2000-01-01')",
        () => s"nvl2($d, date'1999-12-31', $d)",
        () => s"last_day($d)",
        () => s"date_add($d, 1)",
        () => s"try_cast(${text(depth - 1)} AS DATE)")
    }

    def double(depth: Int): String = {
      def x = double(depth - 1)
      if (depth == 0) t match {
        case DoubleType => "c"
        case StringType => "try_cast(c AS DOUBLE)"
        case TimestampType => "double(year(c))"
        case _ => "double(c)"
      }
      else oneOf(
        () => s"nanvl($x, 0.5D)",
        () => s"coalesce($x, 0.5D)",
        () => s"nullif($x, 12D)",
        () => s"greatest($x, 0.5D)",
        () => s"least($x, 12D)",
        () => s"$x / 2",
        () => s"double(${number(depth - 1)})")
    }
  }
}

private[predicate] object RandomTower {

  /** The types of the column. */
  val types: Seq[DataType] =
    Seq(StringType, LongType, DecimalType(38, 2), DoubleType, TimestampType)
}
