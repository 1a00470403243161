// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.iceberg.DataFile
import org.apache.iceberg.expressions.Expressions
import org.scalatest.tagobjects.Slow

/** OPTIMIZE of Iceberg tables: rows, files, snapshots and the result row. */
class IcebergOptimizeSuite extends IcebergTestBase {
  private val small = "OPTIONS (targetFileSize = '4k')"

  test("one commit lays a table out; a second run makes none; then only new files are rewritten") {
    withTables {
      create("t", files = 3, rows = 1500)
      val row = optimized("t", s"ZORDER BY (a, b) $small")
      val laidOut = files("t")
      assert(metric(row, "numFilesRemoved") === 3)
      assert(metric(row, "numFilesAdded") === laidOut.size)
      assert(metric(row, "numRows") === 1500)
      val commit = table("t").currentSnapshot
      assert(commit.operation === "replace")
      assert(commit.summary.get("zorder-columns") === "a, b")
      val again = sql(s"OPTIMIZE ice.db.t ZORDER BY (a, b) $small").head()
      assert(again.getAs[String]("reason").contains("FULL rewrites them"))
      assert(snapshots("t").size === 2)
      numbers(1500, 1900, 2).writeTo("ice.db.t").append()
      val third = optimized("t", s"ZORDER BY (a, b) $small")
      assert(metric(third, "numFilesRemoved") === 2)
      assert(third.getAs[String]("reason").contains("2 are new"))
      assert(laidOut.map(_.location).toSet.subsetOf(files("t").map(_.location).toSet))
    }
  }

  test("the same on a larger table, without ZORDER BY, and back to an older state", Slow) {
    withTables {
      create("t")
      val row = optimized("t", s"ZORDER BY (a, b) $small")
      val laidOut = files("t")
      assert(metric(row, "numFilesRemoved") === 8)
      assert(metric(row, "numFilesAdded") === laidOut.size)
      assert(metric(row, "numRows") === 8000)
      assert(metric(row, "shuffleBytes") > 0)
      val commit = table("t").currentSnapshot
      assert(commit.operation === "replace")
      assert(commit.summary.get("zorder-columns") === "a, b")

      val again = optimized("t", s"ZORDER BY (a, b) $small")
      assert(again.getAs[String]("reason").contains("FULL rewrites them"))
      assert(metric(again, "numFilesRemoved") === 0)
      // without ZORDER BY, the columns are those of the last run
      assert(optimized("t", small).getAs[String]("reason").contains("laid out by (a, b)"))
      assert(snapshots("t").size === 2)

      numbers(8000, 9000, 2).writeTo("ice.db.t").append()
      val third = optimized("t", s"ZORDER BY (a, b) $small")
      assert(metric(third, "numFilesRemoved") === 2)
      assert(third.getAs[String]("reason").contains("2 are new"))
      assert(laidOut.map(_.location).toSet.subsetOf(files("t").map(_.location).toSet))

      // an older state is still there, and can be current again
      val first = snapshots("t").head.snapshotId
      assert(sql(s"SELECT count(*) FROM ice.db.t VERSION AS OF $first").head().getLong(0) === 8000)
      def described = sql("SHOW LAYOUT ice.db.t").collect().map(_.getAs[String]("column")).toSeq
      assert(described === Seq("a", "b"))
      table("t").manageSnapshots().rollbackTo(first).commit()
      assert(spark.table("ice.db.t").count() === 8000)
      // the layout went with the snapshots of its runs, so SHOW LAYOUT describes all columns
      assert(described === table("t").schema.columns.asScala.map(_.name))
    }
  }

  test("a point query reads the ideal share of the files by Iceberg's own pruning", Slow) {
    withTables {
      create("t", rows = 40000, files = 4)
      // few columns have bounds by the table's own wish; a layout without bounds would be of no use
      sql("ALTER TABLE ice.db.t SET TBLPROPERTIES ('write.metadata.metrics.default' = 'none')")
      val row = optimized("t", "FULL ZORDER BY (a, b) OPTIONS (targetFileSize = '8k')")
      val all = files("t").size
      // the files are not a square number, so that one column has more cuts than the other
      val read = for { c <- Seq("a", "b"); v <- 0 until 1000 by 20 } yield {
        val scan = table("t").newScan().filter(Expressions.equal(c, v)).planFiles()
        try scan.asScala.size
        finally scan.close()
      }
      val mean = read.sum.toDouble / read.size
      assert(mean <= 1.1 * math.sqrt(all), s"$mean of $all files")
      row.getSeq[org.apache.spark.sql.Row](2).foreach { gain =>
        assert(gain.getAs[Double]("filesPerPointQueryBefore") > 3.9)
      }
      val layout = sql("SHOW LAYOUT ice.db.t").collect()
      assert(layout.map(_.getString(0)).toSeq === Seq("a", "b"))
      assert(layout.map(_.getAs[Double]("excess")).sum / 2 <= 1.1)
    }
  }

  test("the files of a shuffle go when the write fails", Slow) {
    withTables {
      create("t")
      // known to the task alone, when the shuffle is written
      sql(
        "ALTER TABLE ice.db.t SET TBLPROPERTIES ('write.parquet.compression-codec' = 'none such')")
      val rows = bag(spark.table("ice.db.t"))
      failingWrite(sql(s"OPTIMIZE TABLE ice.db.t ZORDER BY (a, b) $small").collect())
      assert(bag(spark.table("ice.db.t")) === rows)
      assert(orphans("t") === Set())
    }
  }

  for ((by, tags) <- Seq(
      Seq("(bin, j, n.y)") -> Nil,
      Seq("(j, f)", "(n.x, `new col`, d)", "ts", "(bin, j, n.y)") -> Seq(Slow))) test(
    "NULL, NaN and nested values; columns that were added, renamed, dropped and widened: " +
      by.mkString(", "),
    tags: _*) {
    withTables {
      sql("""CREATE TABLE ice.db.t (id BIGINT, i INT, f FLOAT, gone STRING, n STRUCT<x: INT, y: STRING>,
        l ARRAY<INT>, m MAP<STRING, INT>, d DECIMAL(9, 2), ts TIMESTAMP, bin BINARY) USING iceberg""")
      def insert(from: Int, i: String, columns: String): Unit = spark.range(from, from + 200, 1, 2)
        .selectExpr(
          Seq(
            "id",
            s"if(id % 7 = 0, null, $i)",
            "CASE WHEN id % 5 = 0 THEN float('NaN') WHEN id % 5 = 1 THEN null ELSE float(id) END") ++
            columns.split(";"): _*)
        .createOrReplaceTempView("more")
      val rest =
        "if(id % 3 = 0, null, named_struct('x', int(id), 'y', string(id)));array(int(id), null);" +
          "map('k', int(id));cast(id as decimal(9, 2));timestamp_micros(id);cast(string(id) as binary)"
      insert(0, "int(id)", s"string(id);$rest")
      sql("INSERT INTO ice.db.t SELECT * FROM more")
      sql("ALTER TABLE ice.db.t DROP COLUMN gone")
      sql("ALTER TABLE ice.db.t ALTER COLUMN i TYPE BIGINT")
      sql("ALTER TABLE ice.db.t RENAME COLUMN i TO j")
      sql("ALTER TABLE ice.db.t ALTER COLUMN d TYPE DECIMAL(12, 2)")
      sql("ALTER TABLE ice.db.t ADD COLUMN `new col` STRING")
      sql("ALTER TABLE ice.db.t ADD COLUMN n.z INT AFTER x")
      insert(
        200,
        "shiftleft(bigint(id), 40)",
        "if(id % 3 = 0, null, named_struct('x', int(id), 'z', 1, 'y', string(id)));" +
          rest.split(";").drop(1).mkString(";") + ";string(id)")
      sql("INSERT INTO ice.db.t SELECT * FROM more")
      for (columns <- by) {
        val row = optimized("t", s"ZORDER BY $columns OPTIONS (targetFileSize = '3k')")
        assert(metric(row, "numRows") === 400)
      }
      // the columns of the layout are known by their ids
      sql("ALTER TABLE ice.db.t RENAME COLUMN j TO k")
      val again = optimized("t", "ZORDER BY (bin, k, n.y) OPTIONS (targetFileSize = '3k')")
      assert(metric(again, "numFilesRemoved") === 0)
    }
  }

  test("partitions with NULL and special names, of several specs, in batches with a commit each") {
    withTables {
      sql("""CREATE TABLE ice.db.t (id BIGINT, a INT, b INT, p STRING) USING iceberg
        PARTITIONED BY (p, bucket(2, a))""")
      val parts = Seq("null", "'x/y=z %'", "'null'", "'é'").mkString("array(", ", ", ")")
      def insert(from: Int): Unit = spark.range(from, from + 1000, 1, 2).selectExpr(
        "id",
        "int(pmod(hash(id), 100)) a",
        "int(pmod(hash(id, 7), 100)) b",
        s"element_at($parts, int(id % 4) + 1) p").sortWithinPartitions("p")
        .createOrReplaceTempView("more")
      insert(0)
      sql("INSERT INTO ice.db.t SELECT * FROM more")
      table("t").updateSpec().removeField("p").commit()
      insert(1000)
      sql("INSERT INTO ice.db.t SELECT * FROM more")
      val commits = snapshots("t").size
      def values(f: DataFile) =
        (0 until f.partition.size).map(i => Option(f.partition.get(i, classOf[Object])))
      def byPartition = files("t").groupBy(f => (f.specId, values(f)))
        .map { case (p, own) => p -> own.map(_.recordCount).sum }
      val before = byPartition
      val row =
        optimized("t", "ZORDER BY (a, b) OPTIONS (targetFileSize = '2k', batchSize = '12k')")
      assert(byPartition === before)
      assert(metric(row, "numRows") === 2000)
      assert(metric(row, "partitionsOptimized") === before.size)
      val made = snapshots("t").drop(commits)
      assert(metric(row, "numBatches") === made.size)
      assert(made.size > 2)
      assert(made.map(_.summary.get("zorder-run")).distinct.size === 1)
      assert(metric(
        optimized("t", "ZORDER BY (a, b) OPTIONS (targetFileSize = '2k')"),
        "numFilesRemoved") === 0)
    }
  }

  test("DRY RUN writes nothing; WHERE chooses files; EXPLAIN names the command", Slow) {
    withTables {
      create("t", "PARTITIONED BY (p)", files = 2)
      val dry = optimized("t", s"ZORDER BY (a, b) $small DRY RUN")
      assert(dry.getAs[Boolean]("dryRun"))
      assert(metric(dry, "numFilesAdded") > 4)
      assert(snapshots("t").size === 1)
      assert(orphans("t").isEmpty)
      val some = optimized("t", s"WHERE p = 1 AND t.id >= 0 ZORDER BY (a, b) $small")
      assert(metric(some, "partitionsOptimized") === 1)
      assert(metric(some, "numRows") === 2000)
      val between = optimized("t", s"FULL WHERE p BETWEEN 1 AND 1 ZORDER BY (a, b) $small DRY RUN")
      assert(metric(between, "numFilesRemoved") === metric(some, "numFilesAdded"))
      val none = optimized("t", "WHERE p = 9 ZORDER BY (a, b)")
      assert(none.getAs[String]("reason") === "WHERE chooses no data files")
      fails("ZORDER_PREDICATE_NOT_TRANSLATABLE", "hash") {
        sql("OPTIMIZE TABLE ice.db.t WHERE hash(a) = 1 ZORDER BY (a, b)")
      }
      fails("ZORDER_COLUMN_IS_PARTITION_COLUMN", "`p`") {
        sql("OPTIMIZE TABLE ice.db.t ZORDER BY (a, p)")
      }
      // a directory that no catalog manages is a table, too
      val before = bag(spark.table("ice.db.t"))
      sql(s"OPTIMIZE '$warehouse/db/t' WHERE p = 2 ZORDER BY (a, b) $small").collect()
      assert(table("t").currentSnapshot.operation === "replace")
      assert(bag(spark.table("ice.db.t")) === before)
      val plan =
        sql(s"EXPLAIN OPTIMIZE TABLE ice.db.t ZORDER BY (a, b) DRY RUN").head().getString(0)
      assert(plan.contains("Optimize ice.db.t ZORDER BY (a, b) DRY RUN"))
    }
  }

  test("tables of format version 1, of ORC files, and without rows", Slow) {
    withTables {
      create("v1", "TBLPROPERTIES ('format-version' = '1')", files = 2)
      create("orc", "TBLPROPERTIES ('write.format.default' = 'orc')", files = 2)
      sql("CREATE TABLE ice.db.empty (a INT, b INT) USING iceberg")
      for (name <- Seq("v1", "orc")) {
        assert(metric(optimized(name, s"ZORDER BY (a, b) $small"), "numRows") === 8000)
        assert(metric(optimized(name, s"ZORDER BY (a, b) $small"), "numFilesRemoved") === 0)
        numbers(8000, 8100, 1).writeTo(s"ice.db.$name").append()
        assert(metric(optimized(name, s"ZORDER BY (a, b) $small"), "numFilesRemoved") === 1)
      }
      assert(optimized("empty").getAs[String]("reason") === "there are no data files")
      sql("INSERT INTO ice.db.empty VALUES (1, 2)")
      sql("ALTER TABLE ice.db.empty SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
      deleteWhereEqual("empty", "a", 1)
      assert(optimized("empty").getAs[String]("reason") === "there are no rows")
    }
  }

  test("files whose partition column was dropped are left as they are") {
    withTables {
      create("t", "PARTITIONED BY (p)", files = 1, rows = 100)
      table("t").updateSpec().removeField("p").commit()
      sql("ALTER TABLE ice.db.t DROP COLUMN p")
      numbers(100, 200, 2).drop("p").writeTo("ice.db.t").append()
      val row = optimized("t")
      assert(metric(row, "numFilesRemoved") === 2)
      assert(row.getAs[String]("reason").contains("4 files of partitions by a dropped column"))
    }
  }

  test("files of forgotten snapshots are judged by earlier runs and by their bounds", Slow) {
    withTables {
      create("t", files = 4)
      optimized("t", s"ZORDER BY (a, b) $small")
      numbers(8000, 9000, 1).writeTo("ice.db.t").append()
      def expire(): Unit =
        table("t").expireSnapshots().expireOlderThan(Long.MaxValue).retainLast(1).commit()
      // the run's own snapshot is gone: its files overlap little
      expire()
      assert(metric(optimized("t", s"ZORDER BY (a, b) $small"), "numFilesRemoved") === 1)
      optimized("t", "FULL ZORDER BY (a, b)")
      numbers(9000, 9500, 1).writeTo("ice.db.t").append()
      optimized("t")
      // one large file of a forgotten run is remembered by the last run
      expire()
      numbers(9500, 9600, 1).writeTo("ice.db.t").append()
      assert(metric(optimized("t"), "totalFilesSkipped") > 0)
    }
  }

  test(
    "columns whose names differ in case alone; WHERE and ZORDER BY in another case than the table") {
    withTables {
      inConf("spark.sql.caseSensitive" -> "true") {
        numbers(0, 400, 2).selectExpr("id", "a", "a + 1 A", "b").createOrReplaceTempView("more")
        sql("CREATE TABLE ice.db.t USING iceberg AS SELECT * FROM more")
        optimized("t", "ZORDER BY (A, b)")
        assert(table("t").currentSnapshot.summary.get("zorder-columns") === "A, b")
      }
      def rows = inConf("spark.sql.caseSensitive" -> "true")(bag(spark.table("ice.db.t")))
      val before = rows
      // a session that does not tell the columns apart cannot read the table on some lines of Spark
      Try(sql("OPTIMIZE TABLE ice.db.t FULL ZORDER BY (id, b)").collect())
      assert(rows === before)
      create("u", files = 1, rows = 100)
      optimized("u", "WHERE ID >= 0 ZORDER BY (A, b)")
    }
  }
}
