// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.io.File

import scala.util.Random

import org.scalatest.tags.Slow

import io.sparkzorder.ValidatedPlans

/** Random star schemas and joins: the same rows with the keys of joins and without. */
@Slow
class RandomStarSuite extends StarTestBase with ValidatedPlans {

  // what a key looks like as a function of a whole number, and the same with some NULLs
  private val keys = Seq[String => String](
    n => s"int($n)",
    n => s"bigint($n) - 700",
    n => s"cast($n as smallint)",
    n => s"cast($n / 4 as decimal(20, 3))",
    n => s"cast($n / 4 as decimal(9, 2))",
    n => s"date_add(date'1999-12-01', int($n))",
    n => s"timestamp_seconds($n * 7200)",
    n => s"format_string('k%05d', $n)",
    n => s"double($n)",
    n => s"$n % 2 = 0")

  private val joins = Seq(
    "SELECT * FROM f JOIN d ON f.k = d.k",
    "SELECT * FROM d JOIN f ON f.k = d.k",
    "SELECT * FROM f LEFT JOIN d ON f.k = d.k",
    "SELECT * FROM d LEFT JOIN f ON f.k = d.k",
    "SELECT * FROM f RIGHT JOIN d ON f.k = d.k",
    "SELECT * FROM d FULL JOIN f ON f.k = d.k",
    "SELECT * FROM f LEFT SEMI JOIN d ON f.k = d.k",
    "SELECT * FROM d LEFT SEMI JOIN f ON f.k = d.k",
    "SELECT * FROM f LEFT ANTI JOIN d ON f.k = d.k",
    "SELECT * FROM d LEFT ANTI JOIN f ON f.k = d.k",
    "SELECT * FROM f JOIN d ON f.k <=> d.k",
    "SELECT * FROM f JOIN d ON f.k = d.k AND f.v > d.w",
    "SELECT * FROM f JOIN d ON f.k = d.k AND f.j = d.w",
    "SELECT * FROM f WHERE k IN (SELECT k FROM d)",
    "SELECT * FROM f WHERE k NOT IN (SELECT k FROM d)",
    "SELECT * FROM f WHERE v < 9 OR k IN (SELECT k FROM d)",
    "SELECT * FROM f WHERE EXISTS (SELECT 1 FROM d WHERE d.k = f.k)",
    "SELECT * FROM f WHERE NOT EXISTS (SELECT 1 FROM d WHERE d.k = f.k)",
    "SELECT * FROM f WHERE k = (SELECT max(k) FROM d)",
    "SELECT * FROM f WHERE k < (SELECT min(k) FROM d)",
    "SELECT * FROM f WHERE k BETWEEN (SELECT min(k) FROM d) AND (SELECT max(k) FROM d)",
    "SELECT a.k, b.v FROM f a JOIN f b ON a.k = b.k JOIN d ON a.k = d.k",
    "SELECT d.w, x.n FROM (SELECT k, count(*) n FROM f GROUP BY k) x JOIN d ON x.k = d.k",
    "SELECT d.w, x.k FROM (SELECT k FROM f UNION ALL SELECT k FROM f WHERE v > 9) x " +
      "JOIN d ON x.k = d.k",
    "SELECT * FROM f LEFT JOIN f g ON f.k = g.k AND g.v > 50 JOIN d ON f.k = d.k",
    "SELECT * FROM f FULL JOIN f g ON f.v = g.v JOIN d ON f.k = d.k",
    "SELECT f.v, d.w FROM f, d WHERE f.k = d.k AND d.w = (SELECT max(w) FROM d)",
    "WITH x AS (SELECT k, count(*) n FROM f GROUP BY k) SELECT * FROM (SELECT x.* FROM x JOIN d " +
      "ON x.k = d.k AND d.w < 2) a JOIN (SELECT x.* FROM x JOIN d ON x.k = d.k AND d.w > 0) b " +
      "ON a.n = b.n",
    "SELECT x.k, x.v, d.w FROM (SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) r FROM f) x " +
      "JOIN d ON x.k = d.k WHERE r <= 2",
    "SELECT x.k, d.w FROM (SELECT k, row_number() OVER (PARTITION BY k ORDER BY v) r FROM f) x " +
      "JOIN d ON x.k <=> d.k WHERE r = 1",
    "SELECT x.k, d.w, x.q FROM (SELECT k, 100 / sum(v + 1) q FROM f GROUP BY k) x JOIN d ON x.k = d.k",
    "SELECT * FROM d LEFT ANTI JOIN f ON f.k = d.k AND f.v > d.w",
    "SELECT * FROM d WHERE k NOT IN (SELECT k FROM f WHERE v > 20)",
    "SELECT * FROM d WHERE w = 1 OR EXISTS (SELECT 1 FROM f WHERE f.k = d.k)",
    "SELECT * FROM d WHERE NOT EXISTS (SELECT 1 FROM f WHERE f.k <=> d.k)",
    "SELECT * FROM d WHERE NOT EXISTS (SELECT 1 FROM f WHERE f.k > d.k AND f.v < d.w)",
    "SELECT k FROM d EXCEPT SELECT k FROM f",
    "SELECT k FROM f INTERSECT SELECT k FROM d",
    "SELECT * FROM f JOIN d ON f.k >= d.k AND f.v < d.w",
    "SELECT * FROM f LEFT SEMI JOIN d ON f.k < d.k",
    "SELECT * FROM d LEFT JOIN f ON f.k <= d.k AND d.w > 2",
    "SELECT * FROM f LEFT ANTI JOIN d ON f.k > d.k",
    "SELECT * FROM f FULL JOIN d ON f.k > d.k AND f.v = d.w",
    "SELECT * FROM f WHERE EXISTS (SELECT 1 FROM d WHERE f.k BETWEEN d.k AND d.k AND d.w = f.j)",
    "SELECT f.* FROM f JOIN (SELECT max(k) m FROM d) x ON f.k > x.m",
    "SELECT f.* FROM f CROSS JOIN (SELECT min(k) a, max(k) b FROM d) x WHERE f.k BETWEEN x.a AND x.b",
    "SELECT d.w, s FROM d , LATERAL (SELECT sum(v) s FROM f WHERE f.k = d.k)",
    "SELECT d.w, v FROM d LEFT JOIN LATERAL (SELECT v FROM f WHERE f.k = d.k AND f.j > d.w)",
    "SELECT * FROM f JOIN d ON f.k = d.k OR f.j = d.w",
    "SELECT * FROM f JOIN d ON (f.k = d.k AND f.v > 3) OR (f.k > d.k AND f.j = d.w)",
    "SELECT * FROM f LEFT JOIN d ON f.k = d.k OR f.j = d.w",
    "SELECT * FROM f WHERE k IN (SELECT k FROM d) OR j IN (SELECT w FROM d)",
    "SELECT * FROM f WHERE k IN (SELECT k FROM d) OR NOT EXISTS (SELECT 1 FROM d WHERE d.w = f.j)",
    "SELECT * FROM f JOIN d ON f.k <=> d.k JOIN f g ON f.k = g.k WHERE g.v < 20",
    "SELECT * FROM f LEFT JOIN d ON f.k <=> d.k",
    "SELECT * FROM d LEFT JOIN f ON f.k <=> d.k AND d.w <> 1")

  private def table(dir: File, name: String, query: String): Unit = {
    val path = new File(dir, name)
    sql(query).write.parquet(path.getPath)
    if (name == "f") createIndex(path)
    spark.read.parquet(path.getPath).createOrReplaceTempView(name)
  }

  test("random tables and joins") {
    val seed = sys.props.get("zorder.seed").fold(System.nanoTime())(_.toLong)
    val rounds = sys.props.get("zorder.rounds").fold(3)(_.toInt)
    info(s"seed $seed, $rounds rounds")
    val random = new Random(seed)
    (1 to rounds).foreach { _ =>
      withTableDir { dir =>
        withTempView("f", "d") {
          val key = keys(random.nextInt(keys.size))
          def orNull(e: String, share: Int) =
            if (random.nextBoolean()) e else s"IF(id % $share = 0, NULL, $e)"
          val files = 1 + random.nextInt(12)
          val rows = random.nextInt(400)
          table(
            dir,
            "f",
            s"SELECT ${orNull(key("id"), 2 + random.nextInt(9))} k, id % 100 v, int(id % 7) j " +
              s"FROM range(0, $rows, 1, $files)")
          val (from, step) = (random.nextInt(400) - 20, 1 + random.nextInt(5))
          val to = from + random.nextInt(60)
          val some = Seq("w >= 0", "w < 0", "w = 3", "k IS NULL", "w IN (1, 2)")(random.nextInt(5))
          table(
            dir,
            "d",
            s"SELECT * FROM (SELECT ${orNull(key("id"), 2)} k, int(id % 5) w " +
              s"FROM range($from, ${math.max(from, to)}, $step, 1)) WHERE $some")
          random.shuffle(joins).take(15).foreach { query =>
            val settings = Seq(
              "spark.sql.adaptive.enabled" -> random.nextBoolean().toString,
              "spark.sql.autoBroadcastJoinThreshold" -> Seq("-1", "10m")(random.nextInt(2)),
              "spark.sql.ansi.enabled" -> random.nextBoolean().toString)
            withClue(s"seed $seed, ${key("n")}, $settings, $query: ") {
              inConf(settings: _*) {
                // the optimizer must not see that the dimension has a fixed number of rows
                val asked = query.replace(" d ", " (SELECT * FROM d WHERE w >= 0) d ")
                val expected = withoutSkipping(withoutDynamic(bag(sql(asked))))
                assert(bag(sql(asked)) === expected)
              }
            }
          }
        }
      }
    }
  }
}
