// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import java.io.File
import java.nio.file.Files

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.Row

/** Writes that are dealt to the cells of the grid that OPTIMIZE has left. */
class CellsSuite extends DealtTables {
  test("an insert is dealt to the cells: sizes, overlap, rows, and the plan says so") {
    withTable("t") {
      create()
      insert(60000, 1)
      assert(explained(60000, 2).contains("no grid is stored"))
      sql("OPTIMIZE t")
      val plan = explained(60000, 2)
      assert(plan.contains("cells: the order is ZORDER (a, b), by the grid"), plan)
      assert(plan.contains("cell_of_place"), plan)
      checkInsert(2)
      checkRows(1, 2)
    }
  }

  test("an insert is dealt to the cells with other settings of Spark", Slow) {
    withTable("t") {
      create()
      insert(60000, 1)
      sql("OPTIMIZE t")
      checkInsert(2, "spark.sql.adaptive.coalescePartitions.minPartitionNum" -> "60")
      checkInsert(3, "spark.sql.adaptive.coalescePartitions.enabled" -> "false")
      checkInsert(4, "spark.sql.optimizer.plannedWrite.enabled" -> "false")
      checkInsert(
        5,
        "spark.sql.adaptive.coalescePartitions.enabled" -> "false",
        "spark.sql.optimizer.plannedWrite.enabled" -> "false")
      checkRows(1, 2, 3, 4, 5)
    }
  }

  private def checkInsert(seed: Int, settings: (String, String)*): Unit =
    inConf(settings: _*) {
      val files = insert(60000, seed)
      val wanted = files.toSeq.map(_.length).sum / (64.0 * 1024)
      info(f"$settings: ${files.size} files, wanted $wanted%.1f, excess ${excess(files)}%.2f")
      assert(files.size < 1.5 * wanted && files.size > wanted / 1.5, settings)
      assert(excess(files) < 1.35, settings)
    }

  private def checkRows(seeds: Int*): Unit =
    assertRows("t", seeds.map(points(60000, _)).reduce(_ union _))

  test(
    "OPTIMIZE takes well dealt inserts as runs, and merges them when the excess asks for it",
    Slow) {
    withTable("t") {
      create()
      insert(60000, 1)
      sql("OPTIMIZE t")
      def run(): Row = sql("OPTIMIZE t").head()
      def removed(row: Row): Long = row.getAs[Row]("metrics").getAs[Long]("numFilesRemoved")
      val dealt = insert(60000, 2)
      val first = run()
      assert(removed(first) === 0)
      assert(first.getAs[String]("reason").contains(
        s"${dealt.size} of them as their writers have laid them out"))
      assert(dealt.forall(_.exists))
      // a run, an insert of the same size and a plain insert
      inConf("spark.zorder.write" -> "none")(insert(60000, 3))
      assert(removed(run()) > 0)
      (4 to 7).foreach(insert(60000, _))
      assert(removed(run()) > 0)
      assert(excess(filesBelow(directory("t")).toSet) < 2.1)
      assert(spark.table("t").count() === 420000)
    }
  }

  test("small inserts, and where the cells cannot be used, are sorted by the grid", Slow) {
    withTable("t") {
      create()
      insert(60000, 1)
      sql("OPTIMIZE t")
      assert(explained(100, 2).contains("sort: the order is ZORDER (a, b), by the grid"))
      assert(explained(100, 2).contains("less than 4 files"))
      inConf("spark.sql.adaptive.enabled" -> "false") {
        assert(explained(60000, 2).contains("spark.sql.adaptive.enabled is false"))
        insert(60000, 2)
      }
      inConf("spark.zorder.write" -> "sort") {
        assert(explained(60000, 2).contains("the setting write is sort"))
        insert(60000, 3)
      }
      inConf("spark.zorder.write" -> "cells") {
        assert(explained(100, 2).contains("cells: "))
        assert(insert(100, 4).size === 1)
      }
      assert(spark.table("t").count() === 180100)
    }
  }

  test("partitions with a grid", Slow) {
    withTable("t") {
      create("PARTITIONED BY (p)")
      insert(60000, 1)
      sql("OPTIMIZE t")
      val known = insert(60000, 2)
      assert(known.size < 30, known.size)
      known.groupBy(_.getParent).values.foreach(f => assert(excess(f) < 1.6, f.size))
      assert(spark.table("t").count() === 120000)
    }
  }

  test("new partitions by the pooled grid", Slow) {
    withTable("t") {
      create("PARTITIONED BY (p)")
      insert(60000, 1)
      sql("OPTIMIZE t")
      sql("ALTER TABLE t DROP PARTITION (p = '1')")
      val before = filesBelow(directory("t")).toSet
      points(60000, 3).selectExpr("a", "b", "v", "concat('n ', p) AS p").write.insertInto("t")
      val fresh = filesBelow(directory("t")).toSet -- before
      info(s"${fresh.size} files of new partitions")
      assert(fresh.size < 30)
      fresh.groupBy(_.getParent).values.foreach(f => assert(excess(f) < 1.6, f.size))
      assert(spark.table("t").where("p LIKE 'n %'").count() === 60000)
      // '' and NULL are one partition
      points(60000, 4).selectExpr("a", "b", "v", "nullif(p, '1') AS p").write.insertInto("t")
      assert(spark.table("t").where("p IS NULL").count() === 20000)
    }
  }

  test("values outside of all bounds, NULLs, and one column", Slow) {
    withTable("t") {
      create()
      insert(60000, 1)
      sql("OPTIMIZE t")
      points(60000, 2).selectExpr("a + 5000 AS a", "-b AS b", "v", "p").write.insertInto("t")
      points(60000, 3).selectExpr(
        "CASE WHEN v % 2 = 0 THEN a END AS a",
        "CASE WHEN v % 3 = 0 THEN b END AS b",
        "v",
        "p").write.insertInto("t")
      assert(spark.table("t").count() === 180000)
      assert(spark.table("t").where("a IS NULL").count() === 30000)
    }
    withTable("t") {
      sql("CREATE TABLE t (a INT, b BIGINT, v BIGINT, p STRING) USING parquet " +
        "SORT BY ZORDER (b) TBLPROPERTIES ('zorder.targetFileSize' = '64k')")
      insert(60000, 1)
      sql("OPTIMIZE t")
      val files = insert(60000, 2)
      files.foreach { f =>
        val b = spark.read.parquet(f.toString).select("b").coalesce(1).collect().map(_.getLong(0))
        assert(b.toSeq === b.toSeq.sorted)
      }
      assert(share(files, "b") * files.size < 1.3)
    }
  }

  test("a damaged grid, a grid of other columns and a grid of another type are not used") {
    withTable("t") {
      create()
      insert(60000, 1)
      sql("OPTIMIZE t")
      val grid = new File(directory("t"), "_zorder/_grid/_cells").toPath
      val bytes = Files.readAllBytes(grid)
      Files.write(grid, bytes.dropRight(5))
      assert(explained(60000, 2).contains("no grid is stored"))
      insert(1000, 2)
      Files.write(grid, bytes)
      sql("ALTER TABLE t SORT BY ZORDER (b, a)")
      assert(explained(60000, 2).contains("the stored grid has other columns or types"))
      sql("ALTER TABLE t SORT BY ZORDER (A, B)")
      assert(explained(60000, 2).contains("cells: "))
      sql("ALTER TABLE t SORT BY LEXICAL (a, b)")
      assert(!explained(60000, 2).contains("cell_of_place"))
    }
  }
}
