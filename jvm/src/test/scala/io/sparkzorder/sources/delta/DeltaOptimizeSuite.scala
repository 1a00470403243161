// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import java.io.File
import java.nio.file.{Files, StandardCopyOption}
import java.util.TimeZone

import org.scalatest.tagobjects.Slow

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.delta.DeltaOperations

/** OPTIMIZE of Delta tables: rows, files, versions and the result row. */
class DeltaOptimizeSuite extends DeltaTestBase {
  private val small = "OPTIONS (targetFileSize = '4k')"

  // for each change on an Iceberg table: new files, and older versions
  test("one commit lays a table out, and a second run makes none") {
    withTables {
      create("t", files = 3, rows = 1500)
      val row = optimized("t", s"ZORDER BY (a, b) $small")
      val laidOut = files("t")
      assert(metric(row, "numFilesRemoved") === 3)
      assert(metric(row, "numFilesAdded") === laidOut.size)
      assert(laidOut.size > 3)
      assert(metric(row, "numRows") === 1500)
      val commit = history("t").head
      assert(commit.operation === "OPTIMIZE")
      assert(commit.operationParameters("zOrderBy") === """["a","b"]""")
      assert(commit.operationMetrics.get("numAddedFiles") === laidOut.size.toString)
      assert(laidOut.forall(!_.dataChange))
      val again = sql(s"OPTIMIZE t ZORDER BY (a, b) $small").head()
      assert(again.getAs[String]("reason").contains("FULL rewrites them"))
      assert(version("t") === 1)
    }
  }

  test(
    "one commit lays a table out; a second run makes none; then only new files are rewritten",
    Slow) {
    withTables {
      create("t")
      val row = optimized("t", s"ZORDER BY (a, b) $small")
      val laidOut = files("t")
      assert(metric(row, "numFilesRemoved") === 8)
      assert(metric(row, "numFilesAdded") === laidOut.size)
      assert(laidOut.size > 8)
      assert(metric(row, "numRows") === 8000)
      assert(metric(row, "shuffleBytes") > 0)
      val commit = history("t").head
      assert(commit.operation === "OPTIMIZE")
      assert(commit.operationParameters("zOrderBy") === """["a","b"]""")
      assert(commit.operationMetrics.get("numRemovedFiles") === "8")
      assert(commit.operationMetrics.get("numAddedFiles") === laidOut.size.toString)
      assert(laidOut.forall(!_.dataChange))

      val again = optimized("t", s"ZORDER BY (a, b) $small")
      assert(again.getAs[String]("reason").contains("FULL rewrites them"))
      assert(metric(again, "numFilesRemoved") === 0)
      // without ZORDER BY, the columns are those of the last run
      assert(optimized("t", small).getAs[String]("reason").contains("laid out by (a, b)"))
      assert(version("t") === 1)

      append("t", numbers(8000, 9000, 2))
      val third = optimized("t", s"ZORDER BY (a, b) $small")
      assert(metric(third, "numFilesRemoved") === 2)
      assert(third.getAs[String]("reason").contains("2 are new"))
      assert(laidOut.map(_.path).toSet.subsetOf(files("t").map(_.path).toSet))

      // an older version is still there, and can be current again
      assert(sql("SELECT count(*) FROM t VERSION AS OF 0").head().getLong(0) === 8000)
      sql("RESTORE TABLE t TO VERSION AS OF 0")
      assert(spark.table("t").count() === 8000)
      assert(orphans("t").isEmpty)
    }
  }

  test("the files of a shuffle go when the write fails", Slow) {
    withTables {
      create("t")
      // a constraint that no statement has checked
      val constrained = log("t").startTransaction(None)
      val metadata = constrained.metadata
      constrained.updateMetadata(metadata.copy(configuration =
        metadata.configuration + ("delta.constraints.small" -> "a < 0")))
      constrained.commit(Nil, DeltaOperations.ManualUpdate)
      val rows = bag(spark.table("t"))
      (1 to 2).foreach { _ =>
        failingWrite(sql(s"OPTIMIZE TABLE t ZORDER BY (a, b) $small").collect())
      }
      assert(bag(spark.table("t")) === rows)
    }
  }

  test("a point query reads the ideal share of the files by Delta's own skipping", Slow) {
    withTables {
      create("t", rows = 40000, files = 4)
      val row = optimized("t", "FULL ZORDER BY (a, b) OPTIONS (targetFileSize = '8k')")
      val state = log("t").update()
      val read = for { c <- Seq("a", "b"); v <- 10 until 1000 by 66 } yield {
        val filter = new DeltaFilter(state, "t").of(expression(s"$c = $v")).get
        state.filesForScan(filter, false).files.size
      }
      val (mean, all) = (read.sum.toDouble / read.size, files("t").size)
      assert(mean <= 1.1 * math.sqrt(all), s"$mean of $all files")
      gains(row).foreach { gain =>
        assert(gain.getAs[Double]("filesPerPointQueryBefore") > 3.9)
        assert(gain.getAs[Double]("filesPerPointQueryAfter") <= 1.2 * math.sqrt(all))
      }
      val layout = sql("SHOW LAYOUT t FOR (a, b)").collect()
      assert(layout.map(_.getAs[Double]("excess")).sum / 2 <= 1.1)
    }
  }

  test("partitions with NULL and special names, in batches with a commit each", Slow) {
    withTables {
      sql("""CREATE TABLE t (id BIGINT, a INT, b INT, p STRING, d DATE, x TIMESTAMP) USING delta
        PARTITIONED BY (p, x)""")
      val parts = Seq("null", "'x/y=z %'", "'null'", "'é'").mkString("array(", ", ", ")")
      spark.range(0, 2000, 1, 2).selectExpr(
        "id",
        "int(pmod(hash(id), 100)) a",
        "int(pmod(hash(id, 7), 100)) b",
        s"element_at($parts, int(id % 4) + 1) p",
        "date_add(DATE'1500-01-01', int(id))",
        "if(id % 8 < 4, timestamp'2020-01-01 01:02:03.456789', null)").createOrReplaceTempView(
        "more")
      withSQLConf("spark.sql.parquet.datetimeRebaseModeInWrite" -> "CORRECTED") {
        sql("INSERT INTO t SELECT * FROM more")
      }
      def byPartition = files("t").groupBy(_.partitionValues)
        .map { case (p, own) => p -> own.flatMap(_.numLogicalRecords).sum }
      val before = byPartition
      assert(before.size === 8)
      val commits = layouts("t")
      val row =
        optimized("t", "ZORDER BY (a, b) OPTIONS (targetFileSize = '2k', batchSize = '12k')")
      assert(byPartition === before)
      assert(metric(row, "partitionsOptimized") === 8)
      assert(layouts("t") - commits === metric(row, "numBatches"))
      assert(metric(row, "numBatches") > 2)
      assert(files("t").flatMap(DeltaLayouts.of(_)).map(_.run).distinct.size === 1)
      val again = optimized("t", "ZORDER BY (a, b) OPTIONS (targetFileSize = '2k')")
      assert(metric(again, "numFilesRemoved") === 0)
      // one run is taken back as a whole
      val first = fails("ZORDER_UNSUPPORTED_TABLE", "TO VERSION AS OF 1")(sql("UNDO LAYOUT t"))
      assert(!first.getMessage.contains("later"))
    }
  }

  test("partitions by values that are not equal to themselves in Scala", Slow) {
    withTables {
      for ((kind, value) <- Seq("DOUBLE" -> "'NaN'", "FLOAT" -> "'NaN'", "BINARY" -> "'x'")) {
        sql(s"""CREATE TABLE of_$kind (id BIGINT, a INT, b INT, p $kind) USING delta
          PARTITIONED BY (p)""")
        for (from <- Seq(0, 100)) {
          sql(s"""INSERT INTO of_$kind SELECT id, pmod(hash(id), 100), pmod(hash(id, 7), 100),
            if(id % 2 = 0, CAST($value AS $kind), NULL) FROM range($from, ${from + 100}, 1, 2)""")
        }
        val row = optimized(s"of_$kind")
        assert(metric(row, "partitionsOptimized") === 2)
        assert(metric(row, "numRows") === 200)
        assert(metric(row, "numFilesAdded") === 2)
      }
    }
  }

  test("DRY RUN writes nothing; WHERE chooses files; EXPLAIN names the command; paths", Slow) {
    withTables {
      create("t", "PARTITIONED BY (p)", files = 2)
      val dry = optimized("t", s"ZORDER BY (a, b) $small DRY RUN")
      assert(dry.getAs[Boolean]("dryRun"))
      assert(metric(dry, "numFilesAdded") > 4)
      assert(version("t") === 0)
      assert(orphans("t").isEmpty)
      val some = optimized("t", s"WHERE p BETWEEN 1 AND 1 AND t.id >= 0 ZORDER BY (a, b) $small")
      assert(metric(some, "partitionsOptimized") === 1)
      assert(metric(some, "numRows") === 2000)
      assert(history("t").head.operationParameters("predicate").contains("p"))
      for (nothing <- Seq("p = 9", "id < 0 AND false", "id < 0", "p = 1 AND id > 9999")) {
        val none = optimized("t", s"WHERE $nothing ZORDER BY (a, b)")
        assert(none.getAs[String]("reason") === "WHERE chooses no data files")
      }
      for (bad <- Seq("id IN (SELECT 1)", "rand() < 0.5")) {
        fails("ZORDER_PREDICATE_NOT_TRANSLATABLE") {
          sql(s"OPTIMIZE TABLE t WHERE $bad ZORDER BY (a, b)")
        }
      }
      // a directory that is a Delta table, by three names
      val path = log("t").dataPath.toUri.getPath
      val before = bag(spark.table("t"))
      for (name <- Seq(s"delta.`$path`", s"parquet.`$path`", s"'$path'")) {
        val commits = layouts("t")
        val row = sql(s"OPTIMIZE TABLE $name FULL WHERE p = 2 ZORDER BY (a, b) $small").head()
        assert(metric(row, "numRows") === 2000)
        assert(layouts("t") === commits + 1)
      }
      assert(bag(spark.table("t")) === before)
      val plan = sql("EXPLAIN OPTIMIZE TABLE t ZORDER BY (a, b) DRY RUN").head().getString(0)
      assert(plan.contains("ZORDER BY"), plan)
    }
  }

  test(
    "a Delta table of a database parquet that is left to Delta: the table, not a directory",
    Slow) {
    withTables {
      sql("CREATE DATABASE parquet")
      try {
        create("parquet.t", files = 2, rows = 20)
        val before = bag(spark.table("parquet.t"))
        withSQLConf("spark.zorder.formats.delta" -> "delegate") {
          sql("OPTIMIZE parquet.t ZORDER BY (a)").collect()
        }
        assert(sql("DESCRIBE HISTORY parquet.t").head().getAs[String]("operation") === "OPTIMIZE")
        assert(bag(spark.table("parquet.t")) === before)
      } finally sql("DROP DATABASE parquet CASCADE")
    }
  }

  test("rows are in order inside the files of each partition", Slow) {
    withTables {
      create("t", "PARTITIONED BY (p)", files = 2, rows = 4000)
      optimized("t", s"ZORDER BY (a) $small")
      val own = log("t")
      val ranges = files("t").map { f =>
        val path = f.absolutePath(own).toString
        val a = spark.read.parquet(path).select("a").collect().map(_.getInt(0)).toSeq
        assert(a === a.sorted)
        (f.partitionValues, a.head, a.last)
      }
      // the files of a partition do not overlap but for one value
      ranges.groupBy(_._1).values.foreach { r =>
        val sorted = r.sortBy(_._2)
        assert(r.size > 1)
        sorted.zip(sorted.tail).foreach { case (x, y) => assert(x._3 <= y._2) }
      }
    }
  }

  private def expression(text: String) = spark.sessionState.sqlParser.parseExpression(text)

  test("IDENTIFIER names a Delta table, for our layout and for Delta's own OPTIMIZE", Slow) {
    withTables {
      create("t")
      // a table without a layout is left to Delta
      val deltas = sql("OPTIMIZE t")
      assert(sql("OPTIMIZE IDENTIFIER('default.' || 't')").schema === deltas.schema)
      val commits = layouts("t")
      sql("OPTIMIZE TABLE IDENTIFIER('t') FULL ZORDER BY (a, b)").collect()
      assert(layouts("t") === commits + 1)
    }
  }

  private val partitionsKeepTheirText =
    "partitions by a timestamp whose text has no zone keep their text"

  test(partitionsKeepTheirText)(checkZones(withNewFiles = false))

  test(
    "an hour that summer time skips in the zone of the session is not written as the next hour") {
    val zone = "spark.sql.session.timeZone"
    withTables {
      inConf("spark.databricks.delta.write.utcTimestampPartitionValues" -> "false", zone -> "UTC") {
        sql("CREATE TABLE t (id BIGINT, a INT, b INT, p TIMESTAMP) USING delta PARTITIONED BY (p)")
        sql("INSERT INTO t SELECT id, int(id % 30), int(id % 7), " +
          "timestamp'2024-03-10 02:00:00' + make_interval(0, 0, 0, 0, int(id % 2)) FROM range(0, 80, 1, 2)")
      }
      val texts = Set("2024-03-10 02:00:00", "2024-03-10 03:00:00")
      def partitions = files("t").map(_.partitionValues.values.head).toSet
      assert(partitions === texts)
      inConf(zone -> "America/Los_Angeles") {
        for (where <- Seq("", "WHERE p = timestamp'2024-03-10 02:00:00'")) {
          fails("ZORDER_VERIFICATION_FAILED")(sql(s"OPTIMIZE TABLE t $where ZORDER BY (a, b)"))
        }
      }
      assert(partitions === texts && layouts("t") === 0)
    }
  }

  test("an hour that the zone of the session repeats at the end of summer time", Slow) {
    val zone = "spark.sql.session.timeZone"
    val losAngeles = "America/Los_Angeles"
    def inJvm(id: String)(body: => Any): Unit = {
      val before = TimeZone.getDefault
      TimeZone.setDefault(TimeZone.getTimeZone(id))
      try { val _ = body }
      finally TimeZone.setDefault(before)
    }
    // in Los Angeles, 08:00 and 09:00 of UTC are both 01:00
    def make(name: String): Unit = inConf(zone -> "UTC") {
      sql(
        s"CREATE TABLE $name (id BIGINT, a INT, b INT, p TIMESTAMP) USING delta PARTITIONED BY (p)")
      sql(s"INSERT INTO $name SELECT id, int(id % 30), int(id % 7), " +
        "timestamp'2024-11-03 08:00:00' + make_interval(0, 0, 0, 0, int(id % 2)) FROM range(0, 80, 1, 2)")
    }
    def refused(name: String, setting: String): Unit =
      for (end <- Seq("DRY RUN", "")) {
        fails("ZORDER_UNSUPPORTED_TABLE", losAngeles, s"UTC for $setting") {
          sql(s"OPTIMIZE TABLE $name ZORDER BY (a, b) $end").collect()
        }
      }
    val isOfJvm = DeltaZone.readsFoldersInZoneOfJvm
    withTables {
      inJvm("UTC")(make("t"))
      def partitions = files("t").map(_.partitionValues.values.head).toSet
      val texts = partitions
      assert(texts === Set("2024-11-03T08:00:00.000000Z", "2024-11-03T09:00:00.000000Z"))
      if (isOfJvm) inJvm(losAngeles)(inConf(zone -> "UTC")(refused("t", "-Duser.timezone")))
      inJvm(if (isOfJvm) "UTC" else losAngeles)(inConf(zone -> losAngeles)(optimized("t")))
      assert(partitions === texts && layouts("t") === 1)
      // the expressions of a table may depend on the zone
      inJvm("UTC")(make("u"))
      sql("ALTER TABLE u ADD CONSTRAINT c CHECK (hour(p) < 24)")
      if (!isOfJvm) inConf(zone -> losAngeles)(refused("u", zone))
      inJvm("UTC")(inConf(zone -> "UTC")(optimized("u")))
    }
  }

  test("a NULL partition beside partitions by a timestamp without a zone: all are laid out", Slow) {
    withTables {
      inConf("spark.databricks.delta.write.utcTimestampPartitionValues" -> "false") {
        sql("CREATE TABLE t (id BIGINT, a INT, b INT, p TIMESTAMP) USING delta PARTITIONED BY (p)")
        for (from <- Seq(0, 40)) sql(
          s"INSERT INTO t SELECT id, int(id % 30), int(id % 7), if(id % 2 = 0, NULL, " +
            s"timestamp'2024-01-01 00:00:00') FROM range($from, ${from + 40}, 1, 1)")
      }
      val before = bag(spark.table("t"))
      val row = optimized("t", "ZORDER BY (a, b)")
      assert(metric(row, "numFilesRemoved") === 4)
      assert(files("t").map(_.partitionValues.values.head).toSet ===
        Set(null, "2024-01-01 00:00:00"))
      assert(bag(spark.table("t")) === before)
    }
  }

  test(s"$partitionsKeepTheirText, beside files of newer versions", Slow)(
    checkZones(withNewFiles = true))

  private def checkZones(withNewFiles: Boolean): Unit = {
    withTables {
      val utc = "spark.databricks.delta.write.utcTimestampPartitionValues"
      def insert(from: Int) = sql(
        s"INSERT INTO t SELECT id, int(id % 30) a, int(id % 7) b, " +
          s"timestamp'2024-01-01 00:00:00' + make_interval(0, 0, 0, int(id % 2)) AS p " +
          s"FROM range($from, ${from + 40}, 1, 2)")
      inConf("spark.sql.session.timeZone" -> "Asia/Tokyo", utc -> "false") {
        sql("CREATE TABLE t (id BIGINT, a INT, b INT, p TIMESTAMP) USING delta PARTITIONED BY (p)")
        insert(0)
        val before = bag(spark.table("t"))
        inConf("spark.sql.session.timeZone" -> "America/New_York", utc -> "true") {
          sql("OPTIMIZE TABLE t ZORDER BY (a, b)")
        }
        assert(files("t").map(_.partitionValues.values.head).toSet ===
          Set("2024-01-01 00:00:00", "2024-01-02 00:00:00"))
        assert(layouts("t") === 1)
        assert(bag(spark.table("t")) === before)
        // files of newer versions are laid out, and those without a zone stay as they are
        if (withNewFiles) {
          inConf(utc -> "true")(insert(40))
          val all = bag(spark.table("t"))
          inConf("spark.sql.session.timeZone" -> "America/New_York") {
            val row = sql("OPTIMIZE TABLE t FULL ZORDER BY (a, b)").head()
            assert(row.getAs[String]("reason").contains("a timestamp without a zone"), row)
          }
          assert(bag(spark.table("t")) === all)
        }
      }
    }
  }

  test(
    "values of a column that some files spell in another case stay in a session that tells cases apart",
    Slow) {
    withTempDir { dir =>
      numbers(0, 100, 1).write.mode("append").parquet(dir.toString)
      numbers(100, 200, 1).withColumnRenamed("s", "S").write.mode("append").parquet(dir.toString)
      sql(s"CONVERT TO DELTA parquet.`$dir`")
      def rows = bag(sql(s"SELECT id, a, b, p, s FROM delta.`$dir`"))
      val before = rows
      inConf("spark.sql.caseSensitive" -> "true") {
        sql(s"OPTIMIZE TABLE delta.`$dir` ZORDER BY (a, b)").collect()
      }
      assert(rows === before)
    }
  }

  test("files without the ids of columns are not read as NULL, whatever the session ignores") {
    withTables {
      sql("""CREATE TABLE t (id BIGINT, a INT, b INT) USING delta
        TBLPROPERTIES ('delta.columnMapping.mode' = 'id')""")
      sql("INSERT INTO t SELECT id, id, id FROM range(0, 100, 1, 1)")
      // another writer writes the names of the columns and not their ids
      val Seq(file) = files("t")
      val path = new File(file.absolutePath(log("t")).toUri.getPath)
      withTempDir { dir =>
        withSQLConf("spark.sql.parquet.fieldId.write.enabled" -> "false") {
          spark.read.parquet(path.toString).coalesce(1).write.mode("append").parquet(dir.toString)
        }
        val Array(without) = dir.listFiles.filter(_.getName.endsWith(".parquet"))
        Files.copy(without.toPath, path.toPath, StandardCopyOption.REPLACE_EXISTING)
      }
      new File(path.getParentFile, s".${path.getName}.crc").delete()
      rewriteLastCommit("t")(_.replace(s""""size":${file.size},""", s""""size":${path.length},"""))
      withSQLConf("spark.sql.parquet.fieldId.read.ignoreMissing" -> "true") {
        assert(spark.table("t").select("a").collect().forall(_.isNullAt(0)))
        intercept[Exception](sql("OPTIMIZE TABLE t ZORDER BY (a, b)").collect())
      }
      assert(layouts("t") === 0)
    }
  }

  test("partitions whose value is an empty text in the log stay as they are") {
    withTables {
      sql("CREATE TABLE t (id BIGINT, a INT, b INT, p STRING) USING delta PARTITIONED BY (p)")
      for (from <- Seq(0, 40)) sql(
        s"INSERT INTO t SELECT id, int(id % 30), int(id % 7), if(id % 2 = 0, NULL, 'x') " +
          s"FROM range($from, ${from + 40}, 1, 1)")
      // Delta writes an empty text as NULL; other writers need not
      rewriteLastCommit("t")(_.replace(""""p":null""", """"p":"" """))
      def kinds = spark.table("t").groupBy("p").count().collect()
        .map(r => Option(r.getString(0)) -> r.getLong(1)).toMap
      val before = kinds
      assert(before === Map(None -> 20, Some("") -> 20, Some("x") -> 40))
      val row = sql("OPTIMIZE TABLE t ZORDER BY (a, b)").head()
      assert(row.getAs[String]("reason").contains("1 files of partitions by an empty text"))
      assert(metric(row, "numFilesRemoved") === 3)
      assert(kinds === before)
    }
  }

  test(
    "a struct whose fields a file lacks is no NULL in the new file, whatever the session reads",
    Slow) {
    assume(!SPARK_VERSION.startsWith("3.") && !SPARK_VERSION.startsWith("4.0"))
    withTables {
      sql("""CREATE TABLE t (id BIGINT, a INT, n STRUCT<x: INT>) USING delta
        TBLPROPERTIES ('delta.columnMapping.mode' = 'name')""")
      sql("INSERT INTO t SELECT id, id, if(id < 50, named_struct('x', 1), NULL) FROM range(100)")
      sql("ALTER TABLE t ADD COLUMN n.y INT")
      sql("ALTER TABLE t DROP COLUMN n.x")
      def present = spark.table("t").where("n IS NOT NULL").count()
      assert(present === 50)
      inConf("spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing" -> "true") {
        assert(present === 0)
        sql("OPTIMIZE TABLE t ZORDER BY (id, a)").collect()
      }
      assert(layouts("t") === 1)
      assert(present === 50)
    }
  }
}
