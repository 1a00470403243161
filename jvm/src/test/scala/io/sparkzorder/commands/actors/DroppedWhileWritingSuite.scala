// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.actors

import java.io.File

import scala.util.Try

import org.apache.commons.io.FileUtils
import org.apache.hadoop.fs.Path
import org.scalatest.tagobjects.Slow

import io.sparkzorder.commands.FaultyTables
import io.sparkzorder.log.{Intent, Intents, StateDirectory}

/** Tables that are dropped or overwritten while tasks write: no task makes a directory again. */
class DroppedWhileWritingSuite extends FaultyTables {

  /** Runs `change` when a task is about to create its file. */
  private def whileWriting[T](change: => Unit)(body: => T): T =
    meanwhile((operation, path) => operation == "create" && path.getName.startsWith("_new_")) {
      // a statement cannot run in the thread of a task
      var failure = Option.empty[Throwable]
      val other = new Thread(() => failure = Try(change).failed.toOption)
      other.start()
      other.join()
      failure.foreach(throw _)
    }(body)

  // for each change DROP TABLE, which removes the directory, too
  for ((what, folder) <- Seq("directory" -> "", "partition" -> "p=1")) test(
    s"the $what is removed while tasks write: a conflict, and it stays away",
    Slow) {
    withTableDir { dir =>
      write(shuffled(200, 2).selectExpr("*", "id % 3 p"), dir, "p")
      whileWriting(FileUtils.deleteDirectory(new File(dir, folder))) {
        fails("ZORDER_CONFLICT")(sql(statement(dir)).collect())
      }
      assert(!new File(dir, folder).exists())
      if (folder.nonEmpty) {
        assert(runDirectories(dir) === Nil)
        checkState(dir)
      }
    }
  }

  test("DROP TABLE while tasks write: the name and the place are free") {
    withTable("t") {
      shuffled(200, 2).write.saveAsTable("t")
      val dir = locationOf("t")
      whileWriting(sql("DROP TABLE t")) {
        fails("ZORDER_CONFLICT")(sql(statement(dir)).collect())
      }
      assert(!dir.exists())
      shuffled(10, 1).write.saveAsTable("t")
      assert(spark.table("t").count() === 10)
    }
  }

  test("the directory is removed before a run announces itself: it stays away") {
    withTableDir { dir =>
      val state = new StateDirectory(new Path(dir.toURI), spark.sessionState.newHadoopConf())
      fails("ZORDER_CONFLICT", "removed")(new Intents(state).write(Intent("run", Seq(""))))
      assert(!dir.exists())
    }
  }

  test("the directory is removed while CREATE ZORDER INDEX reads it: it stays away") {
    withTableDir { dir =>
      write(shuffled(100, 2), dir)
      val isReading = (operation: String, path: Path) =>
        operation == "open" && path.getName.endsWith(".parquet")
      meanwhile(isReading)(FileUtils.deleteDirectory(dir)) {
        intercept[Exception](sql(s"CREATE ZORDER INDEX ON ${faulty(dir)} (a)").collect())
      }
      assert(!dir.exists())
    }
  }

  test("INSERT OVERWRITE while tasks write: its rows alone", Slow) {
    for (dynamic <- Seq("static", "dynamic")) withTable("t") {
      sql("CREATE TABLE t (id BIGINT, p INT) USING parquet PARTITIONED BY (p)")
      spark.range(90).selectExpr("id", "int(id % 3) p").write.insertInto("t")
      val dir = locationOf("t")
      val optimizing =
        s"OPTIMIZE ${faulty(dir)} ZORDER BY id OPTIONS (${sizeFor(dir, 4)})"
      withSQLConf("spark.sql.sources.partitionOverwriteMode" -> dynamic) {
        whileWriting {
          sql("INSERT OVERWRITE t SELECT id + 1000, 1 FROM range(5)")
        } {
          fails("ZORDER_CONFLICT")(sql(optimizing).collect())
        }
      }
      sql("REFRESH TABLE t")
      val expected = if (dynamic == "static") 5 else 65
      assert(spark.table("t").count() === expected, dynamic)
      assert(runDirectories(dir) === Nil, dynamic)
      assert(sql("SELECT count(*) FROM t WHERE p = 1").head().getLong(0) === 5)
    }
  }
}
