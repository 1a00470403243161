// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import java.io.File
import java.nio.file.Files
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.hadoop.fs.Path
import org.scalatest.tagobjects.Slow

import org.apache.spark.SparkConf
import org.apache.spark.sql.DataFrame

import io.sparkzorder.{FaultyFileSystem, Steps, StoreFileSystem}
import io.sparkzorder.commands.FaultyTables
import io.sparkzorder.log.History
import io.sparkzorder.sources.plain.TrustedStores
import io.sparkzorder.util.ObjectStore

/** Layouts beside the files of tables on an object store, where nothing can be renamed. */
class StoreShadowSuite extends FaultyTables with Steps {

  override protected def sparkConf: SparkConf =
    StoreFileSystem.settings.foldLeft(super.sparkConf) { case (conf, (k, v)) => conf.set(k, v) }

  private def on(dir: File): String = s"gs://${dir.getAbsolutePath}"

  private def zorder(dir: File, more: String = ""): Array[org.apache.spark.sql.Row] =
    sql(s"OPTIMIZE '${on(dir)}' ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 8)} $more)").collect()

  private def table(dir: File): DataFrame = spark.read.parquet(on(dir))

  private def visible(dir: File): Map[Any, Int] =
    withoutExtension(bag(table(dir)))

  private def isShadowed(dir: File): Boolean =
    listedFiles(table(dir)).exists(_.contains("/_zorder_"))

  private def requests[T](body: => T): Seq[(String, Path)] = {
    val seen = new ConcurrentLinkedQueue[(String, Path)]
    FaultyFileSystem.withHook((operation, path) => {
      val _ = seen.add(operation -> path)
    }) {
      val _ = body
    }
    seen.asScala.toSeq
  }

  test("OPTIMIZE, append, OPTIMIZE, UNDO, VACUUM, and no rename", Slow) {
    withTableDir { dir =>
      write(shuffled(2000, 3).selectExpr("*", "id % 2 p"), dir, "p")
      val before = userFiles(dir)
      zorder(dir)
      assert(isShadowed(dir))
      assert(bag(table(dir)) === visible(dir))
      write(shuffled(500, 1).selectExpr("id + 10000 id", "a", "b", "s", "id % 2 p"), dir, "p")
      zorder(dir)
      assert(bag(table(dir)) === visible(dir))
      sql(s"REFRESH ZORDER INDEX ON '${on(dir)}' (s)").collect()
      assert(table(dir).where("a = 17 AND s = 's7'").count() ===
        read(dir).where("a = 17 AND s = 's7'").count())
      sql(s"VACUUM LAYOUT '${on(dir)}' RETAIN 0 HOURS").collect()
      assert(bag(table(dir)) === visible(dir))
      fails("ZORDER_IN_PLACE_UNSAFE_FILE_SYSTEM", "gs", "INTO")(
        sql(s"PUBLISH LAYOUT '${on(dir)}'").collect())
      fails("ZORDER_IN_PLACE_UNSAFE_FILE_SYSTEM")(zorder(dir, ", 'publish' 'rename'"))
      sql(s"UNDO LAYOUT '${on(dir)}'").collect()
      assert(bag(table(dir)) === visible(dir))
      sql(s"UNDO LAYOUT '${on(dir)}'").collect()
      assert(!isShadowed(dir))
      sql(s"VACUUM LAYOUT '${on(dir)}' RETAIN 0 HOURS").collect()
      assert(runDirectories(dir) === Nil)
      for ((f, content) <- before if f.endsWith(".parquet")) {
        assert(userFiles(dir).get(f).contains(content))
      }
    }
  }

  test("a table whose directory has the name of a partition is found by its path, and by that of a partition") {
    withTableDir { parent =>
      val dir = new File(parent, "kind=orders")
      write(shuffled(1000, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val expected = visible(dir)
      withTable("t") {
        sql(s"CREATE TABLE t USING parquet LOCATION '${on(dir)}'")
        sql("MSCK REPAIR TABLE t")
        sql(s"OPTIMIZE t ZORDER BY (a, b) OPTIONS (${sizeFor(dir, 8)})").collect()
        assert(isShadowed(dir))
        assert(bag(table(dir)) === expected)
        assert(isShadowed(new File(dir, "p=1")))
        assert(table(new File(dir, "p=1")).count() === 500)
      }
    }
  }

  test("a file that is written again during the run, in the same second with the same length") {
    withTableDir { dir =>
      val fs = new Path(on(dir)).getFileSystem(spark.sessionState.newHadoopConf())
      write(shuffled(1000, 2), dir)
      val file = new Path(on(dir), dataFiles(dir).head.name)
      val bytes = Files.readAllBytes(new File(file.toUri.getPath).toPath)
      def put(): Unit = {
        val out = fs.create(file, true)
        out.write(bytes)
        out.close()
      }
      put()
      val time = new File(file.toUri.getPath).lastModified
      fails("ZORDER_CONFLICT", "overwritten")(
        meanwhile((o, p) => o == "put" && p.getName.startsWith("_new_")) {
          FaultyFileSystem.withoutHook(put())
          assert(new File(file.toUri.getPath).setLastModified(time))
        }(zorder(dir)))
      assert(!isShadowed(dir))
      assert(hidden(dir, "_new_") === Nil)
    }
  }

  test("a store that creates an object twice is refused, and nothing is left there") {
    withTableDir { dir =>
      write(shuffled(500, 2), dir)
      val before = snapshot(dir)
      StoreFileSystem.lies = true
      TrustedStores.forget()
      try fails("ZORDER_STORE_UNSAFE", "gs:", "INTO")(zorder(dir))
      finally StoreFileSystem.lies = false
      assert(snapshot(dir).filterNot(_._2._2 == "directory") ===
        before.filterNot(_._2._2 == "directory"))
    }
  }

  test("of several creators of one object one succeeds") {
    withTableDir { dir =>
      val fs = new Path(on(dir)).getFileSystem(spark.sessionState.newHadoopConf())
      for (round <- 0 until 20) {
        val winners = new AtomicInteger
        val threads = (0 until 4).map { i =>
          new Thread(() => {
            val isFirst = ObjectStore.create(fs, new Path(on(dir), s"_$round"), Array(i.toByte))
            if (isFirst) { val _ = winners.incrementAndGet() }
          })
        }
        threads.foreach(_.start())
        threads.foreach(_.join())
        assert(winners.get === 1)
      }
    }
  }

  test("a query sends at most three requests more than Spark itself when nothing has changed") {
    withTableDir { dir =>
      write(shuffled(2000, 3).selectExpr("*", "id % 3 p"), dir, "p")
      zorder(dir)
      write(shuffled(500, 1).selectExpr("id + 10000 id", "a", "b", "s", "id % 3 p"), dir, "p")
      zorder(dir)
      def looks() = requests(table(dir).where("a = 17").collect())
        .filterNot { case (o, p) => o == "open" && !p.toString.contains("/_zorder/") }
        // Spark itself asks for the status of each file that it opens
        .filterNot { case (o, p) => o == "status" && p.getName.matches("(part-|_new_).*") }
      looks()
      val own = looks()
      val plain = withoutExtension(looks())
      val more = own.diff(plain)
      info(s"${plain.size} requests of Spark, and ${more.mkString(", ")}")
      assert(own.size - plain.size <= 3)
    }
  }

  test("the answer to a put is lost: the statement goes on") {
    withTableDir { dir =>
      write(shuffled(1000, 2), dir)
      var lost = 0
      FaultyFileSystem.withHook { (operation, path) =>
        if (operation == "answer" && Seq("_commits/_1", "_runs/_").exists(path.toString.contains) &&
          !path.getName.contains("_done")) {
          lost += 1
          throw new FaultyFileSystem.Injected(s"answer of $path")
        }
      }(zorder(dir))
      assert(lost >= 2)
      assert(isShadowed(dir))
      assert(bag(table(dir)) === visible(dir))
    }
  }

  test("two drivers: the one that commits first wins", Slow) {
    withTableDir { dir =>
      write(shuffled(1000, 2), dir)
      fails("ZORDER_CONFLICT")(
        meanwhile((o, p) => o == "put" && p.toString.endsWith("_commits/_1")) {
          FaultyFileSystem.withoutHook(zorder(dir))
        }(zorder(dir)))
      assert(isShadowed(dir))
      assert(bag(table(dir)) === visible(dir))
      assert(sql(s"SHOW LAYOUT HISTORY '${on(dir)}'").count() === 1)
    }
  }

  testSteps(
    "killed at a request that changes something: the rows stay, and the next run works",
    27) { step =>
    withTableDir { dir =>
      write(shuffled(400, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val rows = bag(read(dir))
      def isChange(o: String, p: Path): Boolean = o == "put" || o == "delete" || o == "answer"
      var (k, isKilled) = (0, true)
      while (isKilled) {
        withCopy(dir) { copy =>
          val (result, killed) = killedAt(k)(isChange)(zorder(copy))
          isKilled = killed
          assert(killed || result.isSuccess, s"at $k: $result")
          History.forget(on(copy))
          withClue(s"killed at $k: ") {
            assert(bag(table(copy)) === rows)
            assert(visible(copy) === rows)
            assert(Try(zorder(copy)).isSuccess)
            assert(bag(table(copy)) === rows)
            sql(s"VACUUM LAYOUT '${on(copy)}' RETAIN 0 HOURS").collect()
            assert(bag(table(copy)) === rows)
          }
        }
        k += step
      }
      info(s"killed at one of $step of $k requests")
    }
  }
}
