// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper

import io.sparkzorder.skipping.dynamic.ImpliedFilterShapes

/**
 * Keys of joins and values of subqueries choose the files of a table of a format.
 *
 * {{{
 * fact   16 files of 100 rows: day and code are apart in the files, item is not
 * days   one row for each day from 0 to 1599; 100 days make a month, so a month is a file of fact
 * }}}
 */
trait FormatStarTests extends FormatTestBase with AdaptiveSparkPlanHelper {

  /** Such as `iceberg`. */
  protected def starFormat: String

  /** The full name of a table. */
  protected def nameOf(table: String): String

  /** The files that the scans of a table read, one number for each scan, as they ran. */
  protected def filesRead(df: DataFrame, table: String): Seq[Long]

  private var hasStar = false

  /** With the star of the suite, which is made once: a test that changes it calls [[withOwnStar]]. */
  protected def withStar(body: => Any): Unit =
    try {
      if (!hasStar) {
        createStar()
        hasStar = true
      }
      val _ = body
    } finally dropTables(Set("fact", "days"))

  /** With a star that the test may change. */
  protected def withOwnStar(body: => Any): Unit = withOwnTables {
    createStar()
    body
  }

  /** Without the star: the test makes its own tables, of fewer files. */
  protected def withOwnTables(body: => Any): Unit = {
    dropTables()
    hasStar = false
    withTables(body)
  }

  protected val Files = 16
  protected def fact: String = nameOf("fact")
  protected def days: String = nameOf("days")

  protected val factRows: String =
    "SELECT id, int(id) day, int(id * 7919 % 50) item, id * 2 amount, " +
      "format_string('c%06d', id) code, timestamp_seconds(946684800 + id * 86400) ts, " +
      "cast(id / 4 as decimal(12, 2)) price FROM range(0, 1600, 1, 16)"

  protected def createStar(): Unit = {
    sql(s"CREATE TABLE $fact USING $starFormat AS $factRows")
    sql(s"CREATE TABLE $days USING $starFormat AS SELECT int(id) day, int(id / 100) month, " +
      "int(id % 100) dom, format_string('c%06d', id) code, timestamp_seconds(946684800 + id * 86400) ts, " +
      "cast(id / 4 as decimal(12, 2)) price FROM range(0, 1600, 1, 1)")
  }

  /** Adaptive execution, and the greatest size of a broadcast. Each format takes one way for each change. */
  protected def ways: Seq[(String, String)]

  // within allWays, the rows of each query, which do not depend on the way
  private var known = Option.empty[Map[String, Map[Any, Int]]]

  /** Adaptive execution and none, broadcasts and none; `body` changes no table that [[reads]] asks. */
  protected def allWays(body: => Unit): Unit = {
    known = Some(Map.empty)
    try for ((adaptive, threshold) <- ways) {
        withClue(s"adaptive execution $adaptive, broadcasts up to $threshold: ") {
          inConf(
            "spark.sql.adaptive.enabled" -> adaptive,
            "spark.sql.autoBroadcastJoinThreshold" -> threshold)(body)
        }
      }
    finally known = None
  }

  protected def withoutDynamic[T](body: => T): T =
    inConf("spark.zorder.skipping.dynamic" -> "false")(body)

  /** Asserts that a query gives the rows that it gives without us, and how many files it reads. */
  protected def reads(query: String, files: Long*): DataFrame = {
    val expected = known.flatMap(_.get(query)).getOrElse(withoutDynamic(bag(sql(query))))
    known = known.map(_ + (query -> expected))
    val df = sql(query)
    assert(bag(df) === expected)
    val read = filesRead(df, "fact")
    // adaptive execution removes a join with an empty side, and then its scans
    val wanted = if (read.isEmpty && files.forall(_ == 0)) Nil else files.sorted
    assert(read === wanted, s"files of fact read by: $query\n${df.queryExecution}")
    df
  }

  common("the files of a join's keys are read: an inner join and IN") {
    withStar {
      allWays {
        reads(s"SELECT sum(amount), count(*) FROM $fact JOIN $days USING (day) WHERE month = 3", 1)
        reads(s"SELECT * FROM $fact WHERE day IN (SELECT day FROM $days WHERE month > 13)", 2)
      }
    }
  }

  test("the files of a join's keys are read: other sides, semi-joins and EXISTS", Slow) {
    withStar {
      allWays {
        reads(s"SELECT * FROM $days d JOIN $fact f ON f.day = d.day WHERE d.month IN (3, 7)", 2)
        reads(
          s"SELECT * FROM $fact f LEFT SEMI JOIN $days d ON f.day = d.day AND d.month = 2",
          1)
        reads(
          s"SELECT * FROM $fact f WHERE EXISTS " +
            s"(SELECT 1 FROM $days d WHERE d.day = f.day AND d.month BETWEEN 4 AND 6)",
          3)
      }
    }
  }

  common("the larger side gets the keys, also where a join can broadcast only this side") {
    withStar {
      allWays {
        val some = s"(SELECT * FROM $days WHERE month = 3) d"
        reads(s"SELECT d.day, f.code, amount FROM $some LEFT JOIN $fact f ON f.day = d.day", 1)
        reads(s"SELECT d.day, f.code, amount FROM $fact f RIGHT JOIN $some ON f.day = d.day", 1)
      }
    }
  }

  common("a file that has a key of each of two joins, but none of both, is not read") {
    withStar {
      allWays {
        def some(dom: Int) =
          s"(SELECT day FROM $days WHERE month = 3 AND dom = $dom OR month = 9 AND dom = 1)"
        reads(s"SELECT * FROM $fact JOIN ${some(5)} USING (day) JOIN ${some(7)} USING (day)", 1)
      }
    }
  }

  common("keys that are texts") {
    withStar {
      allWays(reads(s"SELECT * FROM $fact f JOIN $days d USING (code) WHERE month = 3", 1))
    }
  }

  test("keys of each type, casts and functions of columns", Slow) {
    withStar {
      allWays {
        reads(s"SELECT * FROM $fact f JOIN $days d USING (ts) WHERE month = 3", 1)
        reads(s"SELECT * FROM $fact f JOIN $days d USING (price) WHERE month = 3", 1)
        reads(
          s"SELECT * FROM $fact f JOIN (SELECT bigint(day) day FROM $days WHERE month = 3) d " +
            "ON f.day = d.day",
          1)
        reads(
          s"SELECT * FROM $fact f JOIN $days d ON f.day + 100 = d.day WHERE d.month = 3",
          1)
      }
    }
  }

  // for each change on plain tables alone
  test("filters that aggregates, grouping sets, lists and windows imply skip files", Slow) {
    withStar {
      allWays(ImpliedFilterShapes.of(fact).foreach { case (query, n) => reads(query, n) })
    }
  }

  common("the value of a scalar subquery") {
    withStar {
      allWays {
        reads(s"SELECT * FROM $fact WHERE day = (SELECT max(day) FROM $days WHERE month = 3)", 1)
      }
    }
  }

  test("values of scalar subqueries in ranges, and of one of several subqueries", Slow) {
    withStar {
      allWays {
        reads(s"SELECT * FROM $fact WHERE ts >= (SELECT max(ts) FROM $days WHERE month < 14)", 3)
        reads(
          s"SELECT * FROM $fact WHERE day IN (SELECT day FROM $days WHERE month = 3) OR " +
            s"code IN (SELECT code FROM $days WHERE month = 5)",
          2)
        reads(
          s"SELECT f.* FROM $fact f JOIN $days d ON (d.day IS NULL OR f.day = d.day) AND d.month = 3",
          1)
        reads(
          s"SELECT f.* FROM $fact f LEFT SEMI JOIN $days d ON (d.dom = 5 OR f.day = d.day) AND d.month = 3",
          Files)
        reads(
          s"SELECT * FROM $fact WHERE CASE WHEN day IN (SELECT day FROM $days WHERE month = 3) THEN TRUE " +
            "ELSE FALSE END",
          1)
      }
    }
  }

  common("a part of a table gives keys to the whole table, by a second run of the part") {
    withStar {
      inConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
        reads(
          s"SELECT * FROM $fact a JOIN $fact b ON a.day = b.day + 100 WHERE a.day BETWEEN 310 AND 320",
          1,
          1,
          1)
      }
    }
  }

  common("the side whose rows stay without a partner is read whole") {
    withStar {
      allWays {
        val some = s"(SELECT * FROM $days WHERE month = 3) d"
        reads(s"SELECT * FROM $fact f LEFT JOIN $some ON f.day = d.day", Files)
        reads(s"SELECT * FROM $fact f FULL JOIN $some ON f.day = d.day", Files)
        reads(s"SELECT * FROM $fact f LEFT ANTI JOIN $some ON f.day = d.day", Files)
        reads(
          s"SELECT * FROM $fact WHERE day NOT IN (SELECT day FROM $days WHERE month = 3)",
          Files)
      }
    }
  }

  common("no key, or only NULL as a key; an aggregate of no row has a row") {
    withStar {
      allWays {
        reads(s"SELECT * FROM $fact JOIN $days USING (day) WHERE month = 99", 0)
        reads(
          s"SELECT count(*) FROM $fact WHERE day = (SELECT max(day) FROM $days WHERE month = 99)",
          0)
        reads(
          s"SELECT * FROM $fact f JOIN (SELECT IF(dom < 2, day, NULL) day FROM $days " +
            "WHERE month = 3) d ON f.day = d.day",
          1)
      }
    }
  }

  common("a table of one partition keeps it") {
    withStar {
      val one = nameOf("one")
      sql(s"CREATE TABLE $one USING $starFormat AS SELECT /*+ COALESCE(1) */ * FROM ($factRows)")
      allWays {
        val query = s"SELECT count(*), sum(amount) FROM $one WHERE day = " +
          s"(SELECT max(day) + 5000 FROM $days WHERE month = 3)"
        assert(sql(query).collect().map(_.getLong(0)).toSeq === Seq(0L))
        val join = s"SELECT count(*) FROM $one f JOIN $days d ON f.day + 9000 = d.day AND d.dom = 3"
        assert(sql(join).collect().map(_.getLong(0)).toSeq === Seq(0L))
      }
    }
  }

  common("a query that runs twice") {
    withStar {
      allWays {
        val df = sql(s"SELECT * FROM $fact JOIN $days USING (day) WHERE month = 3")
        assert(df.collect().length === 100)
        assert(df.collect().length === 100)
      }
    }
  }

  test("a query that runs twice by other ways, and equal parts of a query", Slow) {
    withStar {
      allWays {
        val df = sql(s"SELECT * FROM $fact JOIN $days USING (day) WHERE month = 3")
        assert(df.count() === 100)
        assert(df.count() === 100)
        val all = sql(s"SELECT * FROM $fact")
        assert(all.join(sql(s"SELECT * FROM $days WHERE month = 3"), "day").count() === 100)
        assert(all.count() === 1600)
        val both = s"WITH m AS (SELECT f.* FROM $fact f JOIN $days d ON f.day = d.day WHERE " +
          "d.month = 3) SELECT * FROM m a JOIN m b ON a.id = b.id UNION ALL " +
          s"SELECT * FROM m a JOIN (SELECT f.* FROM $fact f JOIN $days d ON f.day = d.day " +
          "WHERE d.month IN (3, 4)) b ON a.id = b.id"
        assert(bag(sql(both)) === withoutDynamic(bag(sql(both))))
      }
    }
  }

  common("a commit between the planning and the run changes no row of the query") {
    withOwnStar {
      allWays {
        val query = s"SELECT * FROM $fact f JOIN $days d ON f.day = d.day WHERE d.month IN (3, 4)"
        val df = sql(query)
        df.queryExecution.executedPlan
        val before = spark.table(fact).count()
        sql(s"INSERT INTO $fact SELECT id + 5000, day, item, amount, code, ts, price FROM $fact " +
          "WHERE day IN (350, 351)")
        val rows = df.collect().length
        val after = sql(query).collect().length
        assert(after === withoutDynamic(sql(query).collect().length))
        assert(after > rows || rows === after)
        assert(spark.table(fact).count() > before)
      }
    }
  }

  common("settings switch it off, and EXPLAIN tells of it") {
    withStar {
      val query = s"SELECT * FROM $fact JOIN $days USING (day) WHERE month = 3"
      def isOn = sql(query).queryExecution.executedPlan.toString.contains("ZOrderFilesAtRunTime")
      assert(isOn)
      for (setting <- Seq(s"skipping.$starFormat", "skipping.dynamic", "enabled")) {
        val off = if (setting.endsWith(starFormat)) "off" else "false"
        inConf(s"spark.zorder.$setting" -> off)(assert(!isOn, setting))
      }
      inConf("spark.zorder.skipping.enabled" -> "false") {
        assert(!isOn)
        reads(query, Files)
      }
    }
  }

  test("settings and properties switch it off: rows and files", Slow) {
    withOwnStar {
      val query = s"SELECT * FROM $fact JOIN $days USING (day) WHERE month = 3"
      def plan = sql(query).queryExecution.executedPlan.toString
      assert(plan.contains("ZOrderFilesAtRunTime"))
      def isOff(settings: (String, String)*) = inConf(settings: _*) {
        assert(!plan.contains("ZOrderFilesAtRunTime"))
        reads(query, Files)
      }
      isOff(s"spark.zorder.skipping.$starFormat" -> "off")
      isOff("spark.zorder.skipping.dynamic" -> "false")
      isOff("spark.zorder.skipping.enabled" -> "false")
      isOff("spark.zorder.enabled" -> "false")
      sql(s"ALTER TABLE $fact SET TBLPROPERTIES ('zorder.skipping.$starFormat' = 'off')")
      reads(query, Files)
    }
  }

  /** Conditions, with the files that they read and with parts of their plans. */
  private def readsRanges(cases: Seq[(String, Long, Seq[String])]): Unit =
    withStar {
      def readsAll(condition: String, files: Long, shown: String*): Unit = {
        val df = reads(s"SELECT * FROM $fact WHERE $condition", files)
        val plan = df.queryExecution.optimizedPlan.toString
        shown.foreach(text => assert(plan.contains(text), s"$text is not in\n$plan"))
      }
      allWays(cases.foreach { case (condition, files, shown) =>
        readsAll(condition, files, shown: _*)
      })
    }

  common("ranges that follow from functions of columns choose the files")(readsRanges(Seq(
    ("year(ts) = 2003", 5L, Seq("ts", "<= 200", ">= 200")),
    ("CASE WHEN day = 500 THEN 'a' ELSE 'b' END = 'a'", 1L, Nil),
    // rows without a value
    ("coalesce(day, 77) = 77", Files.toLong, Nil))))

  test("ranges that follow from more functions of columns, and lists of values", Slow) {
    readsRanges(Seq(
      ("date_trunc('month', ts) = timestamp'2003-03-01'", 1L, Nil),
      ("day + 1 = 500", 1L, Seq("= 499)")),
      ("coalesce(day, 0) = 77", 1L, Nil),
      ("abs(day - 800) < 5", 2L, Nil),
      ("day IN (5, 805, 1505)", 3L, Nil),
      ("if(day < 100, 1, 0) = 1", 1L, Nil),
      ("to_date(ts) IN (date'2003-03-01', date'1903-03-01')", 1L, Nil),
      // too many ranges
      ("month(ts) = 3", Files.toLong, Nil)))
    inConf(s"spark.zorder.skipping.$starFormat" -> "off") {
      readsRanges(Seq(("year(ts) = 2001", Files.toLong, Nil)))
    }
  }

  common("functions of times that lie far from today") {
    withStar {
      val old = nameOf("old")
      sql(s"CREATE TABLE $old USING $starFormat AS SELECT timestamp'2003-05-05 00:00:00' ts, " +
        "date'2003-05-05' d")
      // Spark 3.5 asks which calendar is meant
      inConf(
        "spark.sql.parquet.datetimeRebaseModeInWrite" -> "CORRECTED",
        "spark.sql.parquet.int96RebaseModeInWrite" -> "CORRECTED") {
        for (year <- Seq(1850, 2150)) {
          sql(s"INSERT INTO $old VALUES (timestamp'$year-05-05 00:00:00', date'$year-05-05')")
        }
      }
      for {
        column <- Seq("ts", "d")
        (condition, year) <- Seq(
          s"year($column) < 1950" -> 1850,
          s"year($column) > 2050" -> 2150,
          s"year($column) = 1850" -> 1850,
          s"date_trunc('year', $column) = timestamp'2150-01-01'" -> 2150,
          s"year($column) = 2003" -> 2003)
      } assert(
        sql(s"SELECT year(ts) FROM $old WHERE $condition").collect().map(_.getInt(0)) ===
          Array(year),
        condition)
    }
  }

  common("SHOW SKIPPING tells of filters whose values are known when the query runs") {
    withStar {
      val rows = sql(s"SHOW SKIPPING FOR SELECT * FROM $fact f JOIN $days d ON f.day = d.day " +
        "WHERE d.month = 3").collect().filter(_.getAs[Boolean]("used"))
        .filter(_.getAs[String]("predicate").contains("keys of a join"))
      assert(rows.length === 1)
      assert(rows.head.getAs[String]("table").contains("fact"))
      assert(rows.head.getAs[Long]("files") === 16)
      assert(rows.head.getAs[Seq[String]]("columns") === Seq("day"))
      assert(rows.head.getAs[String]("reason") === "its values are known when the query runs")
      for (condition <- Seq("day = 500", "day + 1 = 501")) {
        val own = sql(s"SHOW SKIPPING FOR SELECT * FROM $fact WHERE $condition").collect()
          .filter(_.getAs[String]("predicate").contains("day = 500"))
        assert(own.length === 1, condition)
        assert(own.head.getAs[Long]("files") === 1)
        assert(own.head.getAs[Long]("filesDropped") === Files - 1)
        assert(own.head.getAs[String]("reason").contains("the format of the table tests it"))
      }
      val unknown = sql(s"SHOW SKIPPING FOR SELECT * FROM $fact WHERE month(ts) = 3").collect()
        .filter(_.getAs[String]("predicate").contains("month"))
      assert(unknown.length === 1 && !unknown.head.getAs[Boolean]("used"))
      withoutDynamic {
        val off = sql(s"SHOW SKIPPING FOR SELECT * FROM $fact WHERE day = " +
          s"(SELECT max(day) FROM $days)").collect()
        assert(off.filter(_.toString.contains("subquery")).forall(!_.getAs[Boolean]("used")))
      }
    }
  }

  common("names in another case") {
    withStar {
      val upper = s"SELECT F.* FROM ${nameOf("fact")} F JOIN ${nameOf("days")} D " +
        "ON F.DAY = D.DAY WHERE MONTH = 3"
      allWays(reads(upper, 1))
    }
  }

  // for each change on plain tables alone
  test("texts that are no UTF-8", Slow) {
    withStar {
      sql(s"CREATE TABLE ${nameOf("odd")} USING $starFormat AS " +
        "SELECT cast(X'FF' AS STRING) s, 1 n")
      sql(s"INSERT INTO ${nameOf("odd")} SELECT 'a', 2")
      sql(s"INSERT INTO ${nameOf("odd")} SELECT cast(X'80' AS STRING), 3")
      sql(
        s"CREATE TABLE ${nameOf("keys")} USING $starFormat AS SELECT s k, n FROM ${nameOf("odd")}")
      for (n <- 1 to 3) {
        val query = s"SELECT O.N FROM ${nameOf("odd")} O JOIN ${nameOf("keys")} D " +
          s"ON O.S = D.K WHERE D.N = $n"
        allWays(assert(sql(query).count() === 1, n))
      }
    }
  }

  // for each change the tests of keys, subqueries and ranges above
  test("each shape of a filter reads about as many files as on a plain table with an index", Slow) {
    withStar {
      val rows = "SELECT id, pmod(hash(id), 20000) k, " +
        "timestamp_seconds(1577836800 + pmod(hash(id, 7), 94608000)) ts, id * 3 v " +
        "FROM range(0, 40000, 1, 4)"
      val layout = "ZORDER BY (k, ts) OPTIONS ('targetFileSize' '16k')"
      val cells = nameOf("cells")
      withTempDir { dir =>
        val plain = s"parquet.`$dir/plain`"
        inConf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS") {
          sql(rows).write.parquet(s"$dir/plain")
        }
        sql(s"OPTIMIZE $plain $layout")
        sql(s"CREATE ZORDER INDEX IF NOT EXISTS ON $plain").collect()
        // one task for each file, so that both tables have the same rows in their files
        inConf(
          "spark.sql.files.maxPartitionBytes" -> "1m",
          "spark.sql.files.openCostInBytes" -> "1m") {
          sql(s"CREATE TABLE $cells USING $starFormat AS SELECT * FROM $plain")
        }
        val some = s"(SELECT day * 13 k FROM $days WHERE day = 333) d"
        val shapes = Seq(
          "SELECT * FROM t WHERE k = 7777",
          "SELECT * FROM t WHERE k BETWEEN 7000 AND 7400",
          "SELECT * FROM t WHERE cast(ts AS date) = date'2021-05-05'",
          "SELECT * FROM t WHERE k IN (5, 9999, 17000)",
          s"SELECT * FROM t WHERE k IN (SELECT d.k FROM $some)",
          s"SELECT * FROM t JOIN $some ON t.k = d.k",
          s"SELECT /*+ MERGE(d) */ * FROM t JOIN $some ON t.k = d.k",
          s"SELECT * FROM t LEFT SEMI JOIN $some ON t.k = d.k",
          s"SELECT * FROM t WHERE k = (SELECT max(d.k) FROM $some)",
          "SELECT * FROM t WHERE year(ts) = 2021",
          "SELECT * FROM t WHERE date_trunc('month', ts) = timestamp'2021-05-01'",
          "SELECT * FROM t WHERE k + 1 = 7778",
          "SELECT * FROM t WHERE coalesce(k, 0) = 7777")
        val read = shapes.map { shape =>
          def run(table: String) = {
            val df = sql(shape.replace("FROM t ", s"FROM $table t "))
            (bag(df), df)
          }
          val (expected, ofPlain) = run(plain)
          val (found, ofFormat) = run(cells)
          assert(found === expected, shape)
          val scans = collectWithSubqueries(ofPlain.queryExecution.executedPlan) {
            case s: FileSourceScanExec
                if s.relation.location.rootPaths.exists(_.getName == "plain") =>
              s.metrics("numFiles").value
          }
          (shape, filesRead(ofFormat, "cells").sum, scans.sum)
        }
        info(read.map { case (shape, a, b) => s"$a/$b $shape" }.mkString("\n"))
        read.foreach { case (shape, ofFormat, ofPlain) =>
          assert(ofFormat <= ofPlain + 1.5, s"$shape: $read")
        }
      }
    }
  }
}

/** The ways that a suite of [[FormatStarTests]] leaves out. */
trait OtherWays extends FormatStarTests {
  abstract override protected def ways: Seq[(String, String)] =
    (for (adaptive <- Seq("true", "false"); threshold <- Seq("10485760", "-1"))
      yield adaptive -> threshold).filterNot(super.ways.contains)
}
