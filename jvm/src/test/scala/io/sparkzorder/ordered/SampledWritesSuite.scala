// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import java.io.File

import org.scalatest.tagobjects.Slow

import io.sparkzorder.JobCounter

/** Writes that are dealt by a sample of their own rows, and those that cannot be read twice. */
class SampledWritesSuite extends DealtTables {

  private def sampled(clause: String = ""): Unit = {
    create(clause)
    sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.write' = 'sampled')")
  }

  private def wellDealt(files: Set[File], mostExcess: Double = 1.35): Unit = {
    val wanted = files.toSeq.map(_.length).sum / (64.0 * 1024)
    info(f"${files.size} files, wanted $wanted%.1f, excess ${excess(files)}%.2f")
    assert(files.size < 2 * wanted && files.size > wanted / 2)
    assert(excess(files) < mostExcess)
  }

  test("the first insert into a table, without a grid", Slow) {
    for (planned <- Seq("true", "false")) withTable("t") {
      sampled()
      inConf("spark.sql.optimizer.plannedWrite.enabled" -> planned) {
        val jobs = JobCounter.count(spark) {
          val plan = explained(60000, 2)
          assert(
            plan.contains("sampled: the order is ZORDER (a, b), by a sample of the rows"),
            plan)
          assert(plan.contains("cell_of_place"), plan)
        }
        assert(jobs.jobs === 0)
        wellDealt(insert(60000, 1))
        assertRows("t", points(60000, 1))
      }
    }
  }

  test("one column") {
    withTable("t") {
      sampled()
      sql("ALTER TABLE t SORT BY ZORDER (b)")
      checkOneColumn(insert(60000, 3))
      assertRows("t", points(60000, 3))
    }
  }

  private def checkOneColumn(files: Set[File]): Unit = {
    assert(share(files, "b") * files.size < 1.3)
    files.foreach { f =>
      val b = spark.read.parquet(f.toString).select("b").coalesce(1).collect().map(_.getLong(0))
      assert(b.toSeq === b.toSeq.sorted)
    }
  }

  test("values that go together, NULLs and one column", Slow) {
    withTable("t") {
      sampled()
      points(60000, 1).selectExpr("a", "a * 1000L + v % 1000 AS b", "v", "p").write.insertInto("t")
      assert(spark.table("t").count() === 60000)
      points(60000, 2).selectExpr("nullif(a, 7) AS a", "CAST(NULL AS BIGINT) AS b", "v", "p")
        .write.insertInto("t")
      assert(spark.table("t").where("b IS NULL").count() === 60000)
      sql("ALTER TABLE t SORT BY ZORDER (b)")
      checkOneColumn(insert(60000, 3))
    }
  }

  test("partitions, and CREATE TABLE AS SELECT", Slow) {
    withTable("t", "u") {
      sampled("PARTITIONED BY (p)")
      val files = insert(60000, 1)
      assert(files.size < 30)
      files.groupBy(_.getParent).values.foreach(f => assert(excess(f) < 1.6, f.size))
      assert(spark.table("t").count() === 60000)
      inConf("spark.zorder.write" -> "sampled") {
        points(60000, 1).createOrReplaceTempView("src")
        val create = "CREATE TABLE u USING parquet SORT BY ZORDER (a, b) " +
          "TBLPROPERTIES ('zorder.targetFileSize' = '64k') AS SELECT * FROM src"
        assert(sql(s"EXPLAIN $create").head().getString(0).contains("sampled: the order is"))
        sql(create)
      }
      wellDealt(filesBelow(directory("u")).toSet)
      assertRows("u", points(60000, 1))
    }
  }

  test("what cannot be read twice is sorted, and EXPLAIN says why")(checkSorted(inserts = 1))

  test("what cannot be read twice is sorted, and EXPLAIN says why: each query is run", Slow)(
    checkSorted(inserts = 5))

  private def checkSorted(inserts: Int): Unit = {
    withTable("t") {
      sampled()
      points(1000, 1).createOrReplaceTempView("src")
      for (((query, why), i) <- Seq(
          "SELECT s.* FROM src s JOIN src o ON s.v = o.v" -> "Join",
          "SELECT a, max(b), max(v), max(p) FROM src GROUP BY a" -> "Aggregate",
          "SELECT a, b, v, p FROM src WHERE rand() < 0.5" -> "not deterministic",
          "SELECT * FROM src WHERE v < (SELECT max(v) FROM src)" -> "subquery",
          "SELECT * FROM src LIMIT 10" -> "Limit").zipWithIndex) {
        val plan = sql(s"EXPLAIN INSERT INTO t $query").head().getString(0)
        assert(plan.contains("sort: the order is ZORDER (a, b), and the query"), plan)
        assert(plan.contains(why), plan)
        if (i < inserts) sql(s"INSERT INTO t $query")
      }
      inConf("spark.sql.adaptive.enabled" -> "false") {
        assert(explained(1000, 1).contains("spark.sql.adaptive.enabled is false"))
        insert(1000, 1)
      }
    }
  }
}
