// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import org.scalatest.Tag
import org.scalatest.tagobjects.{Slow => SlowTest}
import org.scalatest.tags.Slow

import org.apache.spark.SparkConf
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.delta.DeltaLog
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.LongType

import io.sparkzorder.{SkippingCounters, ZOrderExtensions}
import io.sparkzorder.index.{FileEntry, IndexContent, LeafColumns}
import io.sparkzorder.skipping.predicate.FileBounds
import io.sparkzorder.skipping.scan.RuntimePruningScan
import io.sparkzorder.sources.{
  FileColumnInfo,
  FormatEntries,
  FormatSkipping,
  FormatStarTests,
  OtherWays
}
import io.sparkzorder.table.stats.FileRange
import io.sparkzorder.tpc.ExecutedScans

/** Files of Delta tables pruned by joins, subqueries and lists. */
class DeltaSkippingSuite extends DeltaTestBase with FormatStarTests {
  override protected def starFormat: String = "delta"
  override protected def nameOf(table: String): String = table
  override protected def ways: Seq[(String, String)] = Seq("false" -> "-1")

  // for each change on Iceberg tables alone
  override protected def commonTags: Seq[Tag] = Seq(SlowTest)

  override protected def filesRead(df: DataFrame, table: String): Seq[Long] =
    collectWithSubqueries(df.queryExecution.executedPlan) {
      case s: FileSourceScanExec if s.tableIdentifier.exists(_.table == table) =>
        s.metrics("numFiles").value
    }.sorted

  test("a session's own time zone whose offset has seconds", SlowTest) {
    withStar {
      sql("CREATE TABLE times (k INT, ts TIMESTAMP) USING delta")
      sql("SET TIME ZONE INTERVAL '01:00:30' HOUR TO SECOND")
      try for (month <- 1 to 3) {
          sql(s"INSERT INTO times VALUES ($month, timestamp'2024-0$month-01 10:00:00Z')")
        }
      finally sql("SET TIME ZONE 'UTC'")
      sql("CREATE TABLE asked USING delta AS SELECT timestamp'2024-02-01 10:00:00Z' ts")
      allWays {
        for (query <- Seq(
            "SELECT k FROM times t JOIN asked d ON t.ts = d.ts",
            "SELECT k FROM times WHERE date_trunc('SECOND', ts) = timestamp'2024-02-01 10:00:00Z'",
            "SELECT k FROM times WHERE date_trunc('MINUTE', ts) = timestamp'2024-02-01 10:00:00Z'")) {
          assert(sql(query).collect().map(_.getInt(0)) === Array(2), query)
        }
      }
    }
  }

  test("keys of a join choose the files, beside deletion vectors and column mapping") {
    withOwnTables {
      sql("CREATE TABLE fact USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', " +
        "'delta.columnMapping.mode' = 'name') AS " +
        "SELECT id, int(id) day, int(id * 7919 % 50) item FROM range(0, 400, 1, 4)")
      sql("CREATE TABLE days USING delta AS SELECT int(id) day, int(id / 100) month " +
        "FROM range(0, 400, 1, 1)")
      val query = "SELECT f.* FROM fact f JOIN days d ON f.day = d.day WHERE month = 3"
      allWays(reads(query, 1))
      sql("DELETE FROM fact WHERE day % 3 = 0 AND day BETWEEN 300 AND 350")
      assert(files("fact").exists(_.deletionVector != null))
      sql("ALTER TABLE fact RENAME COLUMN day TO d0")
      sql("ALTER TABLE fact RENAME COLUMN item TO day")
      val renamed = "SELECT f.* FROM fact f JOIN days d ON f.d0 = d.day WHERE month = 3"
      allWays {
        assert(reads(renamed, 1).count() === 83)
        // day is what item was, which every file has
        reads(query.replace("month = 3", "d.day = 7"), 4)
      }
    }
  }

  test("deletion vectors, column mapping, older versions", SlowTest) {
    withOwnStar {
      sql("ALTER TABLE fact SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', " +
        "'delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '3', " +
        "'delta.minWriterVersion' = '7')")
      val old = version("fact")
      sql("DELETE FROM fact WHERE day % 3 = 0 AND day BETWEEN 300 AND 420")
      assert(files("fact").exists(_.deletionVector != null))
      val query = "SELECT f.* FROM fact f JOIN days d ON f.day = d.day WHERE month = 3"
      allWays {
        assert(sql(query).count() === 66)
        reads(query, 1)
      }
      sql("ALTER TABLE fact RENAME COLUMN day TO d0")
      sql("ALTER TABLE fact RENAME COLUMN item TO day")
      val renamed = "SELECT f.* FROM fact f JOIN days d ON f.d0 = d.day WHERE month = 3"
      allWays(reads(renamed, 1))
      // day is what item was, which every file has
      allWays(reads(query.replace("month = 3", "d.day = 7"), Files))
      allWays {
        val before = query.replace("fact f", s"fact VERSION AS OF $old f")
        assert(sql(before).count() === 100)
        reads(before, 1)
      }
      sql("ALTER TABLE fact DROP COLUMN d0")
      sql("ALTER TABLE fact ADD COLUMN d0 INT")
      sql(
        "INSERT INTO fact (id, day, amount, code, ts, price, d0) SELECT id, item, amount, code, " +
          s"ts, price, int(id) FROM ($factRows) WHERE id IN (310, 311)")
      assert(sql(renamed).count() === 2)
    }
  }

  test("files without known bounds: no word of an index, which a Delta table does not have") {
    withTables {
      sql("CREATE TABLE few USING delta AS SELECT id k FROM range(0, 40, 1, 4)")
      val snapshot = DeltaLog.forTable(spark, TableIdentifier("few")).update()
      val state = (snapshot.metadata.id, snapshot.deltaLog.dataPath.toString, snapshot.version)
      val info = FileColumnInfo(FileRange(0L, 9L), 1L, 1L)
      val leaf = FormatEntries.leaf(Seq("k BIGINT"), LongType, info, 1L)
      val shape = LeafColumns(Seq(Seq("k BIGINT")))
      FormatSkipping.bounds(("delta", state), Set("k BIGINT"), Long.MaxValue) { _ =>
        new FileBounds(
          IndexContent.of(Seq(FileEntry("elsewhere", 1L, 0L, 1L, shape, Seq(leaf)))))
      }
      val before = SkippingCounters.filesWithoutEntry
      val log = new LogAppender("skipping")
      val df = sql("SELECT * FROM few WHERE k IN (3, 35)")
      withLogAppender(log)(assert(df.collect().map(_.getLong(0)).sorted === Array(3L, 35L)))
      val unknown = collectWithSubqueries(df.queryExecution.executedPlan) {
        case s: RuntimePruningScan => s.metrics(RuntimePruningScan.NoEntry).value
      }
      assert(unknown.sum > 0)
      assert(SkippingCounters.filesWithoutEntry === before)
      val lines = log.loggingEvents.map(_.getMessage.getFormattedMessage)
      assert(!lines.exists(_.contains("ZORDER INDEX")), lines)
    }
  }

  test(
    "old times in zones whose offsets have seconds, and partitions that are generated from times",
    SlowTest) {
    withTables {
      withSQLConf(
        "spark.sql.session.timeZone" -> "Asia/Shanghai",
        "spark.sql.parquet.datetimeRebaseModeInWrite" -> "CORRECTED",
        "spark.sql.parquet.int96RebaseModeInWrite" -> "CORRECTED") {
        sql("CREATE TABLE olds USING delta AS SELECT TIMESTAMP'1900-01-01 00:00:00' ts, 1 n")
        sql("INSERT INTO olds SELECT TIMESTAMP'2020-01-01 00:00:00', 2")
        sql("CREATE TABLE times USING delta AS SELECT ts k, n FROM olds")
        allWays {
          assert(
            sql("SELECT o.* FROM olds o JOIN times d ON o.ts = d.k WHERE d.n = 1").count() === 1)
          assert(sql("SELECT * FROM olds WHERE year(ts) = 1900").count() === 1)
        }
      }
      io.delta.tables.DeltaTable.create(spark).tableName("dated").addColumn("ts", "TIMESTAMP")
        .addColumn(io.delta.tables.DeltaTable.columnBuilder(spark, "day").dataType("DATE")
          .generatedAlwaysAs("CAST(ts AS DATE)").build())
        .partitionedBy("day").execute()
      withSQLConf("spark.sql.session.timeZone" -> "UTC") {
        sql("INSERT INTO dated (ts) SELECT TIMESTAMP'2021-12-31 16:30:00'")
      }
      withSQLConf("spark.sql.session.timeZone" -> "Asia/Shanghai") {
        assert(sql("SELECT * FROM dated WHERE year(ts) = 2022").count() === 1)
      }
    }
  }

  test("MERGE reads the whole target") {
    withOwnTables {
      sql("CREATE TABLE fact USING delta AS SELECT id, int(id) day, id * 2 amount " +
        "FROM range(0, 400, 1, 4)")
      sql("CREATE TABLE changes USING delta AS SELECT id, day, -1L amount FROM fact " +
        "WHERE day BETWEEN 310 AND 315")
      val read = ExecutedScans.during(SparkLine.session(spark), Map("fact" -> ((4, 0L)))) {
        sql("MERGE INTO fact t USING changes s ON t.id = s.id AND t.day = s.day " +
          "WHEN MATCHED THEN UPDATE SET amount = s.amount")
      }._2.map(_.files)
      assert(read.max === 4)
      assert(
        sql("SELECT count(*), count_if(amount = -1) FROM fact").head().toSeq === Seq(400L, 6L))
    }
  }

  test("MERGE reads the whole target, or what literals in its condition leave", SlowTest) {
    withOwnStar {
      sql("CREATE TABLE changes USING delta AS SELECT id, day, -1L amount FROM fact " +
        "WHERE day BETWEEN 310 AND 315")
      def filesOfMerge(condition: String): Seq[Long] =
        ExecutedScans.during(SparkLine.session(spark), Map("fact" -> ((Files, 0L)))) {
          sql(s"MERGE INTO fact t USING changes s ON $condition " +
            "WHEN MATCHED THEN UPDATE SET amount = s.amount")
        }._2.map(_.files)
      assert(filesOfMerge("t.id = s.id AND t.day = s.day").max === Files)
      assert(
        filesOfMerge("t.id = s.id AND t.day = s.day AND t.day BETWEEN 310 AND 315").max === 1)
      assert(sql("SELECT count(*) FROM fact WHERE amount = -1").head().getLong(0) === 6)
      assert(sql("SELECT count(*) FROM fact").head().getLong(0) === 1600)
    }
  }

  test("partitions, and Spark's own pruning beside ours", SlowTest) {
    withStar {
      sql(
        "CREATE TABLE parts USING delta PARTITIONED BY (p) AS SELECT *, int(day / 400) p FROM fact")
      val query = "SELECT f.* FROM parts f JOIN (SELECT *, int(month / 4) p FROM days) d " +
        "ON f.p = d.p AND f.day = d.day WHERE month = 3"
      allWays {
        val expected = withoutDynamic(bag(sql(query)))
        assert(bag(sql(query)) === expected)
      }
    }
  }
}

/** The same where Delta's extension comes first; the order of extensions is [[DeltaFirstSuite]]'s, too. */
@Slow
class DeltaFirstSkippingSuite extends DeltaSkippingSuite with OtherWays {
  override protected def codegen: Boolean = true

  override protected def sparkConf: SparkConf = super.sparkConf.set(
    "spark.sql.extensions",
    s"io.delta.sql.DeltaSparkSessionExtension,${classOf[ZOrderExtensions].getName}")
}
