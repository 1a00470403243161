package io.sparkzorder.skipping.scan

import java.io.File

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.functions.lit

import io.sparkzorder.conf.RelationConf

/** What a session with the extension reads from a table that is being optimized. */
class OverlayReadSuite extends OverlayTestBase with AdaptiveSparkPlanHelper {

  private def flat(rows: Int, files: Int) = shuffled(rows, files)

  test("flat path: fresh and stale, at each step") {
    withTableDir { dir =>
      write(flat(200, 4), dir)
      val stale = read(dir)
      val expected = bag(read(dir))
      val schema = stale.schema
      var unreadable = 0
      val steps = atEachStep(dir) { step =>
        check(dir, expected, s"stale at $step")(unplanned(stale))
        // without a schema, Spark looks for a file to infer it before any hook of ours
        if (dataFiles(dir).isEmpty) unreadable += 1
        else check(dir, expected, s"fresh at $step")(read(dir))
        check(dir, expected, s"with schema at $step")(
          spark.read.schema(schema).parquet(plain(dir)))
      }
      assert(steps > 8 && unreadable === 1)
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

  test("three runs: a data frame that was listed before the first") {
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

  test("INSERT OVERWRITE of a partition half way wins over the run") {
    for (k <- 0 to 3) withTableDir { dir =>
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

  test("partition values with every kind of name; those that fit no longer are an error", Slow) {
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
      var refused = 0
      atEachStep(dir) { step =>
        if (dataFiles(dir).map(_.folder).distinct === Seq("p=7")) {
          fails("ZORDER_LISTING_INCOMPLETE", "p=x", "INT")(read(dir).collect())
          refused += 1
        } else if (dataFiles(dir).map(_.folder).distinct.size === 2) {
          check(dir, expected, s"at $step")(read(dir))
        }
      }
      assert(refused === 1)
      check(dir, expected, "after")(read(dir))
    }
  }

  test("all files of a partitioned table out, and a schema by the user: an error, not no rows") {
    withTableDir { dir =>
      write(shuffled(40, 1).selectExpr("*", "1 p"), dir, "p")
      val schema = read(dir).schema
      var empty = 0
      atEachStep(dir) { _ =>
        if (dataFiles(dir).isEmpty) {
          fails("ZORDER_LISTING_INCOMPLETE", "p=1")(
            spark.read.schema(schema).parquet(plain(dir)).collect())
          empty += 1
        }
      }
      assert(empty === 1)
    }
  }

  test("files that were named one by one are read as they are") {
    withTableDir { dir =>
      write(flat(100, 2), dir)
      val file = dir.listFiles.filter(_.getName.endsWith(".parquet")).head
      val named = read(file)
      val expected = bag(read(file))
      assert(killedAt(0, dir))
      check(dir, expected, "named file")(unplanned(named))
      sql(statement(dir)).collect()
      intercept[Exception](unplanned(named).collect())
    }
  }

  test("switched off, and formats and tables that are not ours") {
    withTableDir { dir =>
      write(flat(200, 4), dir)
      val expected = bag(read(dir))
      assert(killedAt(6, dir))
      check(dir, expected, "on")(read(dir))
      withSQLConf("spark.zorder.skipping.enabled" -> "false") {
        check(dir, expected, "without skipping")(read(dir))
      }
      withSQLConf("spark.zorder.enabled" -> "false") {
        assert(bag(read(dir)) !== expected)
        assert(indexes(read(dir)).forall(!_.isInstanceOf[ZOrderFileIndex]))
      }
      assert(indexes(read(dir)).forall(_.isInstanceOf[ZOrderFileIndex]))
      val json = new File(dir.getParentFile, "json")
      flat(10, 1).write.json(plain(json))
      withSQLConf("spark.sql.sources.useV1SourceList" -> "json,parquet") {
        assert(indexes(spark.read.json(plain(json))).forall(!_.isInstanceOf[ZOrderFileIndex]))
      }
    }
  }

  private def indexes(df: org.apache.spark.sql.DataFrame) = {
    val found = collect(df.queryExecution.executedPlan) { case s: FileSourceScanExec =>
      s.relation.location
    }
    assert(found.nonEmpty)
    found
  }

  test("one table twice in a query is one exchange; cached rows stay; file columns work") {
    withTableDir { dir =>
      write(parted(120, 2), dir, "p")
      val df = read(dir)
      val counts = df.groupBy("a").count()
      val joined = counts.as("x").join(counts.as("y"), "a")
      joined.collect()
      assert(collect(joined.queryExecution.executedPlan) { case r: ReusedExchangeExec => r }
        .nonEmpty)
      val cached = read(dir).cache()
      val expected = bag(cached)
      val names = df.select("_metadata.file_path").distinct().count()
      assert(names === dataFiles(dir).size)
      val one = dataFiles(dir).head
      val ofFile = s"_metadata.file_name = '${one.name}' AND p = ${one.folder.drop(2)}"
      assert(read(dir).where(ofFile).count() === one.rows)
      assert(indexes(read(dir).where(ofFile)).size === 1)
      sql(statement(dir)).collect()
      check(dir, expected, "cached")(cached)
      cached.unpersist()
      val after = dataFiles(dir).head
      assert(read(dir).where(s"_metadata.file_name = '${after.name}'").count() === after.rows)
    }
  }

  test("no state costs next to nothing") {
    withTableDir { dir =>
      write(flat(10, 1), dir)
      val index = indexes(read(dir)).head.asInstanceOf[ZOrderFileIndex]
      def median(body: => Any): Double = {
        val times = (0 until 200).map { _ =>
          val start = System.nanoTime()
          body
          (System.nanoTime() - start) / 1e6
        }
        times.sorted.apply(100)
      }
      median(index.listFiles(Nil, Nil))
      val relation = relationOf(read(dir))
      def fresh = new ZOrderFileIndex(index.delegate, relation, None, new RelationConf(relation))
      val ours = median(fresh.listFiles(Nil, Nil))
      val theirs = median(index.delegate.listFiles(Nil, Nil))
      info(f"a listing without state: $ours%.3f ms, by Spark alone $theirs%.3f ms")
      assert(fresh.listFiles(Nil, Nil) === index.delegate.listFiles(Nil, Nil))
    }
  }

  private def relationOf(df: org.apache.spark.sql.DataFrame) =
    collect(df.queryExecution.executedPlan) { case s: FileSourceScanExec => s.relation }.head
}
