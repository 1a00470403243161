// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import java.io.File
import java.nio.ByteBuffer
import java.nio.file.Files

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.AnalysisException

/** Writes beside other writers, with damaged state and with names that do not fit. */
class HostileWritesSuite extends DealtTables {

  test("another engine writes into the directory: inserts and OPTIMIZE go on", Slow) {
    withTable("t") {
      create()
      insert(60000, 1)
      sql("OPTIMIZE t")
      points(60000, 2).write.mode("append").parquet(directory("t").toString)
      sql("REFRESH TABLE t")
      insert(60000, 3)
      sql("OPTIMIZE t")
      assertRows("t", Seq(1, 2, 3).map(points(60000, _)).reduce(_ union _))
    }
  }

  test("state that cannot be read, and a grid of another version", Slow) {
    withTable("t") {
      create()
      insert(60000, 1)
      sql("OPTIMIZE t")
      val grid = new File(directory("t"), "_zorder/_grid/_cells")
      val bytes = Files.readAllBytes(grid.toPath)
      val newer = bytes.clone()
      ByteBuffer.wrap(newer).putInt(4, 99)
      Files.write(grid.toPath, newer)
      assert(explained(60000, 2).contains("no grid is stored"))
      insert(1000, 2)
      // a directory in the place of the file
      assert(grid.delete() && grid.mkdir())
      assert(explained(60000, 2).contains("no grid is stored"))
      insert(1000, 3)
      sql("OPTIMIZE t FULL")
      assert(grid.delete())
      sql("OPTIMIZE t FULL")
      assert(explained(60000, 2).contains("by the grid"))
      assert(spark.table("t").count() === 62000)
    }
  }

  test("a file in the place of the state directory") {
    withTable("t") {
      create()
      val state = new File(directory("t"), "_zorder")
      assert(directory("t").isDirectory || directory("t").mkdirs())
      Files.write(state.toPath, Array[Byte](1))
      insert(60000, 1)
      assert(spark.table("t").count() === 60000)
    }
  }

  test("names that differ in case, and a column whose type has no order") {
    withTable("t") {
      sql("CREATE TABLE t (Aa INT, b INT, m MAP<INT, INT>) USING parquet SORT BY ZORDER (aA, B)")
      sql("INSERT INTO t SELECT id, -id, map(id, id) FROM range(100)")
      inConf("spark.sql.caseSensitive" -> "true") {
        sql("INSERT INTO t SELECT id, -id, map(id, id) FROM range(100)")
      }
      sql("ALTER TABLE t SET TBLPROPERTIES ('zorder.columns' = 'm, b')")
      sql("INSERT INTO t SELECT id, -id, map(id, id) FROM range(100)")
      assert(spark.table("t").count() === 300)
    }
  }

  test("a temporary view has no declared order") {
    withTempView("w") {
      spark.range(10).createOrReplaceTempView("w")
      assert(intercept[AnalysisException](sql("ALTER TABLE w SORT BY (id)")) != null)
    }
  }

  test("a stream that writes files by itself is not ordered, and loses nothing") {
    withTable("t") {
      create()
      withTempDir { dir =>
        points(2000, 1).write.parquet(s"$dir/in")
        val query = spark.readStream.schema(points(1, 1).schema).parquet(s"$dir/in").writeStream
          .option("checkpointLocation", s"$dir/checkpoint").toTable("t")
        try query.processAllAvailable()
        finally query.stop()
      }
      assert(spark.table("t").count() === 2000)
    }
  }

  test("a batch of a stream, which may not be read twice, is not shuffled") {
    withTable("t") {
      create()
      insert(60000, 1)
      sql("OPTIMIZE t")
      val unknown = spark.createDataFrame(points(100, 2).rdd, points(1, 1).schema)
      unknown.createOrReplaceTempView("src")
      val plan = sql("EXPLAIN INSERT INTO t SELECT * FROM src").head().getString(0)
      assert(
        plan.contains("ExternalRDD may return other rows when it is read again") ||
          plan.contains("LogicalRDD may return other rows when it is read again"),
        plan)
      unknown.write.insertInto("t")
      assert(spark.table("t").count() === 60100)
    }
  }

  test("INSERT OVERWRITE of partitions of the table from itself", Slow) {
    withTable("t") {
      create("PARTITIONED BY (p)")
      insert(60000, 1)
      sql("OPTIMIZE t")
      inConf("spark.sql.sources.partitionOverwriteMode" -> "dynamic") {
        sql("INSERT OVERWRITE t SELECT a, b, v + 1, p FROM t WHERE p = '1'")
      }
      assertRows("t", points(60000, 1).selectExpr("a", "b", "v + int(p = '1') AS v", "p"))
    }
  }
}
