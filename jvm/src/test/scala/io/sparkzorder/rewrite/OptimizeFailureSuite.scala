// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import java.io.File
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger

import scala.util.{Failure, Success, Try}

import org.scalatest.tagobjects.Slow

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.commands.FaultyTables

/** A failure before the commit leaves every file as it was; one after it is rolled forward. */
class OptimizeFailureSuite extends FaultyTables {

  private def untouched(dir: File)(body: => Unit): Unit = {
    val before = userFiles(dir)
    body
    assert(userFiles(dir) === before)
    checkState(dir)
    assert(!new File(dir, "_zorder/_commits/_1").exists())
  }

  test("metadata that cannot be listed may be Iceberg's, so nothing is replaced") {
    withTableDir { dir =>
      write(shuffled(200, 2), dir)
      assert(new File(dir, "metadata").mkdir())
      val before = userFiles(dir)
      // the first look decides which command it is, the second is the check; Spark lists the directory later
      val looks = new AtomicInteger
      FaultyFileSystem.withHook { (operation, path) =>
        if (operation == "list" && path.getName == "metadata" && looks.getAndIncrement() < 2) {
          throw new java.io.IOException("not now")
        }
      }(intercept[java.io.IOException](sql(statement(dir)).collect()))
      assert(userFiles(dir) === before)
    }
  }

  test("a file whose data pages are corrupt") {
    withTableDir { dir =>
      write(shuffled(2000, 2), dir)
      val file = new File(dir, dataFiles(dir).head.name)
      val bytes = Files.readAllBytes(file.toPath)
      java.util.Arrays.fill(bytes, 4, bytes.length / 2, 0x5a.toByte)
      Files.write(file.toPath, bytes)
      withSQLConf("spark.sql.files.ignoreCorruptFiles" -> "true") {
        untouched(dir) {
          val e = intercept[Exception](sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)"))
          assert(Iterator.iterate(e: Throwable)(_.getCause).takeWhile(_ != null)
            .exists(_.toString.contains(file.getName)))
        }
      }
    }
  }

  test("any task's file, any rename before the commit", Slow) {
    withTableDir { dir =>
      write(shuffled(600, 3), dir)
      def staged(operation: String, path: org.apache.hadoop.fs.Path) =
        operation == "create" && path.getName.startsWith("_new_")
      for (k <- 0 until 3) untouched(dir) {
        val (e, failed) = FaultyFileSystem.failing(k)(staged) {
          intercept[Throwable](sql(statement(dir)))
        }
        assert(failed)
        assert(Iterator.iterate(e: Throwable)(_.getCause).takeWhile(_ != null)
          .exists(_.toString.contains("injected")))
      }
      untouched(dir) {
        // a listing that fails is tried again
        def changes(o: String, p: org.apache.hadoop.fs.Path) =
          o != "list" && p.toString.contains("_commits")
        FaultyFileSystem.failing(0)(changes)(intercept[Throwable](sql(statement(dir))))
      }
      optimize(statement(dir), dir)(read(dir))
    }
  }

  test("killed while it tries a rename: VACUUM leaves nothing of it") {
    withTableDir { dir =>
      write(shuffled(400, 4), dir)
      val before = userFiles(dir)
      val (_, killed) =
        killedAt(0)((o, path) => o == "rename" && path.getName == "_waiting")(
          sql(statement(dir)).collect())
      def ofRun = dir.list().filter(_.startsWith("_zorder_")).toSeq
      assert(killed && ofRun.exists(_.endsWith("_trial")))
      sql(s"VACUUM LAYOUT ${faulty(dir)} RETAIN 0 HOURS").collect()
      assert(ofRun === Nil && userFiles(dir) === before)
    }
  }

  test("an input that is gone while the new files are made ready is a conflict") {
    withTableDir { dir =>
      write(shuffled(400, 4), dir)
      val victim = new File(dir, dataFiles(dir).head.name)
      meanwhile((o, path) => o == "create" && path.getName == "_waiting")(
        Files.delete(victim.toPath)) {
        fails("ZORDER_CONFLICT", victim.getName)(sql(statement(dir)))
      }
      assert(!victim.exists)
      checkState(dir)
    }
  }

  test("INTO is emptied again after a failure") {
    withTempDir { base =>
      val dir = new File(base, "table")
      write(shuffled(600, 3).selectExpr("*", "id % 2 p"), dir, "p")
      val before = snapshot(dir)
      FaultyFileSystem.failing(2)((o, p) => o == "create" && p.toString.contains("/out/")) {
        intercept[Throwable](sql(statement(dir, s"INTO ${faulty(new File(base, "out"))}")))
      }
      assert(snapshot(dir) === before)
      assert(Option(new File(base, "out").list()).toSeq.flatten === Nil)
    }
  }

  test("the second batch fails: the first is in, and the session sees it") {
    withTable("t") {
      withTableDir { dir =>
        write(shuffled(400, 2).selectExpr("*", "id % 2 p"), dir, "p")
        sql(s"CREATE TABLE t USING parquet LOCATION ${faulty(dir)}")
        sql("MSCK REPAIR TABLE t")
        val expected = bag(spark.table("t"))
        val limit = dataFiles(dir).groupBy(_.folder).map(_._2.map(_.length).sum).max
        val (_, failed) = FaultyFileSystem.failing(1)((o, p) =>
          o == "create" && p.getName.startsWith("_new_")) {
          intercept[Throwable](
            sql(s"OPTIMIZE t ZORDER BY a OPTIONS ('batchSize' '$limit')"))
        }
        assert(failed)
        assert(dataFiles(dir).map(_.folder) === Seq("p=0", "p=1", "p=1"))
        assert(bag(spark.table("t")) === expected)
        checkState(dir)
      }
    }
  }

  for ((k, tags) <- Seq(3 -> Nil, 0 -> Seq(Slow), 2 -> Seq(Slow), 5 -> Seq(Slow))) test(
    s"killed at rename $k of publishing: the next OPTIMIZE rolls forward",
    tags: _*) {
    withTableDir { dir =>
      write(shuffled(300, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val expected = bag(read(dir))
      val run = Try(FaultyFileSystem.failing(k)(isPublishing)(sql(
        s"OPTIMIZE ${faulty(dir)} ZORDER BY (a, b)").collect()))
      run match {
        case Success((_, failed)) => assert(!failed)
        case Failure(_) =>
          assert(new File(dir, "_zorder/_commits/_1").exists())
          assert(!new File(dir, "_zorder/_commits/_1_done").exists())
      }
      // a copy elsewhere must not take a half-published table for the whole
      val out = new File(dir.getParentFile, s"out$k")
      sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY a INTO '$out'").collect()
      assert(bag(read(out)) === expected, s"INTO after a kill at rename $k")
      sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY a").collect()
      assert(bag(read(dir)) === expected)
      checkState(dir)
    }
  }

  test("a directory that may not be written: the table's, one partition's, that of INTO") {
    withTableDir { dir =>
      write(shuffled(400, 2).selectExpr("*", "id % 2 p"), dir, "p")
      // on this scheme Hadoop goes by the permission bits, whoever runs the tests
      for (closed <- Seq(dir, new File(dir, "p=1"))) {
        Files.setPosixFilePermissions(closed.toPath, PosixFilePermissions.fromString("r-xr-xr-x"))
        val before = snapshot(dir)
        fails("ZORDER_DIRECTORY_NOT_WRITABLE", closed.getName, "WHERE", "INTO") {
          sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY (a, b)")
        }
        assert(snapshot(dir) === before)
        Files.setPosixFilePermissions(closed.toPath, PosixFilePermissions.fromString("rwxr-xr-x"))
      }
      val closed = new File(dir.getParentFile, "closed")
      assert(closed.mkdir())
      Files.setPosixFilePermissions(closed.toPath, PosixFilePermissions.fromString("r-xr-xr-x"))
      fails("ZORDER_DIRECTORY_NOT_WRITABLE", closed.getName) {
        sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY a INTO ${faulty(new File(closed, "new/x"))}")
      }
      assert(closed.list().toSeq === Nil)
    }
  }

  test("cancelled by its job group while it writes: the old table, and nothing is left") {
    withTableDir { dir =>
      write(shuffled(600, 3), dir)
      val begun = new CountDownLatch(1)
      val group = "cancel-me"
      val thread = new Thread(() => {
        begun.await()
        spark.sparkContext.cancelJobGroup(group)
      })
      thread.start()
      untouched(dir) {
        FaultyFileSystem.withHook { (operation, path) =>
          if (operation == "create" && path.getName.startsWith("_new_")) {
            begun.countDown()
            // the task is killed before it is done
            Thread.sleep(2000)
          }
        } {
          spark.sparkContext.setJobGroup(group, "an OPTIMIZE to cancel", interruptOnCancel = true)
          try intercept[Throwable](sql(statement(dir)))
          finally {
            // also when it failed before it wrote
            begun.countDown()
            spark.sparkContext.clearJobGroup()
          }
        }
        thread.join()
      }
      assert(runDirectories(dir) === Nil)
      optimize(statement(dir), dir)(read(dir))
    }
  }
}
