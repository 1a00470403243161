// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.io.File
import java.util.concurrent.{Callable, Executors}

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.Row

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.commands.FaultyTables
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.log.publish.Leftovers

/** VACUUM LAYOUT removes what is over, names what it keeps, and DRY RUN foretells both. */
class VacuumLayoutSuite extends FaultyTables {

  private def vacuum(dir: File, clauses: String = ""): Seq[Row] =
    sql(s"VACUUM LAYOUT '$dir' $clauses").collect().toSeq

  private def kinds(rows: Seq[Row]): Seq[(String, Boolean)] =
    rows.map(r => (r.getAs[String]("kind"), r.getAs[Boolean]("removed")))

  /** DRY RUN says the same as the run, and changes nothing. */
  private def predicted(dir: File, clauses: String = ""): Seq[Row] = {
    val before = snapshot(dir)
    val foretold = vacuum(dir, s"$clauses DRY RUN")
    assert(snapshot(dir) === before)
    val done = vacuum(dir, clauses)
    assert(done === foretold)
    for (r <- done) {
      val path = new File(new Path(r.getAs[String]("path")).toUri.getPath)
      assert(path.exists() !== r.getAs[Boolean]("removed"), path)
    }
    done
  }

  private def older(file: File, hours: Int): Unit = {
    Option(file.listFiles).toSeq.flatten.foreach(older(_, hours))
    assert(file.setLastModified(System.currentTimeMillis() - hours * 3600000L))
  }

  /** What a dead run leaves. */
  private def dead(dir: File, files: Int, bytes: Int): File = {
    val run = VacuumLayoutSuite.Dead
    val own = new File(dir, s"_zorder_$run")
    own.mkdirs()
    for (i <- 0 until files) {
      java.nio.file.Files.write(new File(own, s"_new_${i}_1").toPath, new Array[Byte](bytes))
    }
    note(dir).getParentFile.mkdirs()
    java.nio.file.Files.write(
      note(dir).toPath,
      s"""{"run":"$run","folders":[""],"undone":null}""".getBytes("UTF-8"))
    own
  }

  private def note(dir: File): File = new File(dir, s"_zorder/_runs/_${VacuumLayoutSuite.Dead}")

  private def doneMark(dir: File, number: Int): File =
    new File(dir, s"_zorder/_commits/_${number}_done")

  private def withOptimized(body: File => Unit): Unit = withTableDir { dir =>
    write(shuffled(300, 2), dir)
    sql(s"OPTIMIZE '$dir' ZORDER BY a OPTIONS ('retention' '2h')").collect()
    body(dir)
  }

  test("a retention without end never ends; the setting has a limit") {
    withOptimized { dir =>
      longAgo(dir, 3)
      val state = new StateDirectory(new Path(s"file:$dir"), spark.sessionState.newHadoopConf())
      val found = new Leftovers(state, System.currentTimeMillis())
      assert(found.expired(Some(0L)).size === 1)
      assert(found.expired(Some(Long.MaxValue)) === Nil)
      fails("ZORDER_INVALID_SETTING", "retention", "999999999999d")(
        sql(s"OPTIMIZE '$dir' ZORDER BY b OPTIONS ('retention' '999999999999d')"))
    }
  }

  test("retained files, by the retention of their run or by RETAIN") {
    withOptimized { dir =>
      val bytes = hidden(dir, "_old_").map(_.length).sum
      assert(predicted(dir) === Nil)
      assert(predicted(dir, "RETAIN 1 HOURS") === Nil)
      longAgo(dir, 3)
      assert(predicted(dir, "RETAIN 4 HOURS") === Nil)
      withCopy(dir)(copy => assert(kinds(predicted(copy, "RETAIN 2 HOURS")).size === 1))
      val before = live(dir)
      val Seq(row) = predicted(dir)
      assert(row.getAs[String]("kind") === "retained" && row.getAs[Boolean]("removed"))
      assert(row.getAs[Long]("files") === 2 && row.getAs[Long]("bytes") === bytes)
      assert(row.getAs[java.sql.Timestamp]("since").getTime === doneMark(dir, 1).lastModified())
      assert(live(dir) === before)
      assert(runDirectories(dir) === Nil)
      // the record stays: the table's history
      assert(sql(s"SHOW LAYOUT HISTORY '$dir'").count() === 1)
      assert(predicted(dir, "RETAIN 0 HOURS") === Nil)
    }
  }

  test("a table without _zorder: no rows, and nothing is made") {
    withTableDir { dir =>
      write(shuffled(30, 1), dir)
      assert(predicted(dir, "RETAIN 0 HOURS") === Nil)
      assert(!new File(dir, "_zorder").exists())
    }
  }

  test("a table below the path is a table of its own") {
    withTableDir { lake =>
      val below = new File(lake, "b")
      write(shuffled(300, 2), below)
      sql(s"OPTIMIZE '$below' ZORDER BY a OPTIONS ('publish' 'shadow')").collect()
      val before = snapshot(below)
      assert(vacuum(lake, "RETAIN 0 HOURS") === Nil)
      assert(snapshot(below) === before)
      assert(!new File(lake, "_zorder").exists())
    }
  }

  test("staged files of a dead run, and temporary records, by the table's retention") {
    withOptimized { dir =>
      val staged = dead(dir, 1, 100)
      val temporary = new File(dir, "_zorder/_commits/_tmp_x__2")
      java.nio.file.Files.write(temporary.toPath, new Array[Byte](7))
      assert(predicted(dir) === Nil)
      older(staged, 20)
      older(note(dir), 20)
      older(temporary, 25)
      withSQLConf("spark.zorder.retention" -> "22h") {
        assert(kinds(predicted(dir)) === Seq("temporary" -> true))
      }
      val Seq(row) = predicted(dir, "RETAIN 19 HOURS")
      assert(row.getAs[String]("kind") === "staged")
      assert(row.getAs[Long]("files") === 1 && row.getAs[Long]("bytes") === 100)
      assert(!staged.exists() && !note(dir).exists())
      val newest = sql(s"SHOW LAYOUT HISTORY '$dir'").collect().head
      assert(newest.getAs[String]("operation") === "abort")
      assert(newest.getAs[String]("run") === VacuumLayoutSuite.Dead)
      checkState(dir)
    }
  }

  test("a run under way whose staged files are taken away ends with the conflict") {
    withTableDir { dir =>
      write(shuffled(300, 2), dir)
      val before = live(dir)
      var rows = Seq.empty[Row]
      meanwhile(relisting(dir)) {
        assert(vacuum(dir) === Nil)
        Thread.sleep(20)
        rows = predicted(dir, "RETAIN 0 HOURS")
      } {
        fails("ZORDER_CONFLICT", "removed")(sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY a"))
      }
      assert(kinds(rows) === Seq("staged" -> true))
      assert(live(dir) === before)
      checkState(dir)
      optimize(s"OPTIMIZE '$dir' ZORDER BY a", dir)(read(dir))
    }
  }

  test("OPTIMIZE says when another run is under way, or has died") {
    withOptimized { dir =>
      dead(dir, 1, 1)
      val appender = new LogAppender("other runs")
      withLogAppender(appender)(sql(s"OPTIMIZE '$dir' FULL ZORDER BY b").collect())
      val said = appender.loggingEvents.map(_.getMessage.getFormattedMessage)
        .filter(_.contains("under way"))
      assert(said.size === 1 && said.head.contains("another"), said)
    }
  }

  test("killed after the record that declares a run dead: the next one takes its files away") {
    withOptimized { dir =>
      val staged = dead(dir, 1, 1)
      older(staged, 1)
      older(note(dir), 1)
      killedAt(0)((o, p) => o == "delete" && p.toString.contains(VacuumLayoutSuite.Dead))(
        sql(s"VACUUM LAYOUT ${faulty(dir)} RETAIN 0 HOURS").collect())
      assert(staged.exists() && under(dir, "_commits").contains("_2"))
      assert(kinds(predicted(dir, "RETAIN 0 HOURS")) === Seq("staged" -> true))
      assert(!under(dir, "_commits").contains("_3"))
    }
  }

  test("files of a run that met a conflict are listed, and kept whatever the retention") {
    withTableDir { dir =>
      write(shuffled(300, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val victim = new File(dir, live(dir).keys.filter(_.startsWith("p=1")).max)
      killedAt(0)(isPublishing)(
        sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY a").collect())
      assert(victim.delete())
      fails("ZORDER_PUBLISH_CONFLICT")(sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS"))
      // in the other folder the run is published; in this one nothing is left hidden
      assert(kinds(predicted(dir, "RETAIN 0 HOURS")) === Seq("conflict" -> false))
      assert(hidden(
        dir,
        "_old_").map(_.getParentFile.getParentFile.getName).distinct === Seq("p=0"))
      assert(kinds(predicted(dir)) === Seq("conflict" -> false))
    }
  }

  test(
    "a run that is not published: DRY RUN leaves it so, the run publishes it and keeps its files") {
    withTableDir { dir =>
      write(shuffled(300, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val expected = bag(read(dir))
      killedAt(3)(isPublishing)(
        sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY a").collect())
      assert(!doneMark(dir, 1).exists())
      assert(predicted(dir, "RETAIN 0 HOURS") === Nil)
      assert(doneMark(dir, 1).exists())
      assert(bag(read(dir)) === expected)
      checkState(dir)
      assert(kinds(predicted(dir, "RETAIN 0 HOURS")) === Seq("retained" -> true))
    }
  }

  test("RETAIN 0 HOURS removes what a clock that is ahead has made, other retentions keep it") {
    withOptimized { dir =>
      val staged = dead(dir, 1, 100)
      older(staged, -25)
      older(note(dir), -25)
      val temporary = new File(dir, "_zorder/_commits/_tmp_x__2")
      java.nio.file.Files.write(temporary.toPath, new Array[Byte](7))
      older(temporary, -25)
      longAgo(dir, -24)
      val rows = bag(read(dir))
      assert(predicted(dir) === Nil)
      assert(predicted(dir, "RETAIN 1 HOURS") === Nil)
      assert(kinds(predicted(dir, "RETAIN 0 HOURS")) ===
        Seq("retained" -> true, "staged" -> true))
      assert(runDirectories(dir) === Nil)
      // another statement may be writing it
      assert(temporary.exists())
      assert(bag(read(dir)) === rows)
    }
  }

  test("RETAIN 0 HOURS removes a shadow of a clock that is ahead") {
    withTableDir { dir =>
      write(shuffled(300, 2), dir)
      for (column <- Seq("a", "b"))
        sql(s"OPTIMIZE '$dir' FULL ZORDER BY $column OPTIONS ('publish' 'shadow')").collect()
      longAgo(dir, -24)
      assert(predicted(dir) === Nil)
      assert(kinds(predicted(dir, "RETAIN 0 HOURS")) === Seq("shadow" -> true))
    }
  }

  test(
    "on a full disk, VACUUM removes the files of runs that are done, and then reports its failure") {
    withTableDir { dir =>
      write(shuffled(300, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val expected = bag(read(dir))
      sql(s"OPTIMIZE '$dir' WHERE p = 0 ZORDER BY a").collect()
      killedAt(0)((_, p) => p.getName.endsWith("_2_done"))(
        sql(s"OPTIMIZE ${faulty(dir)} WHERE p = 1 ZORDER BY a").collect())
      assert(under(dir, "_commits").contains("_2") && !doneMark(dir, 2).exists())
      val staged = dead(dir, 1, 100)
      val temporary = new File(dir, "_zorder/_commits/_tmp_x__9")
      java.nio.file.Files.write(temporary.toPath, new Array[Byte](7))
      def kept = hidden(dir, "_old_").map(_.getParentFile.getParentFile.getName).distinct.sorted
      assert(kept === Seq("p=0", "p=1"))
      def isFull(operation: String) = operation == "create" || operation == "mkdirs"
      FaultyFileSystem.withHook((operation, path) =>
        if (isFull(operation)) throw new FaultyFileSystem.Injected(s"no room: $path")) {
        val e = intercept[FaultyFileSystem.Injected](
          sql(s"VACUUM LAYOUT ${faulty(dir)} RETAIN 0 HOURS").collect())
        // the run cannot be marked done, and the dead run cannot be declared dead
        assert(e.getMessage.contains("_2_done"))
        assert(e.getSuppressed.exists(_.getMessage.contains("_tmp_")))
      }
      assert(kept === Seq("p=1"))
      assert(staged.exists() && !temporary.exists())
      assert(bag(read(dir)) === expected)
      assert(kinds(predicted(dir, "RETAIN 0 HOURS")) === Seq("staged" -> true))
      assert(doneMark(dir, 2).exists())
      assert(bag(read(dir)) === expected)
      checkState(dir)
    }
  }

  test("twice at once") {
    withOptimized { table =>
      longAgo(table, 3)
      dead(table, 20, 10)
      val pool = Executors.newFixedThreadPool(3)
      try for (_ <- 0 until 8) withCopy(table) { dir =>
          older(new File(dir, s"_zorder_${VacuumLayoutSuite.Dead}"), 30)
          older(note(dir), 30)
          val runs = (0 until 3).map { _ =>
            pool.submit(new Callable[Seq[Row]] {
              override def call(): Seq[Row] = vacuum(dir)
            })
          }.map(_.get())
          assert(runs.flatten.forall(_.getAs[Boolean]("removed")))
          assert(runDirectories(dir) === Nil && under(dir, "_runs") === Nil)
          // one record is enough to declare a run dead
          assert(under(dir, "_commits").filter(_.matches("_\\d+")) === Seq("_1", "_2"))
          assert(live(dir) === live(table))
          checkState(dir)
        }
      finally pool.shutdown()
    }
  }

  test("what UNDO has claimed is not taken away by a retention that has ended") {
    withOptimized { dir =>
      longAgo(dir, 3)
      val Seq(retained) = runDirectories(dir)
      var rows = Seq.empty[Row]
      // just before the commit, when the files are claimed
      meanwhile((o, p) => o == "create" && p.toString.contains("_commits/_tmp")) {
        assert(!retained.exists())
        rows = vacuum(dir)
      }(sql(s"UNDO LAYOUT ${faulty(dir)}").collect())
      assert(rows === Nil)
      assert(dataFiles(dir).map(_.rows).sum === 300)
      checkState(dir)
    }
  }
}

private object VacuumLayoutSuite {
  val Dead = "00000000-0000-4000-8000-00000000dead"
}
