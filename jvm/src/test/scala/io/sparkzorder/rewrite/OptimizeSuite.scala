// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File

import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.Row

import io.sparkzorder.commands.OptimizeTestBase

/** OPTIMIZE by SQL: targets, WHERE, and what a run leaves behind. */
class OptimizeSuite extends OptimizeTestBase {

  override protected def codegen: Boolean = true

  test("a path table, by all its spellings") {
    withTableDir { dir =>
      write(shuffled(2000, 4), dir)
      val path = dir.getAbsolutePath
      for (target <- Seq(s"'$path'", s"TABLE PARQUET.`$path/`")) {
        val row = optimize(
          s"OPTIMIZE $target ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 4)})",
          dir)(read(dir))
        assert(gains(row).map(_.getString(0)) === Seq("a", "b"))
      }
    }
  }

  test("a managed table and an external one") {
    withTable("managed", "external") {
      shuffled(2000, 4).write.format("parquet").saveAsTable("managed")
      optimize("OPTIMIZE managed ZORDER BY a, b", locationOf("managed"))(spark.table("managed"))
      withTableDir { dir =>
        write(shuffled(1000, 3), dir)
        sql(s"CREATE TABLE external USING parquet LOCATION '${dir.getAbsolutePath}'")
        optimize("OPTIMIZE default.external ZORDER BY b", dir)(spark.table("external"))
        optimize(s"OPTIMIZE '$dir' ZORDER BY b", dir)(spark.table("external"))
      }
    }
  }

  test("a point query touches about the ideal number of files") {
    withTableDir { dir =>
      write(shuffled(6000, 8), dir)
      val row = optimize(
        s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 16)})",
        dir)(read(dir))
      val files = dataFiles(dir).size
      assert(files >= 12 && files <= 22)
      gains(row).foreach { g =>
        val Seq(before, after, ideal) = g.toSeq.tail.map(_.asInstanceOf[Double])
        assert(before > 7.9 && before <= 8.0)
        assert(math.abs(ideal - math.sqrt(files.toDouble)) < 1e-9)
        assert(after <= 1.2 * ideal, g.toString)
        // an independent look at the footers; the values of the column are uniform
        val seen = filesPerPoint(dir, g.getString(0), 0L until 1000L)
        assert(math.abs(seen - after) <= 0.1 * seen, s"$seen, reported $after")
      }
    }
  }

  test("two runs give the same layout") {
    withTableDir { dir =>
      write(shuffled(5000, 5), dir)
      val statement = s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 8)})"
      optimize(statement, dir)(read(dir))
      def layout = dataFiles(dir).map(f => (f.name.take(10), f.rows))
      val once = layout
      optimize(statement.replace("ZORDER", "FULL ZORDER"), dir)(read(dir))
      assert(layout.map(_._2).sum === once.map(_._2).sum)
      assert(math.abs(layout.size - once.size) <= 1)
    }
  }

  test("WHERE chooses partitions by any expression over them", Slow) {
    withTable("other") {
      sql("CREATE TABLE other USING parquet AS SELECT 2 AS wanted")
      withTableDir { dir =>
        write(shuffled(400, 2).selectExpr("*", "id % 4 p", "concat('k ', id % 2) q"), dir, "p", "q")
        def chosen(where: String): Set[String] = {
          val before = dataFiles(dir)
          optimize(s"OPTIMIZE '$dir' FULL WHERE $where ZORDER BY (a)", dir)(read(dir))
          before.diff(dataFiles(dir)).map(_.folder).toSet
        }
        val all = dataFiles(dir).map(_.folder).toSet
        assert(all === Set("p=0/q=k 0", "p=1/q=k 1", "p=2/q=k 0", "p=3/q=k 1"))
        def considered(where: String): Long = sql(s"OPTIMIZE '$dir' WHERE $where DRY RUN")
          .select("metrics.totalConsideredFiles").head().getLong(0)
        assert(considered("p = 1") === 2)
        assert(considered("p IN (0, 3)") === 4)
        assert(considered("p = (SELECT max(wanted) FROM other)") === 2)
        fails("ZORDER_PREDICATE_NOT_TRANSLATABLE", "no column")(
          considered("EXISTS (SELECT 1 FROM other WHERE wanted = 3)"))
        assert(considered("q BETWEEN 'k 0' AND 'k 00'") === 4)
        assert(considered("CASE WHEN p = 3 THEN true END") === 2)
        assert(chosen("P >= 1 AND p < 3") === Set("p=1/q=k 1", "p=2/q=k 0"))
        assert(chosen("upper(q) LIKE '%1' OR pmod(p, 4) = 0") ===
          Set("p=0/q=k 0", "p=1/q=k 1", "p=3/q=k 1"))
        assert(chosen("p IN (SELECT wanted FROM other)") === Set("p=2/q=k 0"))
        assert(chosen("p = 99") === Set())
      }
    }
  }

  test("WHERE over a catalog table, with qualified names") {
    withTable("pt") {
      shuffled(600, 2).selectExpr("*", "id % 3 P").write.format("parquet").partitionBy("P")
        .saveAsTable("pt")
      val dir = locationOf("pt")
      for (where <- Seq("pt.p = 1", "default.pt.P = 1", "t.p = 1")) {
        val statement = s"OPTIMIZE pt FULL WHERE $where ZORDER BY (a)"
        if (where.startsWith("t.")) intercept[Exception](sql(statement))
        else {
          val row = optimize(statement, dir)(spark.table("pt"))
          assert(row.getAs[Row]("metrics").getAs[Long]("partitionsOptimized") === 1, where)
        }
      }
    }
  }

  test("compaction keeps the order of rows and leaves large files alone") {
    withTableDir { dir =>
      write(shuffled(3000, 1), dir)
      val large = dataFiles(dir).head
      write(shuffled(100, 5), dir)
      val row = optimize(
        s"OPTIMIZE '$dir' OPTIONS ('targetFileSize' '${large.length}')",
        dir)(read(dir))
      assert(dataFiles(dir).contains(large))
      assert(dataFiles(dir).size === 2)
      assert(gains(row) === Nil)
      val small = dataFiles(dir).filterNot(_ == large).head
      val ids = spark.read.parquet(s"$dir/${small.name}").select("id").collect().map(_.getLong(0))
      // the five files were consecutive ranges of id, named by their part number
      assert(ids.toSeq === (0L until 100L))
      val again = optimize(
        s"OPTIMIZE '$dir' OPTIONS ('targetFileSize' '${large.length}')",
        dir)(read(dir))
      assert(again.getAs[String]("reason") === "there are no small files to put together")
    }
  }

  test(
    "files that a compaction leaves as they are count neither for batches nor for the prediction") {
    withTableDir { dir =>
      write(shuffled(9000, 3), dir)
      val large = dataFiles(dir)
      write(shuffled(100, 5), dir)
      val target = large.map(_.length).min
      // the large files together are more than a batch
      withSQLConf("spark.zorder.batchSize" -> (2 * target).toString) {
        for (full <- Seq("", "FULL ")) {
          val statement =
            s"OPTIMIZE '$dir' ${full}OPTIONS ('targetFileSize' '$target', 'batchSize' '${2 * target}')"
          assert(metric(sql(s"$statement DRY RUN").head(), "shuffleBytes") > 0)
        }
        val row = optimize(
          s"OPTIMIZE '$dir' OPTIONS ('targetFileSize' '$target')",
          dir)(read(dir))
        assert(metric(row, "numBatches") === 1)
        assert(metric(row, "numFilesRemoved") === 5)
      }
      assert(large.forall(dataFiles(dir).contains))
    }
  }

  test("FULL rewrites every file") {
    withTableDir { dir =>
      write(shuffled(500, 3), dir)
      optimize(s"OPTIMIZE '$dir' FULL ZORDER BY (a)", dir)(read(dir))
      val once = dataFiles(dir)
      optimize(s"OPTIMIZE '$dir' FULL", dir)(read(dir))
      assert(dataFiles(dir).intersect(once) === Nil)
    }
  }

  test("a table in an odd directory") {
    withTempDir { base =>
      for (name <- Seq("with space 100% a+b per%20cent,h#größe", "a `quoted` name")) {
        val dir = new File(base.getCanonicalFile, name)
        write(shuffled(200, 2).selectExpr("*", "id % 2 `a b`", "0 `select`"), dir, "a b", "select")
        optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b)", dir)(read(dir))
        val quoted = name.replace("`", "``")
        optimize(
          s"OPTIMIZE parquet.`${dir.getParent}/$quoted` WHERE `a b` = 0 AND `select` = 0 ZORDER BY b",
          dir)(read(dir))
      }
      // of such a path Spark's reader makes a glob
      val dir = new File(base.getCanonicalFile, "t[1] {a}*?")
      write(shuffled(200, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val before = dataFiles(dir)
      val row = sql(s"OPTIMIZE '$dir' WHERE p = 1 ZORDER BY a").head()
      assert(metric(row, "partitionsOptimized") === 1)
      checkMetrics(row, dir, before, dataFiles(dir))
      assert(dataFiles(dir).map(_.rows).sum === 200)
    }
  }

  test("the caches of a session show the new files") {
    withTable("t") {
      shuffled(1000, 4).write.format("parquet").saveAsTable("t")
      val dir = locationOf("t")
      sql("CACHE TABLE t")
      val cached = spark.table("t").where("a < 500")
      cached.cache()
      val expected = bag(cached)
      val open = spark.read.parquet(dir.getAbsolutePath)
      assert(open.count() === 1000)
      optimize(s"OPTIMIZE t ZORDER BY (a, b)", dir)(spark.table("t"))
      assert(spark.catalog.isCached("t"))
      assert(bag(spark.table("t").where("a < 500")) === expected)
      // nothing that is cached still opens a file that is gone
      sql("REFRESH TABLE t")
      assert(spark.table("t").count() === 1000)
      sql("UNCACHE TABLE t")
      cached.unpersist()
      assert(spark.table("t").inputFiles.map(f => f.split('/').last).toSet ===
        dataFiles(dir).map(_.name).toSet)
      optimize(s"OPTIMIZE '$dir' ZORDER BY b", dir)(spark.table("t"))
    }
  }

  test("the user's session and job description stay as they were") {
    withTableDir { dir =>
      write(shuffled(300, 2), dir)
      val sc = spark.sparkContext
      sc.setJobDescription("mine")
      sc.setJobGroup("group", "mine", interruptOnCancel = false)
      try {
        val before = spark.conf.getAll
        optimize(s"OPTIMIZE '$dir' ZORDER BY a", dir)(read(dir))
        intercept[Exception](sql(s"OPTIMIZE '$dir' ZORDER BY nope"))
        assert(spark.conf.getAll === before)
        assert(sc.getLocalProperty("spark.job.description") === "mine")
        assert(sc.getLocalProperty("spark.jobGroup.id") === "group")
        assert(sc.getLocalProperty("callSite.short") === null)
      } finally sc.clearJobGroup()
    }
  }

  test("files that were not listed are never touched") {
    withTableDir { dir =>
      write(shuffled(300, 2), dir)
      val strangers = Seq("_SUCCESS", "_note", ".hidden", "_other/x.parquet", ".dir/y")
      strangers.foreach { n =>
        val f = new File(dir, n)
        f.getParentFile.mkdirs()
        java.nio.file.Files.write(f.toPath, "mine".getBytes("UTF-8"))
      }
      optimize(s"OPTIMIZE '$dir' ZORDER BY a", dir)(read(dir))
      val after = snapshot(dir)
      strangers.foreach(n => assert(after.contains(n), n))
    }
  }

  test("a file of the same name as one that an earlier run replaced") {
    withTableDir { dir =>
      write(shuffled(300, 1), dir)
      val first = dataFiles(dir).head.name
      val copy = new File(dir.getParentFile, "copy")
      java.nio.file.Files.copy(new File(dir, first).toPath, copy.toPath)
      optimize(s"OPTIMIZE '$dir' ZORDER BY a", dir)(read(dir))
      // writers that always call their file the same
      java.nio.file.Files.copy(copy.toPath, new File(dir, first).toPath)
      fails("ZORDER_NAMES_REUSED", first)(sql(s"OPTIMIZE '$dir' ZORDER BY a"))
      optimize(s"OPTIMIZE '$dir' ZORDER BY a OPTIONS ('reusedNames' 'append')", dir)(read(dir))
      assert(read(dir).count() === 600)
    }
  }
}
