// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.io.File

import scala.util.Random

import org.apache.spark.sql.DataFrame

import io.sparkzorder.RandomInputs

/**
 * Random star schemas: a fact table of many files and up to three dimensions, joined in each way that
 * a filter can come from. Queries with skipping return the rows of queries without.
 *
 * The system property `sparkzorder.test.pairs` asks for more queries, as `make torture-skipping` does.
 */
class StarFuzzSuite extends SkippingTestBase with RandomInputs {
  private val queries = math.max(60, sys.props.get("sparkzorder.test.pairs").fold(0)(_.toInt / 50))
  private val perTable = 30

  private def pick[T](random: Random, values: T*): T = values(random.nextInt(values.size))

  /** A key of one of these types: all tables of a round have the same. */
  private def keyOf(random: Random): String = pick(
    random,
    "cast(n as int)",
    "n",
    "cast(n as decimal(12,2))",
    "date_add(date'2020-01-01', cast(n as int))",
    "concat('key', lpad(cast(n as string), 4, '0'))",
    "timestamp_seconds(n * 3600)")

  private def write(frame: DataFrame, dir: File, name: String): Unit =
    frame.write.mode("append").parquet(new File(dir, name).getPath)

  /** Files with neighbouring keys, as OPTIMIZE leaves them, or with keys from everywhere. */
  private def fact(random: Random, dir: File, keys: Seq[String]): Unit = {
    val isClustered = random.nextInt(5) > 0
    for (f <- 0 until 12) {
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
      write(rows.coalesce(1), dir, "fact")
    }
  }

  private def dimension(random: Random, dir: File, i: Int, key: String): Unit = {
    val rows = pick(random, 0, 3, 40, 240)
    val (first, step) = (random.nextInt(200), pick(random, 1, 1, 7))
    val frame = spark.range(rows).selectExpr(s"$first + id * $step n", "id").selectExpr(
      s"if(id = 2, null, $key) k",
      "n a",
      "concat('g', cast(n % 5 as string)) g",
      "if(id % 3 = 0, null, id) b")
    write(frame.coalesce(pick(random, 1, 3)), dir, s"dim$i")
  }

  private def filter(random: Random): String = pick(
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
  private def use(random: Random, i: Int): (String, String) = {
    val (dim, f) = (s"dim$i", filter(random))
    val agg = pick(random, "max", "min")
    val between = s"d$i.k <= f.k$i AND f.k$i <= d$i.k AND d$i.a < f.v"
    random.nextInt(18) match {
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
        (s"JOIN (SELECT * FROM $dim WHERE $f) d$i ON f.k$i = d$i.k OR f.v = d$i.a", "true")
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

  private def prefixed(filter: String, alias: String): String =
    filter.replaceAll("\\b([abg])\\b(?!')", s"$alias.$$1")

  private def query(random: Random, dimensions: Int): String = {
    val uses = (0 until dimensions).filter(_ => random.nextInt(3) > 0).map(use(random, _))
    // what is filtered after the joins may use only the fact table's columns and those of joins
    val own = pick(random, "true", "f.v % 2 = 0", s"f.v > ${random.nextInt(1200)}")
    val where = (uses.map(_._2) :+ own).mkString(" AND ")
    val hint = pick(random, "", "", "/*+ MERGE(d0) */", "/*+ BROADCAST(d0) */")
    val select = pick(random, "f.*", "f.k0, count(*) c, sum(f.v) s")
    val group = if (select.contains("count")) " GROUP BY f.k0" else ""
    s"SELECT $hint $select FROM fact f ${uses.map(_._1).mkString(" ")} WHERE $where$group"
  }

  private def round(random: Random, count: Int): Unit = withTableDir { dir =>
    val dimensions = random.nextInt(3) + 1
    val keys = Seq.fill(dimensions)(keyOf(random))
    fact(random, dir, keys)
    keys.zipWithIndex.foreach { case (k, i) => dimension(random, dir, i, k) }
    createIndex(new File(dir, "fact"))
    if (random.nextBoolean()) createIndex(new File(dir, "dim0"))
    val settings = Seq(
      "spark.sql.adaptive.enabled" -> random.nextBoolean().toString,
      "spark.sql.autoBroadcastJoinThreshold" -> pick(random, "-1", "10485760", "10485760"),
      "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS")
    inConf(settings: _*) {
      ("fact" +: keys.indices.map(i => s"dim$i")).foreach { name =>
        read(new File(dir, name)).createOrReplaceTempView(name)
      }
      for (_ <- 1 to count) {
        val text = query(random, dimensions)
        withClue(s"$settings $text\n") {
          val rows = bag(sql(text))
          assert(rows === withoutSkipping(bag(sql(text))))
          done += 1
        }
      }
    }
  }

  private var done = 0

  test(s"queries of star schemas have the same rows with skipping: $queries queries") {
    inConf(
      "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS",
      "spark.sql.shuffle.partitions" -> "3") {
      withRandom { random =>
        while (done < queries) {
          val seed = random.nextLong()
          withClue(s"seed $seed: ")(round(new Random(seed), math.min(perTable, queries - done)))
          if (done % 300 == 0 && queries > 600) note(s"seed $randomSeed: $done queries of stars")
        }
        info(s"seed $randomSeed: $done queries")
      }
    }
  }
}
