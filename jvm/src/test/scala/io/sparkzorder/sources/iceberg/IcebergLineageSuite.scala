// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import scala.collection.JavaConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.IntegerType

import io.sparkzorder.table.OrderingColumn

/** Rows of tables of format version 3 keep their ids, or the table is refused. */
class IcebergLineageSuite extends IcebergTestBase {
  private val small = "OPTIONS (targetFileSize = '4k')"

  private def lineage(name: String, where: String = "true"): Map[Any, Int] =
    lineage(spark.table(s"ice.db.$name").where(where))

  private def lineage(rows: DataFrame): Map[Any, Int] =
    bag(rows.select("id", "_row_id", "_last_updated_sequence_number"))

  test("row ids and their sequence numbers stay in a table of format version 3") {
    withTables {
      create(
        "t",
        "TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read')",
        files = 2)
      sql("DELETE FROM ice.db.t WHERE id % 10 = 3")
      assert(files("t").size === 2, "the rows were deleted beside the files")
      val before = lineage("t")
      val row = optimized("t", s"ZORDER BY (a, b) $small")
      assert(metric(row, "numRows") === 7200)
      assert(lineage("t") === before)
      assert(!spark.table("ice.db.t").filter(col("id") === 13).head(1).nonEmpty)
      val scan = table("t").newScan().planFiles()
      try assert(scan.asScala.forall(_.deletes.isEmpty))
      finally scan.close()
    }
  }

  test("row ids stay beside nested columns") {
    withTables {
      // Iceberg reads such columns row by row
      sql("""CREATE TABLE ice.db.t (id BIGINT, a INT, b INT, l ARRAY<STRUCT<x: BIGINT>>,
        m MAP<STRING, BIGINT>) USING iceberg TBLPROPERTIES ('format-version' = '3')""")
      for (from <- Seq(0, 1000)) {
        numbers(from, from + 1000, 2)
          .selectExpr("id", "a", "b", "array(named_struct('x', id)) l", "map('k', id) m")
          .writeTo("ice.db.t").append()
      }
      val before = lineage("t")
      assert(before.size === 2000)
      for (columns <- Seq("(a, b)", "(b, id)")) {
        val row = optimized("t", s"ZORDER BY $columns $small")
        assert(metric(row, "numFilesRemoved") > 1)
        assert(lineage("t") === before)
      }
    }
  }

  test("files of a later batch that are refused are refused before the first batch") {
    withTables {
      create("t", "PARTITIONED BY (p) TBLPROPERTIES ('format-version' = '3')", 1, 400)
      sql("ALTER TABLE ice.db.t SET TBLPROPERTIES ('write.format.default' = 'orc')")
      numbers(400, 800, 1).where("p = 3").writeTo("ice.db.t").append()
      sql("ALTER TABLE ice.db.t SET TBLPROPERTIES ('write.format.default' = 'parquet')")
      for (end <- Seq(" DRY RUN", "")) {
        fails("ZORDER_UNSUPPORTED_TABLE", "ORC", "row ids") {
          sql(s"OPTIMIZE TABLE ice.db.t ZORDER BY (a, b) OPTIONS (batchSize = '1k')$end").collect()
        }
        assert(snapshots("t").size === 2)
      }
      val parquet = optimized("t", "WHERE p < 3 ZORDER BY (a, b) OPTIONS (batchSize = '1k')")
      assert(metric(parquet, "numBatches") > 1)
    }
  }

  test("tables with row ids and files that are not Parquet are refused") {
    withTables {
      val three = "'format-version' = '3'"
      create("all", s"TBLPROPERTIES ($three, 'write.format.default' = 'orc')", 2, 100)
      create("read", s"TBLPROPERTIES ($three, 'write.format.default' = 'avro')", 2, 100)
      sql("ALTER TABLE ice.db.read SET TBLPROPERTIES ('write.format.default' = 'parquet')")
      create("written", s"TBLPROPERTIES ($three)", 2, 100)
      sql("ALTER TABLE ice.db.written SET TBLPROPERTIES ('write.format.default' = 'orc')")
      for {
        (name, format) <- Seq("all" -> "ORC", "read" -> "AVRO", "written" -> "ORC")
        end <- Seq("DRY RUN", "")
      } {
        val before = lineage(name)
        fails("ZORDER_UNSUPPORTED_TABLE", format, "row ids") {
          sql(s"OPTIMIZE TABLE ice.db.$name ZORDER BY (a, b) $small $end").collect()
        }
        assert(lineage(name) === before)
        assert(snapshots(name).size === 1)
        assert(orphans(name).isEmpty)
      }
    }
  }

  private val old = "TBLPROPERTIES ('format-version' = '2')"
  private val batches = Map("batchSize" -> "1k")

  private def upgrade(name: String): Unit = {
    val _ = sql(s"ALTER TABLE ice.db.$name SET TBLPROPERTIES ('format-version' = '3')")
  }

  test(
    "the ids that the first batch gives to the rows of an upgraded table stay in later batches") {
    withTables {
      create("before", s"PARTITIONED BY (p) $old", files = 2, rows = 400)
      upgrade("before")
      create("within", s"PARTITIONED BY (p) $old", files = 2, rows = 400)
      for (name <- Seq("before", "within")) {
        var commits = 0
        var known = Map.empty[Any, Int]
        optimizeWith(name, table(name), batches) {
          commits += 1
          if (commits == 1 && name == "within") upgrade(name)
          if (commits == 2) known = lineage(name)
        }
        assert(commits > 2)
        assert(known.size === 400)
        assert(lineage(name) === known, name)
        assert(bag(spark.table(s"ice.db.$name")) === bag(numbers(0, 400, 1)))
      }
    }
  }

  test("another writer gives ids to the rows of an upgraded table before the commit: a conflict") {
    withTables {
      create("before", old, files = 2, rows = 400)
      upgrade("before")
      create("within", old, files = 2, rows = 400)
      for (name <- Seq("before", "within")) {
        var known = Map.empty[Any, Int]
        fails("ZORDER_CONFLICT", "ids") {
          optimizeWith(name, table(name)) {
            if (name == "within") upgrade(name)
            numbers(400, 500, 1).writeTo(s"ice.db.$name").append()
            known = lineage(name)
          }
        }
        assert(lineage(name) === known)
        assert(orphans(name).isEmpty)
        assert(metric(optimized(name, s"ZORDER BY (a, b) $small"), "numRows") === 500)
        assert(lineage(name) === known)
      }
    }
  }

  test("rows of an upgraded table that got ids since the listing are read with the ids") {
    withTables {
      create(
        "t",
        "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')",
        files = 2,
        rows = 400)
      upgrade("t")
      val session = SparkLine.session(spark)
      def listed = new IcebergFormat(table("t"), "ice.db.t", isNamed = true)
        .snapshot(Seq(OrderingColumn(Seq("a"), IntegerType)), None)
      val (first, second) = (listed, listed)
      numbers(400, 500, 1).writeTo("ice.db.t").append()
      val rows = first.rows(session, first.files)
      try {
        assert(rows.folders === first.files.map(_.folder).distinct)
        val now = rows.frame
        assert(lineage(now) === lineage("t", "id < 400"))
        assert(now.where("_row_id IS NULL").count() === 0)
      } finally rows.close()
      sql("DELETE FROM ice.db.t WHERE id = 3")
      fails("ZORDER_CONFLICT", "deleted")(second.rows(session, second.files))
    }
  }
}
