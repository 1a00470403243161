// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.File
import java.nio.file.Files
import java.time.Instant

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.functions.lit

/** What a session with the extension reads from a table that is being optimized. */
class OverlayReadSuite extends OverlayTestBase {

  private def flat(rows: Int, files: Int) = shuffled(rows, files)

  testSteps("flat path: fresh and stale") { every =>
    withTableDir { dir =>
      write(flat(200, 4), dir)
      val stale = read(dir)
      val expected = bag(read(dir))
      val schema = stale.schema
      val steps = atEachStep(dir, every = every) { step =>
        check(dir, expected, s"stale at $step")(unplanned(stale))
        // Spark infers the schema before any hook of ours: from the token, if all files are out
        check(dir, expected, s"fresh at $step")(read(dir))
        check(dir, expected, s"with schema at $step")(
          spark.read.schema(schema).parquet(plain(dir)))
      }
      assert(steps > 8)
      check(dir, expected, "stale after")(unplanned(stale))
      check(dir, expected, "fresh after")(read(dir))
    }
  }

  test("partitioned path: all, one partition, a partition directory; at each step", Slow) {
    withTableDir { dir =>
      write(parted(240, 2), dir, "p")
      val stale = read(dir)
      val expected = bag(read(dir))
      val ofOne = bag(read(dir).where("p = 1"))
      val inside = bag(read(dir).where("p = 1").drop("p"))
      val one = new File(dir, "p=1")
      val staleOne = read(one)
      val steps = atEachStep(dir) { step =>
        check(dir, expected, s"fresh at $step")(read(dir))
        check(dir, expected, s"stale at $step")(unplanned(stale))
        check(dir, ofOne, s"fresh filter at $step")(read(dir).where("p = 1"))
        check(dir, ofOne, s"stale filter at $step")(stale.where("p = 1"))
        check(dir, inside, s"stale directory at $step")(unplanned(staleOne))
        if (dataFiles(one).nonEmpty) check(dir, inside, s"directory at $step")(read(one))
        def based = spark.read.option("basePath", plain(dir)).schema(stale.schema)
          .parquet(plain(one))
        // Spark has seen no partition column then: its value would be NULL
        if (dataFiles(one).nonEmpty) check(dir, ofOne, s"base path at $step")(based)
        else fails("ZORDER_LISTING_INCOMPLETE", "p=1")(based.collect())
        check(dir, inside, s"recursive at $step")(
          spark.read.option("recursiveFileLookup", "true").schema(staleOne.schema)
            .parquet(plain(one)))
        check(dir, expected, s"names at $step")(
          spark.read.option("pathGlobFilter", "*.parquet").parquet(plain(dir)))
      }
      assert(steps > 20)
    }
  }

  test("a data frame that selects files by names or times: its rows, or an error") {
    withTableDir { dir =>
      write(flat(400, 4), dir)
      val now = Instant.ofEpochMilli(1700000000000L).plusSeconds(1).toString.take(19)
      dataFiles(dir).foreach(f =>
        assert(new File(dir, f.name).setLastModified(1700000000000L)))
      def option(key: String, value: String) = {
        val frame = spark.read.option(key, value).option("timeZone", "UTC")
          .schema(read(dir).schema).parquet(plain(dir))
        frame -> bag(frame)
      }
      val all = option("pathGlobFilter", "*.parquet")
      val some = option("pathGlobFilter", "part-0000[01]*")
      val before = option("modifiedBefore", now)
      val after = option("modifiedAfter", now)
      assert(some._2.size === 200 && before._2.size === 400 && after._2.isEmpty)
      sql(statement(dir)).collect()
      assert(bag(unplanned(all._1)) === all._2)
      for ((frame, rows) <- Seq(some, before, after)) withClue(s"${rows.size} rows: ") {
        fails("ZORDER_LISTING_INCOMPLETE", "names or times")(unplanned(frame).collect())
      }
      // what is listed now has the times and names of now
      assert(option("modifiedAfter", now)._2 === all._2)
      assert(option("modifiedBefore", now)._2.isEmpty)
      // files that the read does not select are nothing to it
      val rewritten = dataFiles(dir).map(_.name).toSet
      write(flat(40, 1), dir)
      val own = dataFiles(dir).map(_.name).filterNot(rewritten).head
      val one = option("pathGlobFilter", own)
      assert(one._2.size === 40)
      sql(s"OPTIMIZE '${plain(dir)}' FULL ZORDER BY (b)").collect()
      fails("ZORDER_LISTING_INCOMPLETE")(unplanned(one._1).collect())
    }
  }

  test("a read that selects files by names, in a partition that was renamed during a run") {
    withTableDir { dir =>
      write(parted(240, 4), dir, "p")
      val schema = read(dir).schema
      assert(killedAt(0, dir))
      Files.move(new File(dir, "p=1").toPath, new File(dir, "p=7").toPath)
      def some(where: String) = spark.read.option("pathGlobFilter", "part-0000[01]*").schema(schema)
        .parquet(plain(dir)).where(where)
      for (p <- Seq(0, 7)) {
        fails("ZORDER_LISTING_INCOMPLETE", "names or times")(some(s"p = $p").collect())
      }
    }
  }

  test("catalog tables: partitions tracked or not, flat; fresh and stale; at each step", Slow) {
    withTable("tracked", "untracked", "simple") {
      withTableDir { dir =>
        write(parted(240, 2), dir, "p")
        val flatDir = new File(dir.getParentFile, "flat")
        write(flat(100, 3), flatDir)
        sql(s"CREATE TABLE tracked USING parquet LOCATION '$dir'")
        sql("MSCK REPAIR TABLE tracked")
        withSQLConf("spark.sql.hive.manageFilesourcePartitions" -> "false") {
          sql(s"CREATE TABLE untracked (id LONG, a INT, b LONG, s STRING, p INT) USING parquet " +
            s"PARTITIONED BY (p) LOCATION '$dir'")
        }
        sql(s"CREATE TABLE simple USING parquet LOCATION '$flatDir'")
        checkCatalogTable("tracked", dir, "p = 1 AND a > 100")
        checkCatalogTable("untracked", dir, "p = 1 AND a > 100")
        checkCatalogTable("simple", flatDir, "a > 100")
      }
    }
  }

  test("killed at any rename: every read is whole, before and after the next run", Slow) {
    checkEveryKill(statement(_))
  }

  test("three runs: a data frame that was listed before the first", Slow) {
    withTableDir { dir =>
      write(parted(240, 2), dir, "p")
      val stale = read(dir)
      val expected = bag(read(dir))
      sql(statement(dir)).collect()
      check(dir, expected, "after one")(unplanned(stale))
      sql(statement(dir, "WHERE p = 1")).collect()
      check(dir, expected, "after two")(unplanned(stale))
      atEachStep(dir)(step => check(dir, expected, s"third, $step")(unplanned(stale)))
      check(dir, expected, "after three")(unplanned(stale))
    }
  }

  testParts("INSERT OVERWRITE of a partition half way wins over the run")(
    checkOverwrite(2))(checkOverwrite(0, 1, 3))

  private def checkOverwrite(renames: Int*): Unit = {
    for (k <- renames) withTableDir { dir =>
      write(parted(120, 2), dir, "p")
      assert(killedAt(k, dir))
      withSQLConf("spark.sql.sources.partitionOverwriteMode" -> "dynamic") {
        shuffled(7, 1).selectExpr("id + 1000 id", "a", "b", "s", "0L p").write.mode("overwrite")
          .partitionBy("p").parquet(plain(dir))
      }
      val expected = bag(parted(120, 2).where("p <> 0").unionByName(
        shuffled(7, 1).selectExpr("id + 1000 id", "a", "b", "s", "0L p"))
        .selectExpr("id", "a", "b", "s", "CAST(p AS INT)"))
      check(dir, expected, s"killed at $k")(read(dir))
      scala.util.Try(sql(statement(dir)).collect())
      check(dir, expected, s"recovered, killed at $k")(read(dir))
    }
  }

  test("partition values with every kind of name; their type stays at each step", Slow) {
    val values = Seq("a b", "x%y", "k=v", "2026-01-01", "", "ü:1", null)
    withTableDir { dir =>
      val rows = values.zipWithIndex.map { case (v, i) =>
        shuffled(20, 1).withColumn("i", lit(i)).withColumn("p", lit(v).cast("string"))
      }.reduce(_ unionByName _)
      write(rows, dir, "p")
      val stale = read(dir)
      val expected = bag(read(dir))
      atEachStep(dir) { step =>
        check(dir, expected, s"fresh at $step")(read(dir))
        check(dir, expected, s"stale at $step")(unplanned(stale))
      }
    }
    withTableDir { dir =>
      write(shuffled(40, 1).selectExpr("*", "IF(id < 20, '7', 'x') p"), dir, "p")
      val expected = bag(read(dir))
      // without one of the folders Spark would take `p` for an INT; the token shows each of them
      atEachStep(dir) { step =>
        assert(dataFiles(dir).map(_.folder).distinct.size === 2, s"at $step")
        check(dir, expected, s"at $step")(read(dir))
      }
      check(dir, expected, "after")(read(dir))
    }
  }

  test(
    "all files of a partitioned table out, and a schema by the user: all rows at each step",
    Slow) {
    withTableDir { dir =>
      write(shuffled(40, 1).selectExpr("*", "1 p"), dir, "p")
      val schema = read(dir).schema
      val expected = bag(read(dir))
      val steps = atEachStep(dir) { step =>
        assert(dataFiles(dir).nonEmpty, s"the token is missing at $step")
        check(dir, expected, s"at $step")(spark.read.schema(schema).parquet(plain(dir)))
      }
      assert(steps > 5)
    }
  }

  test("a file that is missing from a table with runs is no file without rows") {
    withTableDir { dir =>
      sql("SELECT int(id) a, int(id) b FROM range(0, 400, 1, 4)").write.parquet(dir.getPath)
      inConf("spark.sql.files.ignoreMissingFiles" -> "true") {
        def oneMissing(): Long = {
          val held = read(dir)
          val file = dataFiles(dir).map(f => new File(new File(dir, f.folder), f.name)).head
          val kept = java.nio.file.Files.readAllBytes(file.toPath)
          assert(file.delete())
          try held.where("a >= 0").count()
          finally {
            val _ = java.nio.file.Files.write(file.toPath, kept)
          }
        }
        assert(oneMissing() === 300)
        sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)")
        intercept[Exception](oneMissing())
        assert(read(dir).where("a >= 0").count() === 400)
      }
    }
  }

  test("a file that is missing is an error also for a session that reads another one's view") {
    withTableDir { dir =>
      sql("SELECT int(id) a, int(id) b FROM range(0, 400, 1, 4)").write.parquet(dir.getPath)
      sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS ('targetFileSize' '1k')").collect()
      read(dir).createOrReplaceGlobalTempView("of_another")
      try {
        val other = spark.newSession()
        other.conf.set("spark.sql.files.ignoreMissingFiles", "true")
        val query = "SELECT count(*) FROM global_temp.of_another WHERE a >= 0"
        assert(other.sql(query).head().getLong(0) === 400)
        assert(dataFiles(dir).map(f => new File(new File(dir, f.folder), f.name)).head.delete())
        intercept[Exception](other.sql(query).collect())
      } finally {
        val _ = spark.catalog.dropGlobalTempView("of_another")
      }
    }
  }

  testParts(
    "missing files are ignored only until a run replaces files of the table, also by a query that was planned before")(
    checkMissing(("true", "true", true), ("false", "false", false)))(checkMissing(
    ("true", "true", false),
    ("true", "false", true),
    ("true", "false", false),
    ("false", "true", true),
    ("false", "true", false),
    ("false", "false", true)))

  private def checkMissing(ways: (String, String, Boolean)*): Unit = {
    for ((adaptive, vectorized, ofSession) <- ways)
      withSQLConf(
        "spark.sql.adaptive.enabled" -> adaptive,
        "spark.sql.parquet.enableVectorizedReader" -> vectorized,
        "spark.sql.files.ignoreMissingFiles" -> ofSession.toString) {
        withTableDir { dir =>
          sql("SELECT int(id) a, int(id) b FROM range(0, 400, 1, 4)").write.parquet(dir.getPath)
          val reader =
            if (ofSession) spark.read else spark.read.option("ignoreMissingFiles", "true")
          val df = reader.parquet(plain(dir)).where("a >= 0").select("b")
          assert(df.collect().length === 400)
          val file = dataFiles(dir).map(f => new File(new File(dir, f.folder), f.name)).head
          val away = new File(s"$file.away")
          assert(file.renameTo(away))
          assert(df.collect().length === 300)
          assert(away.renameTo(file))
          sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS ('targetFileSize' '1k')").collect()
          val error = intercept[Exception](df.collect())
          assert(error.toString.contains("does not exist"), error)
          assert(reader.parquet(plain(dir)).where("a >= 0").collect().length === 400)
        }
      }
  }
}
