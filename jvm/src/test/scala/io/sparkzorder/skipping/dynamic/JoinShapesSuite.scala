// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.dynamic

import java.io.File

import org.scalatest.tagobjects.Slow

/**
 * Shapes of joins whose keys reach the files of the fact table, and shapes whose keys must not. Each runs with
 * adaptive execution and without, with a broadcast of the small side and without, and has the rows that it
 * has without skipping.
 */
class JoinShapesSuite extends StarTestBase {

  /**
   * {{{
   * fact    16 files of 100 rows, too large for a broadcast. day goes up with the files and k2 goes down; nk is
   *         day, and in one row of each of the last eight files NULL
   * days    one row for each day, a month is a file of fact
   * seasons two months each
   * promos  two ranges of days: one lies in file 3, one in file 9
   * }}}
   */
  private def withShapes(body: => Unit): Unit = withCopies(tablesOfShapes)(_ => body)

  private val tablesOfShapes = new SavedTables({ dir =>
    def save(name: String, query: String, index: Boolean = false): Unit = {
      val path = new File(dir, name)
      sql(query).write.parquet(path.getPath)
      if (index) createIndex(path)
    }
    inConf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS") {
      save(
        "fact",
        "SELECT id, int(id) day, int(1599 - id) k2, IF(id > 800 AND id % 100 = 50, NULL, int(id)) nk, " +
          "int(id % 7) item, id * 2 amount, timestamp_seconds(id * 86400) t, " +
          "date_add(date'2020-01-01', int(id)) dt, " +
          "concat(sha2(string(id), 512), sha2(string(-id), 512), sha2(string(id + 7), 512)) text " +
          "FROM range(0, 1600, 1, 16)",
        index = true)
      save(
        "days",
        "SELECT /*+ COALESCE(1) */ int(id) day, int(id / 100) month, int(1599 - id) back, " +
          "date_add(date'2020-01-01', int(id)) dt, " +
          "timestamp_seconds(id * 86400) t FROM range(1600)")
      save(
        "seasons",
        "SELECT /*+ COALESCE(1) */ int(id) month, concat('s', int(id / 2)) name, int(id / 8) half " +
          "FROM range(16)")
      save(
        "promos",
        "SELECT /*+ COALESCE(1) */ * FROM VALUES (310, 320, 'x'), (905, 915, 'y'), (NULL, 2000, 'z') " +
          "AS (a, b, name)")
      save(
        "nulls",
        "SELECT /*+ COALESCE(1) */ * FROM VALUES (0, 1), (NULL, 2), (305, 3), (NULL, 4) AS (k, w)")
    }
    Seq("fact", "days", "seasons", "promos", "nulls")
  })

  private val March = "(SELECT * FROM days WHERE month = 3) d"
  private val Ranked =
    "SELECT day, item, amount, %s() OVER (PARTITION BY %s ORDER BY amount) r FROM fact"

  private def ranked(function: String, by: String, limit: String): String =
    s"SELECT * FROM (${Ranked.format(function, by)}) x JOIN $March ON x.day = d.day WHERE $limit"

  /** The files that each shape reads, of 16. */
  private val shapes: Seq[(String, Long)] = Seq(
    // the first rows of partitions
    ranked("row_number", "day", "r = 1") -> 1,
    ranked("rank", "day", "r <= 3") -> 1,
    ranked("dense_rank", "item, day", "r < 3") -> 1,
    ranked("row_number", "item", "r = 1") -> 16,
    ranked("rank", "day % 10", "r <= 3") -> 16,
    // the right side of joins for which only its partners count
    s"SELECT * FROM $March LEFT ANTI JOIN fact f ON f.day = d.day" -> 1,
    s"SELECT * FROM $March LEFT ANTI JOIN fact f ON f.day = d.day AND f.amount > 700" -> 1,
    s"SELECT * FROM $March WHERE NOT EXISTS (SELECT 1 FROM fact f WHERE f.day = d.day AND f.item = 2)" ->
      1,
    "SELECT day FROM days WHERE month = 3 EXCEPT SELECT day FROM fact WHERE item < 3" -> 1,
    "SELECT day FROM days WHERE month = 3 INTERSECT SELECT day FROM fact WHERE item < 3" -> 1,
    "SELECT nk FROM fact EXCEPT SELECT day FROM days WHERE month = 3" -> 16,
    s"SELECT * FROM $March WHERE d.day NOT IN (SELECT day FROM fact WHERE item = 2)" -> 16,
    s"SELECT * FROM $March WHERE d.day = 305 OR EXISTS (SELECT 1 FROM fact f WHERE f.day = d.day)" -> 1,
    // ranges
    "SELECT * FROM fact f JOIN promos p ON f.day >= p.a AND f.day < p.b" -> 7,
    "SELECT * FROM fact f JOIN promos p ON f.day >= p.a AND f.day < p.b WHERE p.name IN ('x', 'y')" -> 7,
    "SELECT * FROM promos p JOIN fact f ON f.day BETWEEN p.a AND p.b WHERE p.name = 'x'" -> 1,
    "SELECT * FROM fact f WHERE EXISTS (SELECT 1 FROM promos p WHERE f.day >= p.a AND f.day < p.b " +
      "AND p.name = 'y')" -> 1,
    "SELECT * FROM promos p LEFT JOIN fact f ON f.day >= p.a AND f.day < p.b AND p.name <> 'z'" -> 7,
    "SELECT * FROM fact f LEFT JOIN promos p ON f.day >= p.a AND f.day < p.b" -> 16,
    "SELECT * FROM (SELECT * FROM promos WHERE name = 'x') p WHERE NOT EXISTS " +
      "(SELECT 1 FROM fact f WHERE f.day >= p.a AND f.day < p.b AND f.item = 2)" -> 1,
    s"SELECT * FROM fact f JOIN $March ON f.t >= d.t AND f.t < d.t + INTERVAL 1 HOUR" -> 1,
    "SELECT * FROM fact f JOIN promos p ON f.item = p.a - 308 AND f.day >= p.a AND f.day < p.b " +
      "WHERE p.name = 'x'" -> 1,
    // one row
    "SELECT * FROM fact f JOIN (SELECT max(day) m FROM days WHERE month = 14) x ON f.day > x.m" -> 1,
    "SELECT * FROM fact f, (SELECT min(day) lo, max(day) hi FROM days WHERE month IN (3, 4)) x " +
      "WHERE f.day BETWEEN x.lo AND x.hi" -> 2,
    "SELECT f.* FROM fact f CROSS JOIN (SELECT max(day) m FROM days WHERE month = 99) x " +
      "WHERE f.day > x.m" -> 0,
    // LATERAL
    s"SELECT * FROM $March, LATERAL (SELECT sum(f.item) s FROM fact f WHERE f.day = d.day)" -> 1,
    s"SELECT * FROM $March, LATERAL (SELECT f.amount FROM fact f WHERE f.day = d.day AND f.item > 2)" ->
      1,
    s"SELECT * FROM $March, LATERAL (SELECT f.amount FROM fact f WHERE f.day = d.day ORDER BY f.amount " +
      "LIMIT 1)" -> 1,
    s"SELECT * FROM $March LEFT JOIN LATERAL (SELECT f.id FROM fact f WHERE f.day = d.day)" -> 1,
    "SELECT * FROM (SELECT * FROM promos WHERE name = 'x') p LEFT JOIN LATERAL (SELECT f.amount FROM fact f " +
      "WHERE f.day >= p.a AND f.day < p.b)" -> 1,
    "SELECT * FROM (SELECT * FROM promos WHERE name = 'x') p, LATERAL (SELECT f.amount FROM fact f " +
      "WHERE f.day >= p.a AND f.day < p.b)" -> 1,
    // one of two keys
    s"SELECT * FROM fact f JOIN $March ON f.day = d.day OR f.k2 = d.day" -> 2,
    "SELECT * FROM fact f JOIN (SELECT * FROM days WHERE month = 3 AND day < 350) d " +
      "ON f.day = d.day AND f.item = 2 OR f.k2 = d.back" -> 1,
    "SELECT * FROM fact f WHERE EXISTS (SELECT 1 FROM days d WHERE d.month = 3 AND " +
      "(f.day = d.day OR f.k2 = d.day))" -> 2,
    s"SELECT * FROM fact f JOIN $March ON f.day = d.day OR f.item = d.day" -> 16,
    s"SELECT * FROM fact f JOIN $March ON f.day = d.day OR f.item > 3" -> 16,
    "SELECT * FROM fact f JOIN promos p ON p.name = 'x' AND (f.day BETWEEN p.a AND p.b OR f.k2 = p.a)" ->
      2,
    "SELECT * FROM fact f WHERE f.day IN (SELECT day FROM days WHERE month = 3) OR " +
      "f.k2 IN (SELECT day FROM days WHERE month = 4)" -> 2,
    "SELECT * FROM fact f WHERE f.day IN (SELECT day FROM days WHERE month = 3) OR f.day = 5" -> 2,
    "SELECT * FROM fact f WHERE f.day IN (SELECT day FROM days WHERE month = 3) OR f.day = 350 OR " +
      "f.k2 IN (3, 4)" -> 2,
    "SELECT * FROM fact f WHERE f.item = 1 AND (f.day < 50 OR EXISTS " +
      "(SELECT 1 FROM days d WHERE d.month = 3 AND f.day = d.day))" -> 2,
    "SELECT * FROM fact f WHERE f.day IN (SELECT day FROM days WHERE month = 3) OR f.nk IS NULL" -> 9,
    // a second run of a part of a table, which is small by the condition of the part
    "SELECT * FROM fact a JOIN fact b ON a.day = b.day + 1 WHERE a.day BETWEEN 320 AND 330" -> 3,
    "SELECT * FROM promos p LEFT JOIN fact f ON f.day BETWEEN p.a AND p.b WHERE p.name = 'x'" -> 1,
    s"SELECT d.day, x.n FROM $March LEFT JOIN LATERAL (SELECT count(*) n FROM fact f WHERE f.day = d.day) x " +
      "ON true" -> 1,
    // a membership as a column, or with values in its place
    "SELECT * FROM fact f WHERE CASE WHEN f.day IN (SELECT day FROM days WHERE month = 3) THEN TRUE " +
      "ELSE FALSE END" -> 1,
    "SELECT * FROM fact f WHERE IF(f.day IN (SELECT day FROM days WHERE month = 3), 'in', 'out') = 'in'" ->
      1,
    "SELECT * FROM (SELECT *, EXISTS (SELECT 1 FROM days d WHERE d.day = f.day AND d.month = 3) hit " +
      "FROM fact f) WHERE hit" -> 1,
    "SELECT * FROM fact f WHERE CASE WHEN f.day IN (SELECT day FROM days WHERE month = 3) THEN FALSE " +
      "ELSE TRUE END" -> 16,
    "SELECT * FROM fact f WHERE CASE WHEN f.nk IN (SELECT day FROM days WHERE month = 3) THEN TRUE " +
      "ELSE f.day > 1500 END" -> 2,
    "SELECT * FROM fact f WHERE f.day NOT IN (SELECT day FROM days WHERE month = 3) OR f.day = 5" -> 16,
    "SELECT * FROM fact f WHERE f.day IN (SELECT day FROM days WHERE month = 3) OR f.amount % 3 = 1" ->
      16,
    // how far a key is from one of the other side
    s"SELECT * FROM fact f JOIN $March ON f.day - d.day BETWEEN 0 AND 5" -> 2,
    s"SELECT * FROM fact f JOIN $March ON f.id - d.day >= 0L AND 5L >= f.id - d.day" -> 2,
    s"SELECT * FROM fact f JOIN $March ON d.day - f.day = 100" -> 1,
    s"SELECT * FROM fact f JOIN $March ON datediff(f.dt, d.dt) BETWEEN 0 AND 5" -> 2,
    s"SELECT * FROM fact f JOIN $March ON datediff(d.t, f.t) = -1" -> 2,
    s"SELECT * FROM fact f JOIN $March ON datediff(d.dt, f.dt) IN (1)" -> 2,
    s"SELECT * FROM fact f JOIN $March ON f.day - d.day <= 5" -> 16,
    // the dimension of a dimension
    "SELECT * FROM fact f JOIN days d ON f.day = d.day JOIN seasons s ON d.month = s.month " +
      "WHERE s.name = 's2'" -> 2,
    "SELECT * FROM seasons s JOIN days d ON d.month = s.month LEFT JOIN fact f ON f.day = d.day " +
      "WHERE s.name = 's2'" -> 2,
    "SELECT f.id FROM fact f JOIN days d ON f.day = d.day " +
      "WHERE d.month IN (SELECT month FROM seasons WHERE name = 's2')" -> 2,
    "SELECT * FROM fact f LEFT JOIN days d ON f.day = d.day JOIN seasons s ON d.month = s.month " +
      "WHERE s.name = 's2'" -> 2,
    "SELECT s.name, count(f.id) FROM fact f RIGHT JOIN days d ON f.day = d.day " +
      "JOIN seasons s ON d.month = s.month WHERE s.name = 's2' GROUP BY s.name" -> 16,
    "SELECT * FROM fact f JOIN days d ON f.day = d.day LEFT JOIN seasons s " +
      "ON d.month = s.month AND s.name = 's2'" -> 16,
    "SELECT * FROM fact f JOIN days d ON f.day = d.day JOIN seasons s ON d.month = s.month" -> 16,
    // days that no table has
    "SELECT c.dt, count(f.id) FROM (SELECT explode(sequence(date'2020-11-01', date'2020-11-07')) dt) c " +
      "LEFT JOIN fact f ON f.dt = c.dt GROUP BY c.dt" -> 1,
    "SELECT c.dt, sum(f.amount) FROM (SELECT explode(array(date'1970-11-05', date'1970-11-06')) dt) c " +
      "JOIN fact f ON to_date(f.t) = c.dt GROUP BY c.dt" -> 1,
    // one of several values of a row
    s"SELECT * FROM fact f JOIN $March ON f.day IN (d.day, d.day + 1)" -> 2,
    s"SELECT * FROM fact f JOIN $March ON array_contains(array(d.day), f.day)" -> 1,
    s"SELECT * FROM fact f JOIN $March ON f.day IN (d.day, f.item)" -> 16,
    s"SELECT * FROM fact f JOIN $March ON f.day NOT IN (d.day, d.day + 1)" -> 16,
    // functions of keys
    "SELECT * FROM fact f JOIN (SELECT double(day) x FROM days WHERE month = 3) d ON double(f.day) = d.x" ->
      1,
    "SELECT window.start, count(*) FROM fact GROUP BY window(t, '1 day') " +
      "HAVING window.start >= timestamp_seconds(1500 * 86400)" -> 1,
    // aggregates that only count rows that meet a condition
    "SELECT sum(CASE WHEN day >= 1500 THEN amount END) FROM fact" -> 1,
    "SELECT sum(IF(day >= 1500, CAST(amount AS DECIMAL(9, 2)), NULL)) FROM fact" -> 1,
    "SELECT count(*) FILTER (WHERE day < 100), max(CASE WHEN day > 1550 THEN item END) FROM fact" -> 2,
    "SELECT count_if(day < 100) FROM fact" -> 1,
    "SELECT avg(CASE WHEN day < 50 THEN item WHEN day > 1550 THEN 1 END) + 1 FROM fact" -> 2,
    "SELECT count(DISTINCT CASE WHEN day < 50 THEN item END), stddev(IF(day < 20, item, NULL)) " +
      "FROM fact" -> 1,
    "SELECT sum(CASE WHEN day >= 9999 THEN amount END), count(IF(day >= 9999, 1, NULL)) FROM fact" -> 0,
    "SELECT sum(CASE WHEN day >= 1500 THEN amount ELSE 0 END) FROM fact" -> 16,
    "SELECT sum(CASE WHEN day >= 1500 THEN amount END), count(*) FROM fact" -> 16,
    "SELECT sum(CASE WHEN day >= 1500 THEN amount END), first(item) FROM fact" -> 16,
    "SELECT item, sum(CASE WHEN day >= 1500 THEN amount END) FROM fact GROUP BY item" -> 16,
    "SELECT sum(coalesce(CASE WHEN day >= 1500 THEN amount END, 1)) FROM fact" -> 16,
    // rows that are made of one
    "SELECT item, day, count(*) FROM fact GROUP BY GROUPING SETS ((item, day), (day)) HAVING day = 305" ->
      1,
    "SELECT item, day, count(*) FROM fact GROUP BY CUBE (item, day) HAVING day = 305" -> 1,
    "SELECT item, day, count(*) FROM fact GROUP BY ROLLUP (day, item) HAVING day = 305 AND " +
      "grouping(item) = 0" -> 1,
    "SELECT day, count(*) FROM fact GROUP BY CUBE (item, day) HAVING day = 305 OR day IS NULL" -> 16,
    "SELECT item, day FROM fact GROUP BY GROUPING SETS ((item), (day)) HAVING coalesce(day, 305) = 305" ->
      16,
    "SELECT * FROM (SELECT id, day, k2 FROM fact) UNPIVOT (v FOR n IN (day, k2)) " +
      "WHERE n = 'day' AND v < 50" -> 1,
    "SELECT * FROM (SELECT id, day, k2 FROM fact) UNPIVOT (v FOR n IN (day, k2)) WHERE v < 50" -> 2,
    "SELECT f.id, e.x FROM fact f LATERAL VIEW explode(array(305, 306)) e AS x WHERE e.x = f.day" -> 1,
    "SELECT f.id, x FROM fact f LATERAL VIEW explode(array(day, k2)) e AS x WHERE x BETWEEN 300 AND 350" ->
      2,
    "SELECT f.id, p, x FROM fact f LATERAL VIEW posexplode(array(305, 306)) e AS p, x " +
      "WHERE x = f.day + p" -> 1,
    "SELECT f.id, e.x FROM fact f LATERAL VIEW explode(array(2, 3)) e AS x WHERE e.x = f.item" -> 16,
    // groups by what a filter asks for in another way
    "SELECT day, max(day) FROM fact GROUP BY day HAVING max(day) > 1590" -> 1,
    "SELECT day, count(*) FROM fact GROUP BY day, item HAVING min(day) < 10 AND count(*) > 0" -> 1,
    "SELECT item, max(day) FROM fact GROUP BY item HAVING max(day) > 1590" -> 16,
    "SELECT * FROM (SELECT id, day div 100 m, rank() OVER (PARTITION BY day div 100 ORDER BY amount) r " +
      "FROM fact) WHERE m = 3 AND r <= 3" -> 1,
    "SELECT * FROM (SELECT id, month(dt) m, year(dt) y, sum(item) OVER (PARTITION BY year(dt), month(dt)) s " +
      "FROM fact) WHERE y = 2020 AND m = 1" -> 1,
    "SELECT * FROM (SELECT id, day, sum(item) OVER (PARTITION BY day % 7 ORDER BY day) s FROM fact) " +
      "WHERE day div 100 = 3" -> 16,
    // equality of NULLs
    s"SELECT * FROM fact f JOIN $March ON f.nk <=> d.day" -> 1,
    "SELECT * FROM fact f JOIN (SELECT * FROM nulls WHERE w IN (1, 3)) n ON f.nk <=> n.k" -> 2,
    "SELECT * FROM fact f JOIN nulls n ON f.nk <=> n.k" -> 10,
    "SELECT * FROM fact f JOIN (SELECT * FROM nulls WHERE w = 2) n ON f.nk <=> n.k" -> 9,
    "SELECT * FROM nulls n LEFT JOIN fact f ON f.nk <=> n.k AND n.w <> 2" -> 10)

  test("the files that the shapes of joins read: each sixteenth shape", Slow)(
    read(shapes.indices.by(16).map(shapes), "true" -> "60k"))

  test("the files that the shapes of joins read", Slow)(read(shapes, "true" -> "60k"))

  test("the files that the shapes of joins read: other ways", Slow)(
    read(shapes, "false" -> "-1", "true" -> "-1", "false" -> "60k"))

  testParts("conditions that can fail see no rows that the query keeps from them")(checkFailing(
    "SELECT sum(CASE WHEN 6 div f.item > 2 THEN f.amount END) FROM fact f JOIN " +
      "(SELECT day FROM days WHERE back < 1599) d ON f.item = d.day" -> 16,
    "SELECT sum(CASE WHEN f.day >= 1500 THEN f.amount END) FROM fact f JOIN " +
      "(SELECT day FROM days WHERE back < 1599) d ON f.item = d.day" -> 1))(checkFailing(
    // the first branch, or the join, keeps the item 0 from the division
    "SELECT sum(CASE WHEN item = 0 THEN NULL WHEN 6 div item > 2 THEN amount END) FROM fact" -> 16,
    "SELECT * FROM (SELECT f.id, 6 div f.item q, rank() OVER (PARTITION BY 6 div f.item ORDER BY f.id) r " +
      "FROM fact f JOIN (SELECT day FROM days WHERE back < 1599) d ON f.item = d.day) WHERE q = 3" -> 16,
    // Spark puts the filter of a subquery, which keeps the item 0, below other filters as a join
    "SELECT count_if(6 div item > 2) FROM fact WHERE item IN (SELECT day FROM days WHERE back < 1599)" -> 16,
    "SELECT sum(nullif(item, 0) * CASE WHEN 6 div item > 2 THEN 1 END) FROM fact" -> 16,
    "SELECT item FROM (SELECT f.item, 6 div f.item x FROM fact f JOIN (SELECT day FROM days WHERE " +
      "back < 1599) d ON f.item = d.day GROUP BY f.item) LATERAL VIEW explode(array(x, 1)) e AS v " +
      "WHERE v = 3" -> 16))

  private def checkFailing(queries: (String, Int)*): Unit = withShapes {
    inConf("spark.sql.ansi.enabled" -> "true", "spark.sql.autoBroadcastJoinThreshold" -> "60k") {
      queries.foreach { case (query, files) =>
        withClue(s"$query\n")(assert(filesRead(checkRows(sql(query)), "fact").sum === files))
      }
    }
  }

  test(
    "a filter goes below several windows only if each is partitioned by what the filter asks for") {
    withShapes {
      def windows(first: String, second: String) =
        s"SELECT * FROM (SELECT id, day div 100 m, count(*) OVER (PARTITION BY $first) a, " +
          s"count(*) OVER (PARTITION BY $second) b FROM fact) WHERE m = 3"
      Seq(
        windows("day div 100", "item") -> 16,
        windows("item", "day div 100") -> 16,
        windows("day div 100, item", "day div 100") -> 1).foreach { case (query, files) =>
        withClue(s"$query\n")(assert(filesRead(checkRows(sql(query)), "fact").sum === files))
      }
    }
  }

  private val joinedSides = Set(
    "SELECT * FROM seasons s JOIN days d ON d.month = s.month LEFT JOIN fact f ON f.day = d.day " +
      "WHERE s.name = 's2'",
    "SELECT f.id FROM fact f JOIN days d ON f.day = d.day " +
      "WHERE d.month IN (SELECT month FROM seasons WHERE name = 's2')")

  /** @param ways adaptive execution, and the size up to which a table is broadcast */
  private def read(shapes: Seq[(String, Long)], ways: (String, String)*): Unit =
    withShapes {
      val wrong = for {
        (adaptive, threshold) <- ways
        (query, files) <- shapes
        read <- inConf(
          "spark.sql.adaptive.enabled" -> adaptive,
          "spark.sql.autoBroadcastJoinThreshold" -> threshold) {
          // adaptive execution may choose the kind of a join in a side anew, so that the side gives no keys
          val isJoined = adaptive == "true" && threshold == "-1" && joinedSides(query)
          val wanted = if (isJoined) Files.toLong else files
          withClue(s"$query\n")(filesRead(checkRows(sql(query)), "fact").sum) match {
            case `wanted` => None
            case other => Some(s"AQE $adaptive, $threshold: $other for $files: $query")
          }
        }
      } yield read
      assert(wrong.isEmpty, wrong.mkString("\n", "\n", ""))
    }

  private val absolute = Seq(
    s"SELECT * FROM fact f JOIN $March ON abs(f.day - d.day) <= 5" -> 3L,
    s"SELECT * FROM fact f JOIN $March ON abs(d.day - f.day) < 1" -> 1L,
    s"SELECT * FROM fact f JOIN $March ON abs(datediff(f.dt, d.dt)) <= 5" -> 3L)

  private def checkAbsolute(queries: (String, Long)*): Unit = withShapes {
    Seq("true", "false").foreach { ansi =>
      inConf("spark.sql.ansi.enabled" -> ansi, "spark.sql.autoBroadcastJoinThreshold" -> "60k") {
        queries.foreach { case (query, files) =>
          val read = filesRead(checkRows(sql(query)), "fact").sum
          assert(read === (if (ansi == "true") files else 16L), s"ANSI $ansi: $query")
        }
      }
    }
  }

  testParts("absolute differences, which fail in ANSI mode where they have no value")(checkAbsolute(
    absolute.head))(checkAbsolute(absolute.tail: _*))

  testParts("differences that wrap")(checkWraps(Seq(0), Seq("BIGINT")))(
    checkWraps(Seq(0), Seq("INT", "DATE")))

  test("differences that wrap: more values", Slow)(
    checkWraps(Seq(1, 4, 5, 9, 10), Seq("INT", "BIGINT", "DATE")))

  /** @param chosen of the values, those that the other side of the join has */
  private def checkWraps(chosen: Seq[Int], types: Seq[String]): Unit = {
    def ends(least: Long, most: Long): Seq[Long] =
      Seq(
        least,
        least + 3,
        least / 2 - 1,
        least / 2,
        -3,
        0,
        3,
        most / 2,
        most / 2 + 2,
        most - 3,
        most)
    val (ints, longs) =
      (ends(Int.MinValue.toLong, Int.MaxValue.toLong), ends(Long.MinValue, Long.MaxValue))
    withTableDir { dir =>
      withTempView("f", "p") {
        for ((t, values, difference) <- Seq(
            ("INT", ints, "f.v - p.v"),
            ("BIGINT", longs, "f.v - p.v"),
            ("DATE", ints, "datediff(f.v, p.v)")) if types.contains(t)) inConf(
          "spark.sql.ansi.enabled" -> "false",
          "spark.sql.parquet.datetimeRebaseModeInWrite" -> "CORRECTED") {
          // the least numbers have no literals
          val rows = values.map(n => s"(${n + 1} - 1)").mkString(", ")
          val v = if (t == "DATE") "date_from_unix_date(int(v))" else s"cast(v AS $t)"
          sql(s"SELECT /*+ REPARTITION_BY_RANGE(11, v) */ $v v FROM VALUES $rows AS (v)").write
            .mode("overwrite").parquet(s"$dir/f")
          createIndex(new File(dir, "f"))
          sql(s"SELECT /*+ COALESCE(1) */ $v v, v n FROM VALUES $rows AS (v)").write
            .mode("overwrite").parquet(s"$dir/p")
          Seq("f", "p").foreach(n => spark.read.parquet(s"$dir/$n").createOrReplaceTempView(n))
          for {
            i <- chosen
            on <-
              Seq(s"$difference BETWEEN -5 AND 5", s"$difference <= 5", s"abs($difference) <= 5")
          } checkRows(sql("SELECT string(f.v) v, n FROM f JOIN (SELECT * FROM p " +
            s"WHERE n = ${values(i) + 1} - 1) p ON $on"))
        }
      }
    }
  }

  test("groups between the joins of a dimension of a dimension are whole, or dropped", Slow) {
    withTableDir { dir =>
      withTempView("f", "c", "s") {
        // segment a has customer 1; b has 2 and 150, whose amounts add up to 0 without the second file
        sql("SELECT 1 ck, 10 amount UNION ALL SELECT 2, 0").coalesce(1).write.parquet(s"$dir/f")
        sql("SELECT 150 ck, 5 amount").coalesce(1).write.mode("append").parquet(s"$dir/f")
        sql("SELECT int(id + 1000) ck, 1 amount FROM range(0, 40000, 1, 8)").write.mode("append")
          .parquet(s"$dir/f")
        createIndex(new File(dir, "f"))
        sql("SELECT * FROM VALUES (1, 'a'), (2, 'b'), (150, 'b') AS (ck, seg)").coalesce(1).write
          .parquet(s"$dir/c")
        sql("SELECT * FROM VALUES ('a', 'x'), ('b', 'y') AS (seg, name)").coalesce(1).write
          .parquet(s"$dir/s")
        Seq("f", "c", "s").foreach(n => spark.read.parquet(s"$dir/$n").createOrReplaceTempView(n))
        inConf("spark.sql.ansi.enabled" -> "true") {
          for ((groups, files) <- Seq(
              "SELECT c.seg, sum(amount) r FROM f JOIN c ON f.ck = c.ck GROUP BY c.seg" -> 1,
              "SELECT c.seg, 100 / sum(amount) r FROM f JOIN c ON f.ck = c.ck GROUP BY c.seg" -> 2,
              "SELECT c.seg, 100 / sum(amount) OVER (PARTITION BY c.seg) r FROM f JOIN c " +
                "ON f.ck = c.ck" -> 2)) {
            val query = s"SELECT name, r FROM ($groups) g JOIN s ON g.seg = s.seg WHERE name = 'x'"
            val read = filesRead(checkRows(sql(query)), "f").sum
            assert(read === files, query)
          }
        }
      }
    }
  }

  test("a group by DOUBLE has rows with 0.0 and -0.0, which a key may tell apart") {
    withTableDir { dir =>
      withTempView("z", "k") {
        sql("SELECT 0.0D x, 1 v UNION ALL SELECT -0.0D, 2").coalesce(1).write.parquet(s"$dir/z")
        sql("SELECT double(id + 1) x, int(5) v FROM range(0, 8, 1, 8)").write.mode("append")
          .parquet(s"$dir/z")
        sql("SELECT * FROM VALUES ('0.0', 1D, 3), ('zz', 9D, 4) AS (t, d, m)").coalesce(1).write
          .parquet(s"$dir/k")
        createIndex(new java.io.File(dir, "z"))
        Seq("z", "k").foreach(n => spark.read.parquet(s"$dir/$n").createOrReplaceTempView(n))
        for (query <- Seq(
            "SELECT g.x, g.s FROM (SELECT x, sum(v) s FROM z GROUP BY x) g JOIN k " +
              "ON cast(g.x AS STRING) >= k.t AND cast(g.x AS STRING) < '0.5' WHERE k.m = 3",
            "SELECT g.x, g.s FROM (SELECT x, sum(v) s FROM z GROUP BY x) g JOIN k " +
              "ON cast(g.x AS STRING) >= k.t WHERE k.m = 3",
            "SELECT g.q FROM (SELECT x, 100 / sum(v) q FROM z GROUP BY x) g JOIN k " +
              "ON cast(g.x AS STRING) = k.t WHERE k.m = 3",
            // Spark normalizes the key, which is a DOUBLE itself
            "SELECT g.q FROM (SELECT x, 100 / sum(v) q FROM z GROUP BY x) g JOIN k " +
              "ON IF(cast(g.x AS STRING) = '0.0', 1D, 2D) = k.d WHERE k.m = 3",
            "SELECT g.q FROM (SELECT x, 100 / sum(v) OVER (PARTITION BY x) q FROM z) g JOIN k " +
              "ON cast(g.x AS STRING) = k.t WHERE k.m = 3"))
          checkRows(sql(query))
      }
    }
  }

  for ((adaptive, size, some, tags) <- Seq(
      ("true", "10m", Seq(1, 4), Nil),
      ("true", "10m", Seq(0, 2, 3, 5), Seq(Slow)),
      ("true", "-1", 0 until 6, Seq(Slow)),
      ("false", "10m", 0 until 6, Seq(Slow)),
      ("false", "-1", 0 until 6, Seq(Slow)))) test(
    s"what is computed of groups does not see a part of a group, adaptive $adaptive, broadcasts up to $size, " +
      s"${some.size} of 6",
    tags: _*) {
    withTableDir { dir =>
      withTempView("g", "d") {
        // the day 5 has rows in both files, and only the first file has a day that d has
        sql("SELECT 0 day, 1 v UNION ALL SELECT 5, 1 UNION ALL SELECT 10, 1").coalesce(1).write
          .parquet(s"$dir/g")
        sql("SELECT 5 day, 2 v UNION ALL SELECT 6, 2 UNION ALL SELECT 6, 3").coalesce(1).write
          .mode("append").parquet(s"$dir/g")
        sql("SELECT int(id + 100) day, 1 v FROM range(0, 8, 1, 8)").write.mode("append")
          .parquet(s"$dir/g")
        createIndex(new File(dir, "g"))
        spark.read.parquet(s"$dir/g").createOrReplaceTempView("g")
        sql("SELECT int(id) day, int(id % 10) z FROM range(0, 40)").coalesce(1).write
          .parquet(s"$dir/d")
        spark.read.parquet(s"$dir/d").createOrReplaceTempView("d")
        def joined(groups: String) =
          s"SELECT * FROM ($groups) x JOIN d ON x.day = d.day WHERE z = 0 AND d.day < 11"
        // of all rows of day 5, n is 2 and s is 3
        val groups = Seq(
          "SELECT day, CAST(120 + 10 / s AS TINYINT) c FROM (SELECT day, IF(day = 5, sum(v) - 1, 9) s " +
            "FROM g GROUP BY day)",
          "SELECT day, assert_true(day <> 5 OR n = 2) c FROM (SELECT day, count(*) n FROM g GROUP BY day)",
          "SELECT day, element_at(array(7, 8, 9), int(IF(day = 5, n - 1, 1))) c FROM " +
            "(SELECT day, count(*) n FROM g GROUP BY day)",
          "SELECT day, 1 div (IF(day = 5, n, 2) - 1) c FROM (SELECT day, v, count(*) OVER " +
            "(PARTITION BY day) n FROM g)",
          "SELECT day, 1 div (IF(day = 5, v, 2) - 1) c FROM (SELECT day, v, row_number() OVER " +
            "(PARTITION BY day ORDER BY v DESC) r FROM g) WHERE r = 1",
          "SELECT day, 1 div (n - 1) c FROM (SELECT day, count(*) + IF(day = 5, 0, 7) n FROM " +
            "(SELECT * FROM g UNION ALL SELECT int(id) + 20, 1 FROM range(3)) GROUP BY day)")
        // generated code computes a column of a join's side only for rows with a partner
        inConf(
          "spark.sql.ansi.enabled" -> "true",
          "spark.sql.codegen.wholeStage" -> "false",
          "spark.sql.adaptive.enabled" -> adaptive,
          "spark.sql.autoBroadcastJoinThreshold" -> size) {
          some.map(groups).foreach { q =>
            withClue(s"$q\n") {
              val df = checkRows(sql(joined(q)))
              // the rows of part of a group go, not the skipping
              assert(filesRead(df, "g") === Seq(1))
            }
          }
        }
      }
    }
  }

  for ((adaptive, some, tags) <- Seq(
      ("true", Seq(0, 4, 6), Nil),
      ("true", Seq(1, 2, 3, 5, 7), Seq(Slow)),
      ("false", 0 until 8, Seq(Slow)))) test(
    s"sides that may have other rows the second time give no keys, adaptive $adaptive, ${some.size} of 8",
    tags: _*) {
    withShapes {
      val sides = Seq(
        "SELECT int(avg(day)) day FROM days WHERE month = 3" -> 16,
        "SELECT int(try_sum(bigint(day)) / 1000) day FROM days WHERE month = 3" -> 16,
        "SELECT int(sum(CAST(day AS DECIMAL(38, 0))) / 1000) day FROM days WHERE month = 3" -> 16,
        "SELECT int(first(day)) day FROM days WHERE month = 3" -> 16,
        "SELECT day FROM (SELECT day, lag(month) OVER (ORDER BY month) m FROM days) WHERE m = 3" -> 16,
        // exact in each order
        "SELECT int(sum(day) / 1000) day FROM days WHERE month = 3" -> 1,
        "SELECT int(avg(CAST(day AS SMALLINT))) day FROM days WHERE month = 3" -> 1,
        "SELECT day FROM (SELECT day, rank() OVER (ORDER BY day) r FROM days) WHERE r = 305" -> 1)
      inConf("spark.sql.adaptive.enabled" -> adaptive) {
        val chosen = some.map(sides)
        val found = chosen.map { case (side, files) =>
          val query =
            s"SELECT /*+ BROADCAST(d) */ f.id FROM fact f JOIN ($side) d ON f.day = d.day"
          side -> filesRead(checkRows(sql(query)), "fact").sum
        }
        assert(found === chosen.map { case (s, n) => s -> n.toLong })
      }
    }
  }
}
