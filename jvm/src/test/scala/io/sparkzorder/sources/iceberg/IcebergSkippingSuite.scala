// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import org.scalatest.tagobjects.{Slow => SlowTest}
import org.scalatest.tags.Slow

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import io.sparkzorder.skipping.scan.{FormatScanExec, RuntimePruningScan}
import io.sparkzorder.sources.{FormatStarTests, OtherWays}

/** Files of Iceberg tables pruned by joins and subqueries. */
class IcebergSkippingSuite extends IcebergTestBase with FormatStarTests {
  override protected def codegen: Boolean = true
  override protected def starFormat: String = "iceberg"
  override protected def nameOf(table: String): String = s"ice.db.$table"
  override protected def ways: Seq[(String, String)] = Seq("true" -> "10485760")

  private def paths(scan: BatchScanExec): Long =
    scan.inputPartitions.flatMap(new IcebergSkipping.Tasks(_).sizes).distinct.size

  override protected def filesRead(df: DataFrame, table: String): Seq[Long] =
    collectWithSubqueries(df.queryExecution.executedPlan) {
      case s: FormatScanExec if s.table.name.endsWith(s".$table") =>
        assert(s.metrics(RuntimePruningScan.Total).value === paths(s.inner))
        s.metrics(RuntimePruningScan.Kept).value
      case s: BatchScanExec if s.table.name.endsWith(s".$table") => paths(s)
    }.sorted

  test(
    "imported files with times in milliseconds, of which Iceberg takes the bounds for microseconds") {
    // Spark 3.5 reads CALL by Iceberg's extension, which this session does not have
    assume(spark.version >= "4.0")
    withTable("src") {
      withStar {
        inConf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MILLIS") {
          sql("CREATE TABLE src USING parquet AS SELECT id, " +
            "timestamp_seconds(1704067200 + id * 3600) ts FROM range(0, 8000, 1, 8)")
        }
        sql("CREATE TABLE ice.db.imported (id BIGINT, ts TIMESTAMP) USING iceberg")
        sql("CALL ice.system.add_files(table => 'db.imported', " +
          "source_table => 'spark_catalog.default.src')")
        sql("CREATE TABLE ice.db.asked USING iceberg AS SELECT timestamp_seconds(1704085200) ts")
        def count(query: String) = sql(query).head().getLong(0)
        allWays {
          assert(count(
            "SELECT count(*) FROM ice.db.imported f JOIN ice.db.asked d ON f.ts = d.ts") === 1)
          assert(count("SELECT count(*) FROM ice.db.imported WHERE year(ts) < 2030") === 8000)
          assert(count("SELECT count(*) FROM ice.db.imported WHERE year(ts) > 2000") === 8000)
        }
      }
    }
  }

  test("keys of a join choose the files, beside delete files and renamed columns") {
    withOwnTables {
      sql(s"CREATE TABLE $fact USING iceberg TBLPROPERTIES ('format-version' = '2', " +
        "'write.delete.mode' = 'merge-on-read') AS " +
        "SELECT id, int(id) day, int(id * 7919 % 50) item FROM range(0, 400, 1, 4)")
      sql(s"CREATE TABLE $days USING iceberg AS SELECT int(id) day, int(id / 100) month " +
        "FROM range(0, 400, 1, 1)")
      sql(s"DELETE FROM $fact WHERE day % 3 = 0 AND day BETWEEN 300 AND 350")
      deleteWhereEqual("fact", "id", 301L)
      sql(s"ALTER TABLE $fact RENAME COLUMN day TO d0")
      sql(s"ALTER TABLE $fact RENAME COLUMN item TO day")
      val query = s"SELECT f.* FROM $fact f JOIN $days d ON f.d0 = d.day WHERE month = 3"
      allWays {
        assert(reads(query, 1).count() === 82)
        // day is what item was, which every file has
        reads(query.replace("f.d0 = d.day WHERE month = 3", "f.day = d.day WHERE d.day = 7"), 4)
      }
    }
  }

  test(
    "delete files, columns that were renamed, dropped, widened and added, older states",
    SlowTest) {
    withOwnStar {
      sql(s"ALTER TABLE $fact SET TBLPROPERTIES ('format-version' = '2', " +
        "'write.delete.mode' = 'merge-on-read')")
      val old = table("fact").currentSnapshot.snapshotId
      sql(s"DELETE FROM $fact WHERE day % 3 = 0 AND day BETWEEN 300 AND 420")
      deleteWhereEqual("fact", "id", 301L)
      val query = s"SELECT f.* FROM $fact f JOIN $days d ON f.day = d.day WHERE month = 3"
      allWays(reads(query, 1))
      sql(s"ALTER TABLE $fact RENAME COLUMN day TO d0")
      sql(s"ALTER TABLE $fact RENAME COLUMN item TO day")
      val renamed = s"SELECT f.* FROM $fact f JOIN $days d ON f.d0 = d.day WHERE month = 3"
      allWays(reads(renamed, 1))
      // day is what item was, which every file has
      allWays(reads(query.replace("month = 3", "d.day = 7"), Files))
      allWays(reads(query.replace(fact, s"$fact VERSION AS OF $old"), 1))
      sql(s"ALTER TABLE $fact ALTER COLUMN d0 TYPE BIGINT")
      allWays(reads(renamed, 1))
      sql(s"ALTER TABLE $fact DROP COLUMN d0")
      sql(s"ALTER TABLE $fact ADD COLUMN d0 INT")
      sql(s"INSERT INTO $fact SELECT id, item, amount, code, ts, price, int(id) FROM " +
        s"($factRows) WHERE id IN (310, 311)")
      // older files lack the column, and nothing is known of them
      assert(sql(renamed).count() === 2)
    }
  }

  test("partitions by transforms, and Spark's own pruning beside ours") {
    withStar {
      sql(s"CREATE TABLE ice.db.parts USING iceberg PARTITIONED BY (p, bucket(3, item)) AS " +
        s"SELECT *, int(day / 400) p FROM $fact")
      val query =
        s"SELECT f.* FROM ice.db.parts f JOIN (SELECT *, int(month / 4) p FROM $days) d " +
          "ON f.p = d.p AND f.day = d.day WHERE month = 3"
      allWays {
        val expected = withoutDynamic(bag(sql(query)))
        val df = sql(query)
        assert(bag(df) === expected)
      }
    }
  }
}

@Slow
class IcebergOtherWaysSuite extends IcebergSkippingSuite with OtherWays
