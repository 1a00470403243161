// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import org.scalatest.tagobjects.Slow

import io.sparkzorder.ZOrderTable

/** Ways to name a table of a format, clauses of OPTIMIZE, and many partitions; the same for each format. */
trait FormatStatementTests extends TableOfFormat { this: FormatTestBase =>

  common("ZOrderTable by name and by path") {
    onTable() {
      val rows = bag(t)
      val byName = ZOrderTable.forName(spark, named).optimize().option("targetFileSize", "4k")
        .executeZOrderBy("a", "b").head()
      assert(metric(byName, "numRows") === 8000)
      assert(commits === 1)
      val byPath = ZOrderTable.forPath(spark, directory.toString).optimize()
        .option("targetFileSize", "4k")
      assert(metric(byPath.executeZOrderBy("a", "b").head(), "numFilesAdded") === 0)
      assert(commits === 1)
      assert(bag(t) === rows)
    }
  }

  common("DRY RUN predicts what a run then does, and commits nothing") {
    onTable("PARTITIONED BY (p)") {
      val statement = s"OPTIMIZE TABLE $named WHERE p < 2 ZORDER BY (a, b) $small"
      val plan = sql(s"$statement DRY RUN").head()
      assert(commits === 0)
      assert(plan.getAs[Boolean]("dryRun"))
      val done = sql(statement).head()
      assert(commits === 1)
      for (m <- Seq("numFilesAdded", "numFilesRemoved", "partitionsOptimized", "numRows"))
        assert(metric(plan, m) === metric(done, m), m)
      assert(metric(done, "partitionsOptimized") === 2)
      val predicted = gains(plan).map(_.getDouble(2)).zip(gains(done).map(_.getDouble(2)))
      assert(predicted.forall { case (p, d) => math.abs(p - d) <= 0.2 * d + 0.5 }, predicted)
    }
  }

  common("WHERE that chooses nothing that a file could decide") {
    onTable("PARTITIONED BY (p)") {
      for (where <- Seq(
          "true",
          "1 = 2",
          "rand() < 0.5",
          "input_file_name() LIKE '%a%'",
          "p = 1 AND rand() < 0.5",
          "p IN (SELECT 1)",
          "EXISTS (SELECT 1)");
        end <- Seq("", "DRY RUN")) {
        fails("ZORDER_PREDICATE_NOT_TRANSLATABLE")(
          sql(s"OPTIMIZE TABLE $named WHERE $where ZORDER BY (a, b) $end"))
      }
      assert(commits === 0)
      assert(metric(
        sql(s"OPTIMIZE TABLE $named WHERE 1 = 1 AND $named.p = 1 ZORDER BY (a, b) $small DRY RUN")
          .head(),
        "partitionsOptimized") === 1)
    }
  }

  common("SHOW LAYOUT without a layout, and with a property that names no columns") {
    onTable("PARTITIONED BY (p)") {
      // files of Iceberg hold their partition columns
      def columns = sql(s"SHOW LAYOUT $named").collect().map(_.getString(0)).toSeq
        .filterNot(_ == "p" && format == "iceberg")
      assert(columns === Seq("id", "a", "b", "s"))
      sql(s"ALTER TABLE $named SET TBLPROPERTIES ('zorder.columns' = 'a b')")
      assert(columns === Seq("id", "a", "b", "s"))
    }
  }

  common("a new table takes the columns of OPTIMIZE as a property, and no declared order") {
    onTable() {
      sql(s"DROP TABLE $named")
      sql(s"""CREATE TABLE $named USING $format TBLPROPERTIES ('zorder.columns' = 'a, b') AS
        SELECT id, pmod(hash(id), 1000) a, pmod(hash(id, 7), 1000) b FROM range(0, 4000, 1, 2)""")
      val rows = bag(t)
      assert(metric(sql(s"OPTIMIZE TABLE $named $small").head(), "numRows") === 4000)
      assert(bag(t) === rows)
      for (order <- Seq("(a)", "ZORDER (a, b)", "ZORDER AUTO"))
        assert(
          intercept[Exception] {
            sql(s"CREATE TABLE ${named}2 (a INT, b INT) USING $format SORT BY $order")
          }.getMessage.contains("ZORDER_SORT_BY_UNSUPPORTED"),
          order)
      assert(bag(t) === rows)
    }
  }

  common("timestamps keep their microseconds, whatever the session writes") {
    onTable() {
      sql(s"DROP TABLE $named")
      sql(s"""CREATE TABLE $named USING $format AS
        SELECT id, id % 10 a, timestamp_micros(id * 1000 + 7) ts FROM range(0, 4000, 1, 2)""")
      val rows = bag(t)
      withSQLConf(
        "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MILLIS",
        "spark.databricks.delta.table.parquetV2.timestampOutputType" -> "TIMESTAMP_MILLIS") {
        assert(metric(sql(s"OPTIMIZE TABLE $named ZORDER BY (id, a) $small").head(), "numRows") ===
          4000)
      }
      assert(bag(t) === rows)
    }
  }

  test("1,000 partitions in batches", Slow) {
    onTable(rows = 1) {
      sql(s"DROP TABLE $named")
      sql(s"""CREATE TABLE $named USING $format PARTITIONED BY (p) AS
        SELECT id, pmod(hash(id), 1000) a, pmod(hash(id, 7), 1000) b, id % 1000 p
        FROM range(0, 4000, 1, 1)""")
      sql(s"INSERT INTO $named SELECT id, id, id, id % 1000 FROM range(4000, 6000, 1, 1)")
      val rows = bag(t)
      val row = sql(s"OPTIMIZE TABLE $named ZORDER BY (a, b) OPTIONS (batchSize = '1m')").head()
      assert(metric(row, "partitionsOptimized") === 1000, row)
      assert(metric(row, "numFilesRemoved") === 2000)
      assert(metric(row, "numFilesAdded") === 1000)
      assert(commits === metric(row, "numBatches") && commits > 1)
      assert(bag(t) === rows)
      val versions = allCommits
      val again = sql(s"OPTIMIZE TABLE $named ZORDER BY (a, b) OPTIONS (batchSize = '1m')").head()
      assert(metric(again, "numFilesRemoved") === 0, again)
      assert(allCommits === versions)
    }
  }
}
