// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import io.delta.tables.DeltaTable
import org.scalatest.tags.Slow

import org.apache.spark.sql.Row

/** Features of Delta tables that a rewrite must keep. */
@Slow
class DeltaFeaturesSuite extends DeltaTestBase {
  private val small = "OPTIONS (targetFileSize = '3k')"

  for (mode <- Seq("none", "name", "id")) {
    test(s"NULL, NaN and nested values; columns that were changed; column mapping $mode") {
      withTables {
        sql(s"""CREATE TABLE t (id BIGINT, i INT, f FLOAT, gone STRING, n STRUCT<x: INT, y: STRING>,
          l ARRAY<INT>, m MAP<STRING, INT>, d DECIMAL(12, 2), ts TIMESTAMP, bin BINARY) USING delta
          TBLPROPERTIES ('delta.columnMapping.mode' = '$mode')""")
        def insert(from: Int, columns: String): Unit = {
          spark.range(from, from + 200, 1, 2).selectExpr(
            Seq(
              "id",
              "if(id % 7 = 0, null, int(id))",
              "CASE WHEN id % 5 = 0 THEN float('NaN') WHEN id % 5 = 1 THEN null ELSE float(id) END") ++
              columns.split(";"): _*).createOrReplaceTempView("more")
          sql("INSERT INTO t SELECT * FROM more")
        }
        val rest =
          "if(id % 3 = 0, null, named_struct('x', int(id), 'y', string(id)));array(int(id), null);" +
            "map('k', int(id));cast(id as decimal(12, 2));timestamp_micros(id * 1000 + 7);" +
            "cast(string(id) as binary)"
        insert(0, s"string(id);$rest")
        val changed = mode != "none"
        if (changed) {
          sql("ALTER TABLE t DROP COLUMN gone")
          sql("ALTER TABLE t RENAME COLUMN i TO j")
        }
        sql("ALTER TABLE t ADD COLUMN `new_col` STRING")
        sql("ALTER TABLE t ADD COLUMN n.z INT AFTER x")
        insert(
          200,
          (if (changed) "" else "null;") +
            "if(id % 3 = 0, null, named_struct('x', int(id), 'z', 1, 'y', string(id)));" +
            rest.split(";").drop(1).mkString(";") + ";string(id)")
        val i = if (changed) "j" else "i"
        val others = if (mode == "name") Seq(s"($i, f)", "(n.x, new_col, d)", "ts") else Nil
        for (columns <- others :+ s"(ts, $i, n.y)") {
          val row = optimized("t", s"ZORDER BY $columns $small")
          assert(metric(row, "numRows") === 400)
        }
        val again = if (changed) {
          // the columns of the layout are known by their names in the files
          sql("ALTER TABLE t RENAME COLUMN j TO k")
          assert(optimized("t", small).getAs[String]("reason").contains("(ts, k, n.y)"))
          optimized("t", s"ZORDER BY (ts, k, n.y) $small")
        } else optimized("t", s"ZORDER BY (ts, i, n.y) $small")
        assert(metric(again, "numFilesRemoved") === 0)
        // the bounds hold all values
        val each = spark.table("t").selectExpr("id", "ts", "n.x").collect()
        each.filter(_.getLong(0) % 40 == 3).foreach { r =>
          val found = spark.table("t").where(s"ts = timestamp'${r.getTimestamp(1)}'")
          assert(found.select("id").collect().toSeq === Seq(Row(r.getLong(0))))
        }
      }
    }
  }

  test("deletion vectors are applied, and files with many deleted rows are new again") {
    withTables {
      create("t", "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')", files = 2, rows = 4000)
      sql("DELETE FROM t WHERE id % 10 = 3")
      assert(files("t").forall(_.deletionVector != null))
      val row = optimized("t", s"ZORDER BY (a, b) $small")
      assert(metric(row, "numRows") === 3600)
      assert(files("t").forall(_.deletionVector == null))
      assert(bag(spark.table("t")) === bag(numbers(0, 4000, 1).where("id % 10 <> 3")))
      assert(history("t").head.operationMetrics.get("numDeletionVectorsRemoved") === "2")
      // few deletes in a file that is laid out
      val some = spark.table("t").where("a < 3").selectExpr("min(id)").head().getLong(0)
      sql(s"DELETE FROM t WHERE id = $some")
      assert(files("t").count(_.deletionVector != null) === 1)
      assert(metric(optimized("t", s"ZORDER BY (a, b) $small"), "numFilesRemoved") === 0)
      // many deletes
      sql("DELETE FROM t WHERE a < 300 AND id % 2 = 0")
      val marked = files("t").count(_.deletedToPhysicalRecordsRatio.exists(_ > 0.05))
      val next = optimized("t", s"ZORDER BY (a, b) $small")
      assert(metric(next, "numFilesRemoved") >= marked)
      assert(marked > 0)
      // a partition of which all rows are deleted stays as it is
      sql("DELETE FROM t")
      optimized("t", s"FULL ZORDER BY (a, b) $small")
      assert(spark.table("t").isEmpty)
    }
  }

  test("deleted rows take no part in the size of files") {
    withTables {
      create("t", "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')", files = 2, rows = 40000)
      sql("DELETE FROM t WHERE id % 10 >= 2")
      val (stored, target) = (files("t").map(_.size).sum, 16 * 1024)
      // a fifth of the rows is left; small files hold a little more for each row
      val wanted = stored / 5 / target
      val clauses = s"ZORDER BY (a, b) OPTIONS (targetFileSize = '${target}b')"
      val dry = optimized("t", s"$clauses DRY RUN").getAs[Row]("metrics").getAs[Row]("filesAdded")
      assert(dry.getAs[Long]("totalFiles") <= 1.3 * wanted + 1)
      assert(dry.getAs[Long]("totalSize") <= 1.1 * stored / 5)
      assert(metric(optimized("t", clauses), "numFilesAdded") <= 1.3 * wanted + 1)
    }
  }

  test("row tracking keeps ids and versions of rows") {
    withTables {
      create(
        "t",
        "PARTITIONED BY (p) TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
        files = 2,
        rows = 1000)
      append("t", numbers(1000, 1500, 1))
      sql("UPDATE t SET a = 7 WHERE id < 10")
      def rows = bag(spark.table("t").selectExpr(
        "*",
        "_metadata.row_id",
        "_metadata.row_commit_version"))
      val before = rows
      for (columns <- Seq("(a, b)", "(id, s)")) {
        // several commits of one version that was read
        val row = optimized(
          "t",
          s"FULL ZORDER BY $columns OPTIONS (targetFileSize = '3k', batchSize = '6k')")
        assert(metric(row, "numBatches") > 1)
        assert(rows === before)
      }
      append("t", numbers(1500, 1600, 1))
      assert(spark.table("t").select("_metadata.row_id").distinct().count() === 1600)
    }
  }

  test("a table with change data feed tells of no change; constraints and generated columns hold") {
    withTables {
      // Spark 3.5 has no SQL for it
      DeltaTable.create(spark).tableName("t").addColumn("id", "BIGINT").addColumn("a", "INT")
        .addColumn("b", "INT")
        .addColumn(
          DeltaTable.columnBuilder("twice").dataType("BIGINT").generatedAlwaysAs("id * 2").build())
        .addColumn(
          DeltaTable.columnBuilder("n").dataType("BIGINT").generatedAlwaysAsIdentity().build())
        .property("delta.enableChangeDataFeed", "true").execute()
      sql("ALTER TABLE t ADD CONSTRAINT positive CHECK (id >= 0)")
      sql("""INSERT INTO t (id, a, b)
        SELECT id, pmod(hash(id), 1000), pmod(hash(id, 7), 1000) FROM range(0, 1000, 1, 2)""")
      val before = version("t")
      optimized("t", s"ZORDER BY (a, b) $small")
      assert(version("t") === before + 1)
      assert(sql(s"SELECT * FROM table_changes('t', ${before + 1})").isEmpty)
      sql("INSERT INTO t (id, a, b) VALUES (5000, 1, 1)")
      assert(spark.table("t").select("n").distinct().count() === 1001)
      val stream = spark.readStream.option("startingVersion", before + 1).table("t")
      val query = stream.writeStream.format("memory").queryName("seen")
        .option("checkpointLocation", java.nio.file.Files.createTempDirectory("c").toString)
        .trigger(org.apache.spark.sql.streaming.Trigger.AvailableNow()).start()
      query.awaitTermination()
      assert(spark.table("seen").select("id").collect().toSeq === Seq(Row(5000L)))
    }
  }

  test("widened columns") {
    withTables {
      sql("""CREATE TABLE t (id BIGINT, a SMALLINT, b INT) USING delta
        TBLPROPERTIES ('delta.enableTypeWidening' = 'true')""")
      sql("INSERT INTO t SELECT id, id % 100, pmod(hash(id), 100) FROM range(0, 1000, 1, 2)")
      sql("ALTER TABLE t CHANGE COLUMN a TYPE INT")
      sql("INSERT INTO t SELECT id, id * 100, pmod(hash(id), 100) FROM range(1000, 2000, 1, 2)")
      assert(metric(optimized("t", s"ZORDER BY (a, b) $small"), "numRows") === 2000)
      assert(spark.table("t").where("a = 123400").count() === 1)
      assert(spark.table("t").where("a = 99").count() === 10)
    }
  }

  test("files without statistics are counted and rewritten; optimized writes are off") {
    withTables {
      withSQLConf("spark.databricks.delta.stats.collect" -> "false")(create("t", files = 2))
      assert(files("t").forall(_.numLogicalRecords.isEmpty))
      sql("""ALTER TABLE t SET TBLPROPERTIES ('delta.autoOptimize.optimizeWrite' = 'true',
        'delta.autoOptimize.autoCompact' = 'true')""")
      val before = version("t")
      val row = inConf("spark.databricks.delta.stats.collect" -> "false") {
        optimized("t", "ZORDER BY (a, b) OPTIONS (targetFileSize = '8k')")
      }
      assert(metric(row, "numRows") === 8000)
      assert(metric(row, "numFilesAdded") > 4)
      assert(files("t").forall(_.numLogicalRecords.isDefined))
      assert(version("t") === before + 1)
    }
  }
}
