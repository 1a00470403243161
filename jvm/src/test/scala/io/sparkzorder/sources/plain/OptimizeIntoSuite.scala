// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import java.io.File
import java.nio.file.Files
import java.util.concurrent.{Callable, CountDownLatch, Executors}

import scala.util.Try

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.Row

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.commands.FaultyTables
import io.sparkzorder.errors.ZOrderException

/** OPTIMIZE ... INTO and DRY RUN: the source stays as it is. */
class OptimizeIntoSuite extends FaultyTables {

  override protected def codegen: Boolean = true

  test("INTO an empty or missing directory leaves the source alone") {
    withTempDir { base =>
      val dir = new File(base, "table")
      write(shuffled(1000, 4).selectExpr("*", "concat('x=', id % 3) p"), dir, "p")
      val before = snapshot(dir)
      val rows = bag(read(dir))
      val empty = new File(base, "empty")
      assert(empty.mkdir())
      for (out <- Seq(empty, new File(base, "missing/below"))) {
        val row = sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) INTO '$out' " +
          s"OPTIONS (${sizeFor(dir, 6)})").head()
        assert(snapshot(dir) === before)
        assert(bag(read(out)) === rows)
        val written = dataFiles(out)
        val m = row.getAs[Row]("metrics")
        assert(m.getAs[Long]("numFilesAdded") === written.size)
        assert(m.getAs[Row]("filesAdded").getAs[Long]("totalSize") === written.map(_.length).sum)
        assert(m.getAs[Long]("numFilesRemoved") === 0)
        assert(m.getAs[Long]("retainedBytes") === 0)
        assert(m.getAs[Long]("numRows") === 1000)
        assert(m.isNullAt(m.fieldIndex("retainedUntil")))
        assert(written.map(_.folder).toSet === dataFiles(dir).map(_.folder).toSet)
        val others = snapshot(out).filter(_._2._2 != "directory").keySet.map(_.split('/').last)
          .filterNot(n => n.endsWith(".parquet") || n.startsWith("_id_"))
        assert(others === Set("_SUCCESS", "_README", "_1"))
        assert(new File(out, "_zorder/_index/_1").isFile)
        checkState(out)
        val again = fails("ZORDER_TARGET_NOT_EMPTY")(sql(s"OPTIMIZE '$dir' INTO '$out'"))
        assert(again.getMessage.contains(out.getName))
      }
      for (inside <- Seq("inside", "_zorder/inside"))
        fails("ZORDER_PATH_IN_TABLE")(sql(s"OPTIMIZE '$dir' INTO '$dir/$inside'"))
      intercept[ZOrderException](sql(s"OPTIMIZE '$dir' INTO '$dir'"))
      // also if nothing in it is data
      val hidden = new File(base, "hidden/_SUCCESS")
      assert(hidden.getParentFile.mkdir() && hidden.createNewFile())
      fails("ZORDER_TARGET_NOT_EMPTY", "hidden", "_SUCCESS")(
        sql(s"OPTIMIZE '$dir' INTO '$base/hidden'"))
      fails("ZORDER_TARGET_NOT_EMPTY")(
        sql(s"OPTIMIZE '$dir' INTO '${dataFilesAsFiles(out = empty).head}'"))
      assert(snapshot(dir) === before)
    }
  }

  test("INTO refuses a table that has another one in a partition: its records are not followed") {
    withTableDir { dir =>
      write(shuffled(200, 2).selectExpr("*", "id % 2 p"), dir, "p")
      withTable("inner") {
        sql("CREATE TABLE inner (id LONG, a INT, b LONG, s STRING) USING parquet " +
          s"LOCATION '$dir/p=1'")
        sql("OPTIMIZE TABLE inner ZORDER BY a").collect()
      }
      withTempDir { out =>
        val copy = new File(out, "copy")
        val error = fails("ZORDER_UNSUPPORTED_TABLE")(
          sql(s"OPTIMIZE '$dir' ZORDER BY a INTO '$copy'"))
        assert(error.getMessage.contains("another table in it"))
        assert(!copy.exists())
        sql(s"OPTIMIZE '$dir' WHERE p = 0 ZORDER BY a INTO '$copy'").collect()
        assert(bag(read(copy).drop("p")) === bag(read(dir).where("p = 0").drop("p")))
      }
    }
  }

  test("of two INTOs that found one directory empty, one writes and the other one says why not") {
    withTempDir { base =>
      val out = new Path(new File(base, "copy").toURI)
      val conf = spark.sessionState.newHadoopConf()
      val (first, second) = (new IntoDirectory(out, conf), new IntoDirectory(out, conf))
      first.requireEmpty()
      second.requireEmpty()
      first.claim("1")
      fails("ZORDER_TARGET_NOT_EMPTY", "_zorder_into")(second.claim("2"))
      fails("ZORDER_TARGET_NOT_EMPTY", "_zorder_into")(second.requireEmpty())
      assert(first.foreign(Set("1")).isEmpty)
      // of a statement that is about to lose the race for the claim, and of another one
      val (losing, other) =
        (new File(base, "copy/_tmp_2__zorder_into"), new File(base, "copy/_tmp_2"))
      assert(losing.createNewFile() && first.foreign(Set("1")).isEmpty)
      assert(other.createNewFile() && first.foreign(Set("1")).contains("_tmp_2"))
      assert(losing.delete() && other.delete())
      first.release()
      second.requireEmpty()
      // the first statement fails after it has released the directory
      second.claim("2")
      first.giveUp()
      assert(new File(base, s"copy/${IntoDirectory.Claim}").exists())
      second.release()

      // the first statement has ended before the second one claims the directory
      val complete = new File(base, "copy/part-00000-1-c000.parquet")
      assert(complete.createNewFile())
      fails("ZORDER_TARGET_NOT_EMPTY", complete.getName)(second.claim("2"))
      assert(new File(base, "copy").list().toSeq === Seq(complete.getName))
      assert(complete.delete())
      second.requireEmpty()

      val dir = new File(base, "table")
      write(shuffled(500, 3), dir)
      val go = new CountDownLatch(1)
      val pool = Executors.newFixedThreadPool(2)
      try {
        val ends = (1 to 2).map(_ =>
          pool.submit(new Callable[Try[Array[Row]]] {
            override def call(): Try[Array[Row]] = {
              go.await()
              Try(sql(s"OPTIMIZE '$dir' ZORDER BY a INTO '${out.toUri}'").collect())
            }
          }))
        go.countDown()
        val failed = ends.map(_.get()).flatMap(_.failed.toOption)
        assert(failed.size === 1)
        assert(failed.head.getMessage.contains("ZORDER_TARGET_NOT_EMPTY"), failed.head)
        assert(bag(read(new File(base, "copy"))) === bag(read(dir)))
      } finally pool.shutdown()
    }
  }

  test("INTO refuses a directory in the source that has another name") {
    withTempDir { base =>
      val dir = new File(base, "table")
      write(shuffled(100, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val before = snapshot(dir)
      def link(name: String, to: File): File =
        Files.createSymbolicLink(new File(base, name).toPath, to.toPath).toFile
      val (whole, part) = (link("whole", dir), link("part", new File(dir, "p=1")))
      for ((source, out) <- Seq(dir -> s"$whole/copy", dir -> s"$part/a/b", whole -> s"$dir/copy"))
        fails("ZORDER_PATH_IN_TABLE")(sql(s"OPTIMIZE '$source' ZORDER BY a INTO '$out'"))
      assert(snapshot(dir) === before)
    }
  }

  test("an error after _SUCCESS was made: no mark of a copy whose files are removed") {
    withTempDir { base =>
      val dir = new File(base, "table")
      write(shuffled(100, 2), dir)
      val out = new File(base, "copy")
      FaultyFileSystem.withHook { (operation, path) =>
        if (operation == "create" && path.getName == "_SUCCESS") {
          assert(new File(path.toUri.getPath).createNewFile())
          throw new IllegalStateException("the thread was interrupted")
        }
      }(intercept[Exception](
        sql(s"OPTIMIZE '$dir' ZORDER BY a INTO 'faulty://$out'").collect()))
      assert(!out.exists())
    }
  }

  test("INTO of a table without rows leaves the claim of another INTO alone") {
    withTempDir { base =>
      val (dir, out) = (new File(base, "table"), new File(base.getCanonicalFile, "out"))
      shuffled(10, 1).where("id < 0").write.parquet(dir.getPath)
      val claim = new File(out, IntoDirectory.Claim)
      FaultyFileSystem.withHook { (operation, path) =>
        if (operation == "mkdirs" && path.toUri.getPath == out.getPath && !out.exists()) {
          assert(out.mkdir() && claim.createNewFile())
        }
      } {
        fails("ZORDER_TARGET_NOT_EMPTY", claim.getName) {
          sql(s"OPTIMIZE '$dir' ZORDER BY (a) INTO 'faulty://$out'").collect()
        }
      }
      assert(out.list() === Array(claim.getName))
    }
  }

  test("INTO refuses partitions whose directories do not tell their values") {
    def add(folders: String*)(body: File => Unit): Unit = withTempDir { out =>
      withTable("t") {
        sql("CREATE TABLE t (a INT, day DATE, n INT) USING parquet PARTITIONED BY (day, n)")
        sql("INSERT INTO t VALUES (1, DATE '2026-01-05', 7), (2, NULL, 7)")
        val dir = locationOf("t")
        folders.zipWithIndex.foreach { case (folder, i) =>
          sql(
            s"ALTER TABLE t ADD PARTITION (day = '2026-02-0${i + 1}', n = 1) LOCATION '$dir/$folder'")
          sql(s"INSERT INTO t VALUES ($i, DATE '2026-02-0${i + 1}', 1)")
        }
        body(new File(out, "copy"))
      }
    }
    def into(out: File) = sql(s"OPTIMIZE t ZORDER BY a INTO '$out'").collect()
    // also with another spelling of the same value
    add("day=2026-02-01/n=01") { out =>
      into(out)
      assert(bag(read(out).select("a", "day", "n")) === bag(spark.table("t")))
    }
    val misnamed = Seq("archive", "day=2026-02-01_v2/n=1", "n=1/day=2026-02-01", "day=2026-02-01")
    (misnamed.map(Seq(_)) :+ Seq("day=2026-02-01/n=1", "day=2026-02-01/n=1")).foreach { folders =>
      add(folders: _*) { out =>
        fails("ZORDER_UNSUPPORTED_TABLE", "does not tell the values", folders.last)(into(out))
        assert(!out.exists())
      }
    }
  }

  test("INTO without columns copies every file, small or not") {
    withTempDir { base =>
      val dir = new File(base, "table")
      write(shuffled(3000, 1).selectExpr("*", "0 p"), dir, "p")
      write(shuffled(60, 3).selectExpr("*", "0 p"), new File(base, "more"), "p")
      for (f <- dataFilesAsFiles(new File(base, "more"))) {
        assert(f.renameTo(new File(dir, s"p=0/${f.getName}")))
      }
      // one small file alone in its folder
      write(shuffled(10, 1).selectExpr("*", "1 p"), new File(base, "alone"), "p")
      assert(new File(base, "alone/p=1").renameTo(new File(dir, "p=1")))
      val before = snapshot(dir)
      val out = new File(base, "out")
      sql(s"OPTIMIZE '$dir' INTO '$out' OPTIONS ('targetFileSize' '4k')").collect()
      assert(bag(read(out)) === bag(read(dir)))
      assert(snapshot(dir) === before)
    }
  }

  private def dataFilesAsFiles(out: File): Seq[File] =
    dataFiles(out).map(f => new File(new File(out, f.folder), f.name))

  test("DRY RUN writes nothing and predicts the shares") {
    withTableDir { dir =>
      write(shuffled(6000, 8), dir)
      val before = snapshot(dir)
      val clauses = s"ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 16)})"
      val plan = sql(s"OPTIMIZE '$dir' $clauses DRY RUN").head()
      assert(snapshot(dir) === before)
      assert(plan.getAs[Boolean]("dryRun"))
      val row = optimize(s"OPTIMIZE '$dir' $clauses", dir)(read(dir))
      def files(r: Row) = r.getAs[Row]("metrics").getAs[Long]("numFilesAdded")
      assert(files(plan) === files(row))
      gains(plan).zip(gains(row)).foreach { case (p, r) =>
        assert(p.getDouble(1) === r.getDouble(1))
        assert(p.getDouble(3) === r.getDouble(3))
        assert(math.abs(p.getDouble(2) - r.getDouble(2)) <= 0.1 * r.getDouble(2), s"$p $r")
      }
      def size(r: Row) =
        r.getAs[Row]("metrics").getAs[Row]("filesAdded").getAs[Long]("totalSize").toDouble
      assert(size(plan) / size(row) > 0.6 && size(plan) / size(row) < 1.7)
      assert(plan.getAs[Row]("metrics").getAs[Long]("numRows") === 6000)
      val committed = snapshot(dir)
      assert(sql(s"OPTIMIZE '$dir' DRY RUN").count() === 1)
      withTempDir { other =>
        sql(s"OPTIMIZE '$dir' $clauses DRY RUN").collect()
        sql(s"OPTIMIZE '$dir' ZORDER BY a INTO '$other/x' DRY RUN").collect()
        assert(!new File(other, "x").exists())
      }
      assert(snapshot(dir) === committed)
    }
  }
}
