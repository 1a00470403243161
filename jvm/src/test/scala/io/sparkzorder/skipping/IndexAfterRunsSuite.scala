// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.io.File
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicBoolean

import scala.util.Try

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.{DataFrame, Row}

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.index.{IndexReader, IndexStore}
import io.sparkzorder.skipping.scan.{OverlayTestBase, RuntimePruningScan, ZOrderFileIndex}

/** The index of a copy that INTO makes, and of runs that another statement publishes or takes back. */
class IndexAfterRunsSuite extends OverlayTestBase {

  private def content(dir: File) = {
    val conf = spark.sessionState.newHadoopConf()
    val store = new IndexStore(new Path(s"file:$dir"), conf)
    store.generations().headOption.map(g => new IndexReader(g, conf).content())
  }

  /** Each file in the index: path, length, modification time, rows. */
  private def entries(dir: File): Set[(String, Long, Long, Long)] =
    content(dir).toSeq.map(_.files).flatMap { f =>
      (0 until f.size).map(i => (f.path(i), f.lengths(i), f.modified(i), f.rows(i)))
    }.toSet

  private def listed(dir: File): Set[(String, Long, Long, Long)] = dataFiles(dir).map { f =>
    val path = if (f.folder.isEmpty) f.name else s"${f.folder}/${f.name}"
    (path, f.length, Files.getLastModifiedTime(new File(dir, path).toPath).toMillis, f.rows)
  }.toSet

  private def partitioned(dir: File): Unit =
    write(shuffled(400, 2).selectExpr("*", "id % 2 p"), dir, "p")

  /** A table whose run was committed and killed while it was published. */
  private def withHalf(body: File => Unit): Unit = withTableDir { dir =>
    partitioned(dir)
    assert(killedAt(2, dir))
    assert(content(dir).isEmpty)
    body(dir)
  }

  private def names(dir: File) = content(dir).get.columns.map(_._1.name).toSet

  private def keptOf(df: DataFrame): Long = {
    val scan = df.queryExecution.sparkPlan.collectFirst { case s: RuntimePruningScan => s }.get
    val index = scan.relation.location.asInstanceOf[ZOrderFileIndex]
    index.metrics(scan.partitionFilters, scan.dataFilters).get.kept
  }

  test("UNDO makes no entry of a file that another partition may have by name, length and time") {
    withTableDir { dir =>
      for (v <- 1 to 2) {
        val folder = new File(dir, s"p=$v")
        spark.range(0, 10, 1, 1).selectExpr(s"$v v").write.option("compression", "none")
          .parquet(folder.getPath)
        val file = new File(folder, "a.parquet")
        assert(folder.listFiles.find(_.getName.endsWith(".parquet")).get.renameTo(file))
        assert(file.setLastModified(1700000000000L))
      }
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY (v)").collect()
      sql(s"UNDO LAYOUT '$dir'").collect()
      for ((from, to) <- Seq("p=1" -> "x", "p=2" -> "p=1", "x" -> "p=2")) {
        assert(new File(dir, from).renameTo(new File(dir, to)))
      }
      assert(read(dir).where("v = 2").count() === 10)
    }
  }

  test("bounds of NaN columns are read where a folder has a colon in its name") {
    withTableDir { dir =>
      val folder = new File(dir, "p=12:30:00")
      spark.range(10).selectExpr("id", "if(id = 3, double('NaN'), double(id)) d").coalesce(1)
        .write.parquet(folder.toURI.toString)
      assert(sql(s"CREATE ZORDER INDEX ON '$dir' (d)").head().getAs[Long]("files") === 1)
      assert(keptOf(read(dir).where("d = -5")) === 0)
    }
  }

  test("INTO leaves an index in the copy, of the columns that the source's index has") {
    withTempDir { base =>
      val dir = new File(base.getCanonicalFile, "table")
      partitioned(dir)
      def copied(name: String): File = {
        val out = new File(base.getCanonicalFile, name)
        val before = snapshot(dir)
        val row =
          sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) INTO '$out' OPTIONS (${sizeFor(dir, 6)})").head()
        assert(snapshot(dir) === before)
        assert(row.getAs[scala.collection.Map[String, Long]]("phases").contains("index"))
        assert(entries(out) === listed(out) && listed(out).nonEmpty)
        out
      }
      val out = copied("default columns")
      assert(names(out) === Set("id", "a", "b", "s"))
      assert(keptOf(read(out).where("a = 5")) < dataFiles(out).size)
      sql(s"CREATE ZORDER INDEX ON '$dir' (id)").collect()
      assert(names(copied("named columns")) === Set("id", "a", "b"))
      assert(sql(s"REFRESH ZORDER INDEX ON '$out'").head().getAs[Long]("filesRead") === 0)
      // the copy is a table like any other
      optimize(s"OPTIMIZE '$out' FULL ZORDER BY (id)", out)(read(out))
      assert(entries(out) === listed(out))
    }
  }

  test("a conflict in one folder while a run is published: the files of the others are known") {
    withTableDir { dir =>
      partitioned(dir)
      val victim = new File(dir, "p=1").listFiles().filter(_.getName.endsWith(".parquet")).head
      val lost = spark.read.parquet(victim.getPath).count()
      FaultyFileSystem.withHook { (operation, path) =>
        if (operation == "rename" && path.toString.contains("/p=1/") &&
          path.getName.startsWith("_old_") && victim.exists()) {
          assert(victim.delete())
        }
      }(fails("ZORDER_PUBLISH_CONFLICT", "p=1")(sql(statement(dir))))
      assert(read(dir).count() === 400 - lost)
      val of0 = listed(dir).filter(_._1.startsWith("p=0"))
      assert(of0.size > 1)
      assert(of0.subsetOf(entries(dir)))
      // entries of files that went back are no entries of files that are there
      val found = read(dir).where("a = 5")
      assert(found.count() === read(dir).filter((r: Row) => r.getAs[Any]("a") == 5).count())
    }
  }

  /** Deletes a file of a partition, which a run is about to hide, while `statement` runs. */
  private def conflicting(dir: File, statement: String): Unit = {
    val victim = new File(dir, "p=1").listFiles().filter(_.getName.endsWith(".parquet")).head
    val _ = FaultyFileSystem.withHook { (operation, path) =>
      if (operation == "rename" && path.toString.contains("/p=1/") &&
        path.getName.startsWith("_old_") && victim.exists()) {
        assert(victim.delete())
      }
    }(fails("ZORDER_PUBLISH_CONFLICT", "p=1")(sql(statement).collect()))
  }

  private def shadow(dir: File): Unit = {
    val path = s"parquet.`faulty://${dir.getAbsolutePath}`"
    val _ = sql(
      s"OPTIMIZE TABLE $path ZORDER BY (a, b) OPTIONS ('publish' 'shadow', ${sizeFor(dir, 6)})")
      .collect()
  }

  private def publish(dir: File): String = s"PUBLISH LAYOUT 'faulty://${dir.getAbsolutePath}'"

  for (isShadow <- Seq(false, true)) {
    test(
      s"a conflict in one folder of ${if (isShadow) "PUBLISH LAYOUT" else "OPTIMIZE"}: new files of the " +
        "others are known, and old files that stay") {
      withTableDir { dir =>
        partitioned(dir)
        sql(s"CREATE ZORDER INDEX ON '$dir'").collect()
        if (isShadow) shadow(dir)
        conflicting(dir, if (isShadow) publish(dir) else statement(dir))
        val (of0, of1) = listed(dir).partition(_._1.startsWith("p=0"))
        assert(of0.size > 1 && of1.size === 1)
        assert(of0.subsetOf(entries(dir)))
        assert(of1.subsetOf(entries(dir)))
        assert(!entries(dir).exists(_._1.contains("_zorder_")))
        val found = read(dir).where("a < 500")
        assert(bag(found) === withoutExtension(bag(read(dir).where("a < 500"))))
      }
    }
  }

  test(
    "PUBLISH LAYOUT: entries of the published files alone; a failure before the commit changes none") {
    withTableDir { dir =>
      partitioned(dir)
      shadow(dir)
      val (rows, before, files) = (bag(read(dir)), entries(dir), snapshot(dir))
      assert(before.exists(_._1.contains("_zorder_")))
      // the trial renames, the last moves of hidden files and the record
      for (step <- Seq("_trial", "_new_", "_waiting", "_commits/_2")) {
        FaultyFileSystem.withHook { (operation, path) =>
          if ((operation == "rename" || operation == "create") && path.toString.contains(step)) {
            throw new FaultyFileSystem.Injected(s"$operation $path")
          }
        }(intercept[Exception](sql(publish(dir)).collect()))
        assert(entries(dir) === before, step)
        assert(bag(read(dir)) === rows, step)
        assert(withoutExtension(bag(read(dir))) === rows, step)
      }
      assert(files.keySet.filter(_.endsWith(".parquet")).subsetOf(snapshot(dir).keySet))
      sql(publish(dir)).collect()
      assert(bag(read(dir)) === rows)
      assert(entries(dir) === listed(dir))
      assert(keptOf(read(dir).where("a = 5")) < dataFiles(dir).size)
      checkState(dir)
    }
  }

  test("a conflict in one folder while RECOVER LAYOUT publishes a run: the files of the others are known") {
    withTableDir { dir =>
      partitioned(dir)
      sql(s"CREATE ZORDER INDEX ON '$dir'").collect()
      assert(killedAt(0, dir))
      val victim = new File(dir, "p=1").listFiles().filter(_.getName.endsWith(".parquet")).head
      assert(victim.delete())
      fails("ZORDER_PUBLISH_CONFLICT", "p=1")(sql(s"RECOVER LAYOUT '$dir'").collect())
      val (of0, of1) = listed(dir).partition(_._1.startsWith("p=0"))
      assert(of0.size > 1 && of1.size === 1)
      assert(of0.subsetOf(entries(dir)))
      assert(of1.subsetOf(entries(dir)))
    }
  }

  private def recover(dir: File): String = s"RECOVER LAYOUT 'faulty://${dir.getAbsolutePath}'"

  /** The renames that hide the inputs in `p=1` fail. */
  private def denied[T](body: => T): T = FaultyFileSystem.withHook { (operation, path) =>
    if (operation == "rename" && path.toString.contains("/p=1/") && path.getName.startsWith(
        "_old_"))
      throw new FaultyFileSystem.Injected(path.toString)
  }(body)

  test("RECOVER LAYOUT ABANDON: the files of folders in which the run stays published are known") {
    withTableDir { dir =>
      partitioned(dir)
      sql(s"CREATE ZORDER INDEX ON '$dir'").collect()
      val before = listed(dir)
      denied(intercept[Exception](sql(statement(dir)).collect()))
      denied(sql(s"${recover(dir)} ABANDON").collect())
      val (of0, of1) = listed(dir).partition(_._1.startsWith("p=0"))
      assert(of0.nonEmpty && of0.intersect(before).isEmpty && of1.subsetOf(before))
      assert(entries(dir) === listed(dir))
    }
  }

  test("RECOVER LAYOUT ABANDON makes no index if all files of the run are taken back") {
    withTableDir { dir =>
      partitioned(dir)
      assert(killedAt(0, dir))
      sql(s"RECOVER LAYOUT '$dir' ABANDON").collect()
      assert(content(dir).isEmpty)
    }
  }

  test("an error while the second of two runs is published: the files of the first run are known") {
    withTableDir { dir =>
      partitioned(dir)
      sql(s"CREATE ZORDER INDEX ON '$dir'").collect()
      def optimize(p: Int) = Try(sql(statement(dir, s"WHERE p = $p")).collect())
      val once = new AtomicBoolean
      // the second run is committed before the first one, and both die before their publish
      FaultyFileSystem.withHook { (operation, path) =>
        if (operation == "list" && hidden(dir, "_new_").nonEmpty && once.compareAndSet(
            false,
            true)) {
          val _ = optimize(0)
        }
        if (operation == "rename" && path.getName.startsWith("_old_"))
          throw new FaultyFileSystem.Injected(path.toString)
      }(optimize(1))
      val open = sql(s"SHOW LAYOUT HISTORY '$dir'").collect().map(_.getAs[String]("status")).toSeq
      assert(open === Seq.fill(2)("committed, not published"))
      denied(intercept[Exception](sql(recover(dir)).collect()))
      sql(s"RECOVER LAYOUT '$dir'").collect()
      assert(entries(dir) === listed(dir))
    }
  }

  test("INTO of a table without rows") {
    withTempDir { base =>
      val dir = new File(base.getCanonicalFile, "table")
      shuffled(10, 1).where("id < 0").write.parquet(dir.getPath)
      val out = new File(base.getCanonicalFile, "out")
      sql(s"OPTIMIZE '$dir' ZORDER BY (a) INTO '$out'").collect()
      assert(!new File(out, "_zorder").exists())
    }
  }

  for (statement <- Seq("RECOVER LAYOUT", "VACUUM LAYOUT")) {
    test(s"$statement: entries of the run that it publishes, none of what was replaced") {
      withHalf { dir =>
        val rows = bag(read(dir))
        sql(s"$statement '$dir'").collect()
        assert(entries(dir) === listed(dir))
        assert(names(dir) === Set("id", "a", "b", "s"))
        assert(bag(read(dir)) === rows)
        checkState(dir)
        assert(keptOf(read(dir).where("a = 5")) < dataFiles(dir).size)
      }
    }
  }

  test("OPTIMIZE: entries of the run that it finds half-published and leaves as it is") {
    withHalf { dir =>
      val rows = bag(read(dir))
      sql(s"OPTIMIZE '$dir' FULL WHERE p = 0 ZORDER BY (b)").collect()
      assert(entries(dir) === listed(dir))
      assert(bag(read(dir)) === rows)
    }
  }

  test("UNDO LAYOUT: entries of the files that are back, but no index where there was none") {
    withTableDir { dir =>
      partitioned(dir)
      val before = listed(dir)
      sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)").collect()
      sql(s"UNDO LAYOUT '$dir'").collect()
      assert(listed(dir) === before && entries(dir) === before)
      sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)").collect()
      sql(s"DROP ZORDER INDEX ON '$dir'").collect()
      sql(s"UNDO LAYOUT '$dir'").collect()
      assert(content(dir).isEmpty)
    }
  }

  test("an index that cannot be written or read costs no statement anything") {
    withHalf { dir =>
      val rows = bag(read(dir))
      Files.write(new File(dir, "_zorder/_index").toPath, "in the way".getBytes)
      sql(s"RECOVER LAYOUT '$dir'").collect()
      assert(bag(read(dir)) === rows)
      assert(Files.deleteIfExists(new File(dir, "_zorder/_index").toPath))
      checkState(dir)
    }
  }
}
