// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.File

import org.scalatest.tags.Slow

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.DynamicPruning
import org.apache.spark.sql.execution.FilterExec
import org.apache.spark.sql.execution.columnar.InMemoryRelation

import io.sparkzorder.skipping.dynamic.{
  BothAdaptive,
  ImpliedFilterShapes,
  NotAdaptive,
  StarTestBase
}

/**
 * What plain tables have from this extension, whatever other extensions the session has, and wherever
 * they are named.
 */
abstract class NeighbourTests extends StarTestBase with KilledRuns with Neighbour {

  test("literals skip files: by path, by name, from a view, after a filter on a partition") {
    withTable("t", "parted") {
      withGrid { dir =>
        assert(text(read(dir).where(oneFile)).contains(oneFileText))
        assert(counts(scansOf(checkRows(read(dir).where(oneFile))).head) === Seq(16, 1, 15, 0))
        assert(counts(scansOf(checkRows(
          sql(s"SELECT id FROM parquet.`$dir` WHERE $oneFile LIMIT 3"))).head).take(2) === Seq(
          16,
          1))
        sql(s"CREATE TABLE t USING parquet LOCATION '$dir'")
        sql(
          s"CREATE TABLE parted USING parquet PARTITIONED BY (p) AS SELECT *, id % 2 p FROM ($grid)")
        sql("CREATE ZORDER INDEX ON parted").collect()
        withView("v") {
          sql("CREATE VIEW v AS SELECT a + 0 a, b FROM t")
          for (from <- Seq("t", "v")) {
            val df = checkRows(sql(s"SELECT * FROM $from WHERE $oneFile"))
            assert(counts(scansOf(df).head).take(2) === Seq(16, 1), from)
          }
        }
        val df = checkRows(sql(s"SELECT * FROM parted WHERE p = 1 AND $oneFile"))
        assert(counts(scansOf(df).head).take(2) === Seq(16, 1))
      }
    }
  }

  testParts("keys of joins and values of subqueries skip files, and stand in no filter of rows") {
    withStar { _ =>
      bothWays {
        val df = reads("SELECT sum(amount) FROM fact JOIN days USING (day) WHERE month = 3", 1)
        assert(count(df) {
          case f: FilterExec if f.condition.exists(_.isInstanceOf[DynamicPruning]) => f
        } === 0)
        reads("SELECT * FROM fact WHERE day = (SELECT max(day) FROM days WHERE month = 5)", 1)
      }
    }
  } {
    withStar { _ =>
      bothWays {
        reads("SELECT * FROM fact WHERE day IN (SELECT day FROM days WHERE month > 13)", 2)
        reads(
          "SELECT id FROM fact JOIN days USING (day) JOIN (VALUES (3, 'x'), (5, 'y')) m (month, name) " +
            "USING (month) WHERE name = 'x'",
          1)
        reads(
          "SELECT id FROM fact WHERE CASE WHEN day IN (SELECT day FROM days WHERE month = 3) THEN TRUE " +
            "ELSE FALSE END",
          1)
        reads(
          "SELECT f.id FROM (SELECT * FROM days WHERE month = 3) d LEFT JOIN fact f ON f.day = d.day",
          1)
        reads(
          "SELECT f.id FROM fact f JOIN days d ON d.day IS NULL OR f.day = d.day WHERE d.month = 3",
          1)
      }
    }
  }

  testParts("filters that aggregates, grouping sets, lists and windows imply skip files")(
    checkImplied(ImpliedFilterShapes.some("fact")))(checkImplied(ImpliedFilterShapes.of("fact")))

  private def checkImplied(shapes: Seq[(String, Long)]): Unit = withStar { _ =>
    bothWays(shapes.foreach { case (query, n) => reads(query, n) })
  }

  testParts(
    "a run that is half published is whole: by path, by name, by V2 readers, for a writer")(
    checkHalfPublished(4))(checkHalfPublished(0, 2, 6))

  private def checkHalfPublished(renames: Int*): Unit = {
    withTable("t", "copy") {
      for (k <- renames) withTableDir { dir =>
        write(shuffled(200, 4), dir)
        val stale = read(dir)
        val expected = bag(read(dir))
        sql(s"CREATE TABLE t (id LONG, a INT, b LONG, s STRING) USING parquet LOCATION '$dir'")
        assert(killedAt(k, dir))
        def check(rows: => DataFrame): Unit = assert(bag(rows) === expected, s"killed at $k")
        check(read(dir))
        check(stale.select("*"))
        check(sql("SELECT * FROM t"))
        check(sql(s"SELECT * FROM parquet.`$dir` WHERE a >= 0"))
        inConf("spark.sql.sources.useV1SourceList" -> "")(check(read(dir)))
        sql("CREATE TABLE copy USING parquet AS SELECT * FROM t")
        check(sql("SELECT * FROM copy"))
        sql(s"RECOVER LAYOUT parquet.`faulty://$dir`").collect()
        check(read(dir))
        sql("DROP TABLE t")
        sql("DROP TABLE copy")
      }
    }
  }

  test(
    "a file that is missing from a table with runs is no file without rows, for V1 and V2 readers") {
    withTableDir { dir =>
      write(shuffled(200, 4), dir)
      sql(s"OPTIMIZE TABLE '$dir' ZORDER BY a").collect()
      val rows = bag(read(dir))
      for (v1 <- Seq("parquet", "")) inConf(
        "spark.sql.sources.useV1SourceList" -> v1,
        "spark.sql.files.ignoreMissingFiles" -> "true") {
        val held = read(dir)
        val file = dataFiles(dir).map(f => new File(new File(dir, f.folder), f.name)).head
        val away = new File(dir, s"_${file.getName}")
        assert(file.renameTo(away))
        intercept[Exception](held.where("a IS NOT NULL").collect())
        assert(away.renameTo(file))
        assert(bag(read(dir)) === rows)
      }
    }
  }

  test("a plan that is cached, and a query on the cache") {
    withGrid { dir =>
      val df = read(dir).where("a = 15").cache()
      try {
        val expected = withoutSkipping(read(dir).where("a = 15 AND b = 25").count())
        assert(df.where("b = 25").count() === expected)
        val cached = df.queryExecution.withCachedData.collectFirst { case r: InMemoryRelation =>
          r
        }.get
        val scans = cached.cacheBuilder.cachedPlan.toString
        assert(scans.contains("ZOrderFiles: 4 of 16"), scans)
      } finally df.unpersist(blocking = true)
    }
  }

  test("a declared order holds for INSERT; OPTIMIZE and SHOW SKIPPING work") {
    withTable("t") {
      sql("CREATE TABLE t (id LONG, a INT, b INT) USING parquet SORT BY ZORDER (a, b)")
      assert(sql(s"EXPLAIN INSERT INTO t $grid").head().getString(0).contains("Sort ["))
      sql(s"INSERT INTO t $grid")
      val expected = bag(sql("SELECT * FROM t"))
      sql(s"OPTIMIZE TABLE t ZORDER BY (a, b) OPTIONS (${sizeFor(locationOf("t"), 8)})").collect()
      sql("CREATE ZORDER INDEX IF NOT EXISTS ON t").collect()
      assert(bag(sql("SELECT * FROM t")) === expected)
      val skipped = sql(s"SHOW SKIPPING FOR SELECT * FROM t WHERE $oneFile").collect()
      assert(skipped.exists(_.getAs[Boolean]("used")))
      val ran = checkRows(sql(s"SELECT * FROM t WHERE $oneFile"))
      assert(counts(scansOf(ran).head) match { case Seq(total, kept, _, _) => kept < total })
    }
  }

  test("a strategy of the user that plans scans of files, set at any time") {
    withGrid { dir =>
      val before = spark.experimental.extraStrategies
      try {
        val planned = read(dir).where(oneFile)
        planned.queryExecution.optimizedPlan
        spark.experimental.extraStrategies = Seq(StrangeStrategy)
        assert(text(planned).contains(oneFileText))
        assert(text(read(dir).where(oneFile)).contains(oneFileText))
        val other = spark.newSession()
        assert(other.read.parquet(dir.getPath).where(oneFile).queryExecution.toString
          .contains(oneFileText))
      } finally spark.experimental.extraStrategies = before
    }
  }
}

/** Besides, a limit that another extension sets for scans holds for ours. */
abstract class StrangerTests extends NeighbourTests {
  test("a strategy of another extension that only checks is asked") {
    withGrid { dir =>
      inConf(LimitOfFiles.Key -> "10") {
        val error = intercept[IllegalStateException](read(dir).where(oneFile).collect())
        assert(error.getMessage === "too many files")
      }
      inConf(LimitOfFiles.Key -> "16")(assert(read(dir).where(oneFile).count() === 10))
    }
  }
}

class StrangerFirstSuite extends StrangerTests with StrangerFirst
@Slow
class StrangerFirstNotAdaptiveSuite extends StrangerTests with StrangerFirst with NotAdaptive
@Slow
class StrangerLastSuite extends StrangerTests with StrangerLast with BothAdaptive

/** Suites of one extension alone, which hold for two. */
@Slow
class StrangerFirstV2ScanSuite extends V2ScanSuite with StrangerFirst
@Slow
class StrangerFirstExplainSuite extends ScanExplainSuite with StrangerFirst
