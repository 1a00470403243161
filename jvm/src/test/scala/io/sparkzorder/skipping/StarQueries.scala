// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import scala.util.Random

import org.apache.spark.sql.DataFrame

import io.sparkzorder.commands.OptimizeTestBase

/**
 * Random star schemas: a fact table of many files and up to three dimensions, joined in each way that
 * a filter can come from.
 */
trait StarQueries { this: OptimizeTestBase =>

  protected def pick[T](random: Random, values: T*): T = values(random.nextInt(values.size))

  /** A key of one of these types: all tables of a round have the same. */
  protected def keyOf(random: Random): String = pick(
    random,
    "cast(n as int)",
    "n",
    "cast(n as decimal(12,2))",
    "date_add(date'2020-01-01', cast(n as int))",
    "concat('key', lpad(cast(n as string), 4, '0'))",
    "timestamp_seconds(n * 3600)")

  /** Files with neighbouring keys, as OPTIMIZE leaves them, or with keys from everywhere. */
  protected def factFrames(random: Random, keys: Seq[String]): Seq[DataFrame] = {
    val isClustered = random.nextInt(5) > 0
    for (f <- 0 until 12) yield {
      val from = if (isClustered) f * 20 else 0
      val numbers = keys.indices.map { i =>
        val isNear = isClustered && (i == 0 || random.nextBoolean())
        val (first, span) = if (isNear) (from, 20) else (0, 240)
        s"cast($first + pmod(hash(id, $i, $f), $span) as bigint) n$i"
      }
      val columns = keys.zipWithIndex.map { case (k, i) =>
        val isNull = if (random.nextInt(4) == 0) s"id % 5 = ${random.nextInt(5)}" else "false"
        s"if($isNull, null, ${k.replaceAll("\\bn\\b", s"n$i")}) k$i"
      }
      val rows = spark.range(15).selectExpr("id" +: numbers: _*)
        .selectExpr(columns :+ s"id + ${f * 100} v": _*)
      rows.coalesce(1)
    }
  }

  protected def dimensionFrame(random: Random, key: String): DataFrame = {
    val rows = pick(random, 0, 3, 40, 240)
    val (first, step) = (random.nextInt(200), pick(random, 1, 1, 7))
    val frame = spark.range(rows).selectExpr(s"$first + id * $step n", "id").selectExpr(
      s"if(id = 2, null, $key) k",
      "n a",
      "concat('g', cast(n % 5 as string)) g",
      "if(id % 3 = 0, null, id) b")
    frame.coalesce(pick(random, 1, 3))
  }

  protected def filter(random: Random): String = pick(
    random,
    s"a = ${random.nextInt(240)}",
    s"a BETWEEN ${random.nextInt(120)} AND ${random.nextInt(240)}",
    s"a IN (${Seq.fill(4)(random.nextInt(240)).mkString(", ")})",
    s"g = 'g${random.nextInt(6)}' AND a < ${random.nextInt(240)}",
    s"b > ${random.nextInt(30)}",
    "b IS NULL",
    "a < 0",
    "true")

  /** A condition on the fact table that comes from a dimension, or a join with the dimension. */
  protected def use(random: Random, i: Int): (String, String) = {
    val (dim, f) = (s"dim$i", filter(random))
    val agg = pick(random, "max", "min")
    val between = s"d$i.k <= f.k$i AND f.k$i <= d$i.k AND d$i.a < f.v"
    random.nextInt(21) match {
      case 0 | 1 => (s"JOIN $dim d$i ON f.k$i = d$i.k", prefixed(f, s"d$i"))
      case 2 => (s"JOIN (SELECT DISTINCT k FROM $dim WHERE $f) d$i ON d$i.k = f.k$i", "true")
      case 3 => (s"LEFT SEMI JOIN (SELECT * FROM $dim WHERE $f) d$i ON f.k$i = d$i.k", "true")
      case 4 => (s"LEFT ANTI JOIN (SELECT * FROM $dim WHERE $f) d$i ON f.k$i = d$i.k", "true")
      case 5 => (s"LEFT JOIN (SELECT * FROM $dim WHERE $f) d$i ON f.k$i = d$i.k", "true")
      case 6 => (s"RIGHT JOIN (SELECT * FROM $dim WHERE $f) d$i ON f.k$i = d$i.k", "true")
      case 7 => (s"FULL JOIN (SELECT * FROM $dim WHERE $f) d$i ON f.k$i = d$i.k", "true")
      case 8 => ("", s"f.k$i IN (SELECT k FROM $dim WHERE $f)")
      case 9 => ("", s"EXISTS (SELECT 1 FROM $dim x WHERE x.k = f.k$i AND ${prefixed(f, "x")})")
      case 10 =>
        val op = pick(random, "=", "<", ">=", "<=>")
        ("", s"f.k$i $op (SELECT $agg(k) FROM $dim WHERE $f)")
      case 11 =>
        val join = pick(random, "JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
        (s"$join (SELECT * FROM $dim WHERE $f) d$i ON $between", "true")
      case 12 =>
        val op = pick(random, ">", "<=")
        (s"JOIN (SELECT $agg(k) m FROM $dim WHERE $f) d$i ON f.k$i $op d$i.m", "true")
      case 13 =>
        val other =
          pick(
            random,
            s"f.v = d$i.a",
            s"f.v = d$i.a",
            s"d$i.a % 7 = 3",
            s"d$i.k IS NULL",
            s"d$i.a > 40")
        (s"JOIN (SELECT * FROM $dim WHERE $f) d$i ON f.k$i = d$i.k OR $other", "true")
      case 14 =>
        val op = pick(random, "=", "<=>", ">")
        (
          s"JOIN (SELECT * FROM $dim WHERE $f) d$i ON f.k$i $op d$i.k AND d$i.a % 2 = f.v % 2",
          "true")
      case 15 =>
        val function = pick(random, "row_number", "rank")
        (
          s"JOIN (SELECT k$i kk, v vv, $function() OVER (PARTITION BY k$i ORDER BY v) r FROM fact) x$i " +
            s"ON x$i.kk = f.k$i JOIN (SELECT * FROM $dim WHERE $f) d$i ON d$i.k = x$i.kk",
          s"x$i.r <= 2")
      case 16 =>
        // the dimension of a dimension
        val join = pick(random, "JOIN", "JOIN", "LEFT JOIN", "LEFT SEMI JOIN")
        val first = pick(random, "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
        (
          s"$first $dim d$i ON f.k$i = d$i.k $join (SELECT DISTINCT g, a % 3 h FROM dim0 WHERE $f) s$i " +
            s"ON d$i.g = s$i.g AND d$i.a % 3 = s$i.h",
          "true")
      case 17 =>
        val values = pick(random, s"IN (d$i.k, d$i.k)", s"IN (d$i.k, f.k$i)", s"IN (d$i.k)")
        (s"JOIN (SELECT * FROM $dim WHERE $f) d$i ON f.k$i $values", "true")
      case 18 =>
        (s"JOIN $dim d$i ON array_contains(array(d$i.k), f.k$i)", prefixed(f, s"d$i"))
      case 19 =>
        ("", s"(f.k$i IN (SELECT k FROM $dim WHERE $f) OR f.v IN (SELECT a FROM $dim WHERE $f))")
      case _ =>
        val not = pick(random, "", "NOT ")
        (
          "",
          pick(
            random,
            s"f.k$i ${not}BETWEEN (SELECT min(k) FROM $dim WHERE $f) AND (SELECT max(k) FROM $dim)",
            s"f.k$i NOT IN (SELECT k FROM $dim WHERE $f AND k IS NOT NULL)",
            s"(f.v < 300 OR f.k$i IN (SELECT k FROM $dim WHERE $f))"))
    }
  }

  protected def prefixed(filter: String, alias: String): String =
    filter.replaceAll("\\b([abg])\\b(?!')", s"$alias.$$1")

  /** A filter on the fact table alone. */
  protected def ownFilter(random: Random): String =
    pick(random, "true", "f.v % 2 = 0", s"f.v > ${random.nextInt(1200)}")

  protected def query(random: Random, dimensions: Int): String = {
    val uses = (0 until dimensions).filter(_ => random.nextInt(3) > 0).map(use(random, _))
    // what is filtered after the joins may use only the fact table's columns and those of joins
    val own = ownFilter(random)
    val where = (uses.map(_._2) :+ own).mkString(" AND ")
    val hint = pick(random, "", "", "/*+ MERGE(d0) */", "/*+ BROADCAST(d0) */")
    val select = pick(random, "f.*", "f.k0, count(*) c, sum(f.v) s")
    val group = if (select.contains("count")) " GROUP BY f.k0" else ""
    s"SELECT $hint $select FROM fact f ${uses.map(_._1).mkString(" ")} WHERE $where$group"
  }
}
