// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.accelerators

import java.io.File

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.sparkzorder.TestAccess

import io.sparkzorder.JobCounter
import io.sparkzorder.skipping.dynamic.{ImpliedFilterShapes, StarTestBase}
import io.sparkzorder.skipping.scan.{KilledRuns, Neighbour}

/** Queries on plain tables in a session of an accelerator, which replaces the nodes of Spark's plans. */
abstract class AcceleratorTests extends StarTestBase with KilledRuns with Neighbour {

  /** True if a node reads files, and the accelerator has made it. */
  protected def isNative(node: SparkPlan): Boolean

  /** Runs a query as Spark alone does, without the accelerator and without us. */
  protected def bySparkAlone[T](body: => T): T

  /** The files that a scan reads that was planned before, without adaptive execution. */
  protected def filesPlanned: Long = Files

  /** The nodes that read files of a table. */
  private def scansOf(df: DataFrame, table: String): Seq[SparkPlan] =
    collectWithSubqueries(df.queryExecution.executedPlan) {
      case scan if relationOf(scan).exists(_.location.rootPaths.exists(_.getName == table)) => scan
    }

  protected def relationOf(node: SparkPlan): Option[HadoopFsRelation] =
    node.productIterator.collectFirst { case r: HadoopFsRelation => r }

  /** Asserts that a query has the right rows, that its scans are native, and how many files it reads. */
  override protected def reads(query: String, files: Long*): DataFrame =
    ran(sql(query), query, files)

  private def ran(made: => DataFrame, query: String, files: Seq[Long]): DataFrame = {
    val alone = bySparkAlone(bag(made))
    assert(withoutSkipping(bag(made)) === alone, query)
    val df = made
    assert(bag(df) === alone, query)
    val scans = scansOf(df, "fact")
    assert(scans.forall(isNative), s"$query\n${text(df)}")
    val read = scans.map(_.metrics("numFiles").value).sorted
    // adaptive execution removes a join with an empty side, and then its scans
    val expected = if (read.isEmpty && files.forall(_ == 0)) Nil else files.sorted
    assert(read === expected, s"files of fact read by: $query\n${text(df)}")
    df
  }

  /** Adaptive execution, and broadcasts. */
  protected def ways: Seq[(Boolean, Boolean)] = AcceleratorTests.Each

  /** With adaptive execution and without, with broadcasts and without. */
  private def allWays(body: => Unit): Unit = ways.foreach { case (adaptive, broadcast) =>
    withClue(s"adaptive execution $adaptive, broadcasts $broadcast: ") {
      inConf("spark.sql.adaptive.enabled" -> adaptive.toString) {
        if (broadcast) body else withoutBroadcast(body)
      }
    }
  }

  testParts("literals skip files") {
    withStar { _ =>
      allWays {
        reads("SELECT count(*), sum(amount) FROM fact WHERE day IN (5, 1205)", 2)
      }
    }
  } {
    withStar { _ =>
      allWays {
        reads("SELECT * FROM fact WHERE day BETWEEN 410 AND 420", 1)
        reads("SELECT item, sum(amount) FROM fact WHERE code LIKE 'c0003%' GROUP BY item", 1)
        reads("SELECT * FROM fact WHERE day < 0", 0)
      }
    }
  }

  testParts("filters that aggregates, grouping sets, lists and windows imply skip files")(
    checkImplied(ImpliedFilterShapes.some("fact")))(checkImplied(ImpliedFilterShapes.of("fact")))

  private def checkImplied(shapes: Seq[(String, Long)]): Unit = withStar { _ =>
    allWays(shapes.foreach { case (query, n) => reads(query, n) })
  }

  testParts("keys of joins skip files") {
    withStar { _ =>
      allWays {
        reads("SELECT sum(amount) FROM fact JOIN days USING (day) WHERE month = 3", 1)
        // scans that differ in nothing but their keys
        reads(
          "SELECT day, item FROM fact JOIN days USING (day) WHERE month = 3 " +
            "UNION ALL SELECT day, item FROM fact",
          1,
          16)
      }
    }
  } {
    withStar { _ =>
      allWays {
        reads("SELECT fact.* FROM fact JOIN days USING (day) WHERE month = 3 AND dom < 50", 1)
        reads("SELECT * FROM fact WHERE day IN (SELECT day FROM days WHERE month > 13)", 2)
        reads(
          "SELECT * FROM fact WHERE day IN (SELECT day FROM days WHERE month = 3) OR day = 5",
          2)
        reads(
          "SELECT id FROM fact WHERE CASE WHEN day IN (SELECT day FROM days WHERE month = 3) THEN TRUE " +
            "ELSE FALSE END",
          1)
        reads(
          "SELECT id FROM fact f WHERE EXISTS (SELECT 1 FROM days d WHERE d.day = f.day AND month = 7)",
          1)
        reads(
          "SELECT category, sum(amount) FROM fact JOIN days ON fact.code = days.code " +
            "JOIN items USING (item) WHERE month IN (2, 9) AND category < 4 GROUP BY category",
          2)
        reads("SELECT * FROM fact JOIN days USING (day) WHERE month > 100", 0)
        reads(
          "SELECT id FROM fact JOIN days USING (day) JOIN (VALUES (3, 'x'), (5, 'y')) m (month, name) " +
            "USING (month) WHERE name = 'x'",
          1)
        reads(
          "SELECT id FROM fact f JOIN days d ON f.day IN (d.day, d.day + 1) WHERE month = 3 AND dom < 50",
          1)
        reads(
          "SELECT day, n FROM (SELECT day, count(*) n FROM fact GROUP BY day) JOIN days USING (day) " +
            "WHERE month = 3",
          1)
        // the side of fact is broadcast, if any
        reads(
          "SELECT d.day, amount FROM (SELECT * FROM days WHERE month = 3) d " +
            "LEFT JOIN fact ON fact.day = d.day",
          1)
        // scans that differ in nothing but their keys
        reads(
          "SELECT a.id, b.id FROM fact a JOIN fact b ON a.item = b.item JOIN days d ON a.day = d.day " +
            "WHERE d.month = 3 AND d.dom < 9",
          1,
          16)
      }
      withoutBroadcast(bothWays(reads(
        "SELECT days.day, amount FROM fact RIGHT JOIN days " +
          "ON fact.day = days.day AND days.month = 3 WHERE days.month < 4 AND dom = 1",
        4)))
    }
  }

  testParts("values of scalar subqueries skip files") {
    withStar { _ =>
      bothWays(
        reads("SELECT * FROM fact WHERE day > (SELECT max(day) FROM days WHERE month = 12)", 3))
    }
  } {
    withStar { _ =>
      bothWays {
        reads("SELECT * FROM fact WHERE day = (SELECT max(day) FROM days WHERE month = 5)", 1)
        reads(
          "SELECT * FROM fact WHERE day BETWEEN (SELECT min(day) + 10 FROM days WHERE month = 5) " +
            "AND (SELECT max(day) - 10 FROM days WHERE month = 6)",
          2)
        // NULL, and an error that is for the query to report
        reads("SELECT * FROM fact WHERE day = (SELECT max(day) FROM days WHERE month = 99)", 0)
        intercept[Exception](
          sql("SELECT * FROM fact WHERE day = (SELECT day FROM days WHERE month = 5)").collect())
      }
    }
  }

  testParts("a query that was planned before it runs, and runs again")(checkPlanned(
    "SELECT sum(amount) FROM fact JOIN days USING (day) WHERE month = 3"))(checkPlanned(
    "SELECT sum(amount) FROM fact WHERE day = (SELECT max(day) FROM days WHERE month = 5)"))

  private def checkPlanned(queries: String*): Unit = {
    withStar { _ =>
      def planned(query: String): DataFrame = {
        val df = sql(query)
        df.queryExecution.executedPlan.toString
        df
      }
      allWays {
        queries.foreach { query =>
          val adaptive = spark.conf.get("spark.sql.adaptive.enabled") == "true"
          val df = ran(planned(query), query, Seq(if (adaptive) 1 else filesPlanned))
          assert(bag(df) === bySparkAlone(bag(sql(query))))
        }
      }
    }
  }

  test("the side of a join runs once more for its keys, for all scans") {
    withStar { _ =>
      allWays {
        def jobs(query: String): Int = JobCounter.count(spark)(sql(query).collect()).jobs
        val part = "SELECT count(*) FROM fact JOIN days USING (day) WHERE month = 3"
        val more = Seq(part, part.replace("count(*)", "sum(item)")).mkString(" UNION ALL ")
        assert(jobs(more) <= withoutDynamic(jobs(more)) + 1)
      }
    }
  }

  test("a table that changes between two runs of a data frame", Slow) {
    withStar { fact =>
      allWays {
        val path = s"$fact-days-${System.nanoTime()}"
        sql("SELECT * FROM days WHERE month = 3").write.parquet(path)
        withTempView("some") {
          spark.read.parquet(path).createOrReplaceTempView("some")
          val query = "SELECT sum(amount) FROM fact JOIN some USING (day) WHERE month < 14"
          ran(sql(query), query, Seq(1))
          sql("SELECT * FROM days WHERE month IN (5, 6)").write.mode("append").parquet(path)
          spark.catalog.refreshTable("some")
          ran(sql(query), query, Seq(3))
          sql("SELECT * FROM days WHERE month = 9").write.mode("overwrite").parquet(path)
          spark.catalog.refreshTable("some")
          ran(sql(query), query, Seq(1))
        }
      }
    }
  }

  test("a data frame in the cache, in a query that reads its tables too") {
    withStar { fact =>
      bothWays {
        val path = s"$fact-cached-${System.nanoTime()}"
        sql("SELECT * FROM days WHERE month IN (3, 8)").write.parquet(path)
        withTempView("some") {
          spark.read.parquet(path).createOrReplaceTempView("some")
          val query = "SELECT fact.* FROM fact JOIN some USING (day) WHERE month < 14"
          val df = sql(query).cache()
          try {
            def twice = df.select("id").union(sql("SELECT id FROM fact WHERE day < 100"))
            val expected = bySparkAlone(bag(sql(query).select("id").union(
              sql("SELECT id FROM fact WHERE day < 100"))))
            for (_ <- 1 to 2) assert(bag(twice) === expected)
          } finally df.unpersist(blocking = true)
        }
      }
    }
  }

  test("SHOW SKIPPING names what the listing will find out") {
    withStar { _ =>
      val shown = sql(
        "SHOW SKIPPING FOR SELECT * FROM fact JOIN days USING (day) WHERE month = 3 AND " +
          "fact.code >= 'c0002'").collect()
      val used = shown.filter(r => r.getAs[Boolean]("used") && r.getString(1).contains("fact"))
      assert(used.map(_.getAs[String]("predicate")).exists(_.contains("keys of a join")))
      assert(used.exists(_.getAs[Any]("filesDropped") == 2L), shown.mkString("\n"))
      val once = sql(
        "SHOW SKIPPING FOR SELECT * FROM fact WHERE day = (SELECT max(day) FROM days)").collect()
      assert(once.count(r => r.getAs[Boolean]("used") && r.getString(1).contains("fact")) <= 2)
      assert(once.map(_.getAs[String]("predicate")).distinct.length === once.length)
    }
  }

  test("scans are recorded for AUTO, each once") {
    withStar { fact =>
      allWays {
        val before = recorded(fact)
        inConf("spark.zorder.workload.enabled" -> "true") {
          sql("SELECT count(*) FROM fact WHERE day BETWEEN 410 AND 420").collect()
          sql("SELECT sum(amount) FROM fact JOIN days USING (day) WHERE month = 3").collect()
        }
        assert(recorded(fact) === before + 2)
      }
    }
  }

  private def recorded(table: File): Long = {
    TestAccess.drainListeners(spark.sparkContext)
    sql(s"SHOW WORKLOAD parquet.`$table`").collect().map(_.getLong(2)).sum
  }

  testParts("an anti-join and a full join read all files") {
    withStar { _ =>
      allWays(
        reads("SELECT * FROM fact FULL JOIN (SELECT * FROM days WHERE month = 3) USING (day)", 16))
    }
  } {
    withStar { _ =>
      allWays(
        reads("SELECT * FROM fact WHERE day NOT IN (SELECT day FROM days WHERE month > 3)", 16))
    }
  }

  test("EXPLAIN runs no job") {
    withStar { _ =>
      bothWays {
        val count = JobCounter.count(spark) {
          val df = sql("SELECT sum(amount) FROM fact JOIN days USING (day) WHERE month = 3")
          df.queryExecution.executedPlan
          df.queryExecution.toString
          sql(
            "EXPLAIN FORMATTED SELECT * FROM fact JOIN days USING (day) WHERE month = 3").collect()
        }
        assert(count.jobs === 0)
      }
    }
  }

  test("a run that is half published is whole", Slow) {
    for (k <- 0 to 6 by 2) withTableDir { dir =>
      write(shuffled(200, 4), dir)
      val stale = read(dir)
      val expected = bag(read(dir))
      assert(killedAt(k, dir))
      def check(rows: => DataFrame): Unit = assert(bag(rows) === expected, s"killed at $k")
      check(read(dir))
      check(stale.select("*"))
      check(sql(s"SELECT * FROM parquet.`$dir` WHERE a >= 0"))
      inConf("spark.sql.sources.useV1SourceList" -> "")(check(read(dir)))
      sql(s"RECOVER LAYOUT parquet.`faulty://$dir`").collect()
      check(read(dir))
    }
  }
}

object AcceleratorTests {

  /** Adaptive execution and broadcasts: each choice once. */
  val Each: Seq[(Boolean, Boolean)] = Seq(true -> true, false -> false)

  /** All pairs, of which a quick suite takes [[Each]]. */
  val All: Seq[(Boolean, Boolean)] = Each ++ Seq(true -> false, false -> true)
}
