package io.sparkzorder.commands.history

import java.io.File
import java.nio.file.{Files, StandardOpenOption}
import java.util.concurrent.{Callable, Executors}
import java.util.concurrent.atomic.AtomicInteger

import scala.util.{Failure, Success, Try}

import org.apache.hadoop.fs.Path
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.Row

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.commands.FaultyTables

/** UNDO LAYOUT: the files of before come back, or the statement says why not and touches nothing. */
class UndoLayoutSuite extends FaultyTables {

  private type Seen = Map[String, (Long, String)]

  /** A table of two partitions before and after an OPTIMIZE. */
  private def withOptimized(body: (File, Seen, Seen) => Unit): Unit = withTableDir { dir =>
    write(shuffled(300, 2).selectExpr("*", "id % 2 p"), dir, "p")
    val before = live(dir)
    sql(s"OPTIMIZE '$dir' ZORDER BY (a, b)").collect()
    body(dir, before, live(dir))
  }

  private def columnsOf(row: Row): Seq[String] =
    row.getSeq[Row](row.fieldIndex("columns")).map(_.getString(0)).toSeq

  private def undone(dir: File): Row = {
    val expected = bag(read(dir))
    val row = one(s"UNDO LAYOUT '$dir'")
    assert(bag(read(dir)) === expected)
    checkState(dir)
    row
  }

  private def refused(dir: File, words: String*): Unit = {
    val before = snapshot(dir)
    fails("ZORDER_UNDO_REFUSED", words: _*)(sql(s"UNDO LAYOUT '$dir'"))
    assert(snapshot(dir).filter(_._2._2 != "directory") ===
      before.filter(_._2._2 != "directory"))
    checkState(dir)
  }

  test("the very files come back, names and modification times too") {
    withOptimized { (dir, before, after) =>
      val start = System.currentTimeMillis()
      val row = undone(dir)
      assert(live(dir) === before)
      val sizes = (files: Seen) => files.keys.toSeq.map(f => new File(dir, f).length)
      assert(row.getAs[String]("path").endsWith(dir.getName))
      assert(row.getAs[Long]("filesAdded") === before.size)
      assert(row.getAs[Long]("filesRemoved") === after.size)
      assert(row.getAs[Long]("bytesAdded") === sizes(before).sum)
      assert(row.getAs[Long]("numRows") === 300)
      val day = 24 * 3600000L
      assert(row.getAs[java.sql.Timestamp]("retainedUntil").getTime >= start + day)
      // the files of the undone run are retained as any replaced ones
      val run = row.getAs[String]("runUndone")
      val kept = under(dir, "_retained")
      assert(!kept.contains(s"_$run") && kept.size === 1)
      val bytes = under(dir, s"_retained/${kept.head}")
        .map(f => new File(dir, s"_zorder/_retained/${kept.head}/$f").length)
      assert(bytes.size === after.size && bytes.sum === row.getAs[Long]("bytesRemoved"))
      assert(under(dir, "_staged") === Nil)
      // and the next run works on what is there now
      optimize(s"OPTIMIZE '$dir' ZORDER BY (a, b)", dir)(read(dir))
    }
  }

  test("rows that came since stay") {
    withOptimized { (dir, before, _) =>
      val more = shuffled(17, 1).selectExpr("*", "0L p")
      write(more, dir, "p")
      write(shuffled(5, 1).selectExpr("*", "7L p"), dir, "p")
      val expected = bag(read(dir))
      undone(dir)
      assert(bag(read(dir)) === expected)
      assert(before.toSet.subsetOf(live(dir).toSet))
      assert(read(dir).count() === 322)
    }
  }

  test("back run by run, to the columns of the run before; then there is nothing left") {
    withTableDir { dir =>
      write(shuffled(300, 3), dir)
      val states = Seq("a", "b", "s").map { c =>
        val before = live(dir)
        // FULL: with every file rewritten each run rests on the one before
        sql(s"OPTIMIZE '$dir' FULL ZORDER BY $c").collect()
        before
      }
      for ((before, columns) <- states.zip(Seq(Nil, Seq("a"), Seq("b"))).reverse) {
        undone(dir)
        assert(live(dir) === before)
        assert(columnsOf(one(s"OPTIMIZE '$dir' DRY RUN")) === columns)
      }
      val nothing = snapshot(dir)
      fails("ZORDER_NOTHING_TO_UNDO", dir.getName)(sql(s"UNDO LAYOUT '$dir'"))
      assert(snapshot(dir) === nothing)
      // a run after an undo is the last run again
      sql(s"OPTIMIZE '$dir' FULL ZORDER BY b").collect()
      undone(dir)
      assert(live(dir) === states.head)
    }
  }

  test("a table that was never optimized") {
    withTableDir { dir =>
      write(shuffled(30, 1), dir)
      val before = snapshot(dir)
      fails("ZORDER_NOTHING_TO_UNDO")(sql(s"UNDO LAYOUT '$dir'"))
      assert(snapshot(dir) === before)
    }
  }

  test("refused when a file of the run was removed, changed or touched, or an old name is taken") {
    val changes = Seq[(String, (File, File, Seen) => Unit)](
      "was removed since" -> ((_, f, _) => assert(f.delete())),
      "was changed since" -> ((_, f, _) =>
        Files.write(f.toPath, Array[Byte](1), StandardOpenOption.APPEND)),
      "was changed since" -> ((_, f, _) => assert(f.setLastModified(f.lastModified() + 2000))),
      "was written since" -> ((dir, _, before) =>
        Files.write(new File(dir, before.keys.toSeq.min).toPath, Array[Byte](1))))
    for ((words, change) <- changes) withOptimized { (dir, before, after) =>
      change(dir, new File(dir, after.keys.toSeq.max), before)
      refused(dir, words)
    }
    withOptimized { (dir, _, _) =>
      write(shuffled(9, 1).selectExpr("*", "1L p"), new File(dir, "new"), "p")
      val partition = new File(dir, "p=1")
      org.apache.commons.io.FileUtils.deleteDirectory(partition)
      assert(new File(dir, "new/p=1").renameTo(partition))
      org.apache.commons.io.FileUtils.deleteDirectory(new File(dir, "new"))
      refused(dir, "p=1", "was removed since")
    }
  }

  test("refused when the inputs are not retained any more, or not all of them") {
    withOptimized { (dir, _, _) =>
      val retained = new File(dir, s"_zorder/_retained/${under(dir, "_retained").head}")
      val victim = retained.listFiles.minBy(_.getName)
      val bytes = Files.readAllBytes(victim.toPath)
      val modified = victim.lastModified()
      assert(victim.delete())
      refused(dir, victim.getName, "was removed or changed")
      Files.write(victim.toPath, bytes)
      refused(dir, victim.getName, "was removed or changed")
      assert(victim.setLastModified(modified))
      withCopy(dir)(undone)
      assert(sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").count() === 1)
      refused(dir, "not retained any more")
    }
  }

  test("refused after a run that met a conflict") {
    withTableDir { dir =>
      write(shuffled(300, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val victim = new File(dir, live(dir).keys.filter(_.startsWith("p=1")).max)
      val publishing = (o: String, p: Path) => o == "rename" && !p.toString.contains("_commits")
      killedAt(0)(publishing)(sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY a").collect())
      assert(victim.delete())
      fails("ZORDER_PUBLISH_CONFLICT")(sql(s"UNDO LAYOUT '$dir'"))
      refused(dir, "met a conflict", "_retained")
    }
  }

  test(
    "killed at any operation: the old files or the new, after RECOVER, and UNDO works again",
    Slow) {
    withOptimized { (table, before, after) =>
      write(shuffled(11, 1).selectExpr("*", "0L p"), table, "p")
      val appended = live(table) -- after.keys
      val expected = bag(read(table))
      def check(dir: File, k: Int): Boolean = {
        val now = live(dir)
        assert(now === after ++ appended || now === before ++ appended, s"killed at $k")
        assert(bag(read(dir)) === expected, s"killed at $k")
        now == before ++ appended
      }
      val outcomes = Iterator.from(0).map { k =>
        withCopy(table) { dir =>
          val (result, killed) = killedAt(k)((o, _) => o != "open")(
            sql(s"UNDO LAYOUT ${faulty(dir)}").collect())
          // killed once more on the way
          killedAt(k / 3)((o, _) => o != "list" && o != "open")(sql(
            s"RECOVER LAYOUT ${faulty(dir)}").collect())
          one(s"RECOVER LAYOUT '$dir'")
          val isUndone = check(dir, k)
          assert(isUndone || result.isFailure, s"killed at $k")
          if (!isUndone) {
            one(s"UNDO LAYOUT '$dir'")
            assert(check(dir, k))
          }
          sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
          assert(under(dir, "_staged") === Nil && under(dir, "_retained") === Nil, s"killed at $k")
          check(dir, k)
          checkState(dir)
          if (k % 9 == 0) optimize(s"OPTIMIZE '$dir' ZORDER BY a", dir)(read(dir))
          (killed, isUndone)
        }
      }.takeWhile(_._1).map(_._2).toList
      info(s"${outcomes.size} operations, ${outcomes.count(identity)} after the commit")
      assert(outcomes.size > 20)
      // before the commit nothing is undone, after it everything is
      assert(outcomes === outcomes.sorted)
      assert(!outcomes.head && outcomes.last)
    }
  }

  test("one operation fails and UNDO goes on cleaning up: nothing is left behind", Slow) {
    withOptimized { (table, before, after) =>
      val expected = bag(read(table))
      var k = 0
      var more = true
      while (more) withCopy(table) { dir =>
        val (result, failed) = FaultyFileSystem.failing(k)((o, _) => o != "list" && o != "open")(
          Try(sql(s"UNDO LAYOUT ${faulty(dir)}").collect()))
        if (failed && !new File(dir, "_zorder/_commits/_2").exists()) {
          assert(result.isFailure)
          assert(live(dir) === after)
        }
        one(s"RECOVER LAYOUT '$dir'")
        assert(Set(before, after)(live(dir)))
        assert(bag(read(dir)) === expected)
        if (live(dir) == after) one(s"UNDO LAYOUT '$dir'")
        assert(live(dir) === before && bag(read(dir)) === expected)
        sql(s"VACUUM LAYOUT '$dir' RETAIN 0 HOURS").collect()
        assert(live(dir) === before)
        checkState(dir)
        more = failed
        k += 1
      }
      assert(k > 10)
    }
  }

  test("several at once: one undoes the run, the others get a conflict or find nothing") {
    withOptimized { (table, before, _) =>
      val pool = Executors.newFixedThreadPool(3)
      try for (_ <- 0 until 8) withCopy(table) { dir =>
          val tries = (0 until 3).map { _ =>
            pool.submit(new Callable[Try[Row]] {
              override def call(): Try[Row] = Try(one(s"UNDO LAYOUT '$dir'"))
            })
          }.map(_.get())
          assert(live(dir) === before)
          checkState(dir)
          assert(tries.count(_.isSuccess) === 1, tries)
          tries.foreach {
            case Failure(e) =>
              assert(
                Seq("ZORDER_CONFLICT", "ZORDER_NOTHING_TO_UNDO")
                  .exists(e.getMessage.contains),
                e)
            case Success(_) =>
          }
        }
      finally pool.shutdown()
    }
  }

  test("an OPTIMIZE that has listed the files of the undone run gets the conflict") {
    withOptimized { (dir, before, _) =>
      val expected = bag(read(dir))
      meanwhile(relisting(dir))(sql(s"UNDO LAYOUT '$dir'").collect()) {
        fails("ZORDER_CONFLICT")(sql(s"OPTIMIZE ${faulty(dir)} FULL ZORDER BY b"))
      }
      assert(live(dir) === before)
      assert(bag(read(dir)) === expected)
      checkState(dir)
    }
  }

  test("an OPTIMIZE of the run's files that commits while UNDO runs: UNDO gets the conflict") {
    withOptimized { (dir, _, _) =>
      val expected = bag(read(dir))
      var meantime = Map.empty[String, (Long, String)]
      meanwhile((o, p) => o == "mkdirs" && p.toString.contains("_staged")) {
        sql(s"OPTIMIZE '$dir' FULL ZORDER BY b").collect()
        meantime = live(dir)
      } {
        fails("ZORDER_CONFLICT")(sql(s"UNDO LAYOUT ${faulty(dir)}"))
      }
      assert(live(dir) === meantime)
      assert(bag(read(dir)) === expected)
      checkState(dir)
      // the next one undoes the run that was quicker, and the one after it the first
      undone(dir)
      undone(dir)
    }
  }

  test("a half-published run is published first, and then undone") {
    withTableDir { dir =>
      write(shuffled(300, 2).selectExpr("*", "id % 2 p"), dir, "p")
      val before = live(dir)
      val expected = bag(read(dir))
      val publishing = (o: String, p: Path) => o == "rename" && !p.toString.contains("_commits")
      killedAt(2)(publishing)(sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY a").collect())
      assert(live(dir) !== before)
      one(s"UNDO LAYOUT '$dir'")
      assert(live(dir) === before)
      assert(bag(read(dir)) === expected)
      checkState(dir)
    }
  }

  test("a publisher of a run that sleeps at any step until the run is undone moves nothing") {
    withTableDir { table =>
      write(shuffled(200, 2).selectExpr("*", "id % 2 p"), table, "p")
      val before = live(table)
      val steps = Iterator.from(0).map { k =>
        withCopy(table) { dir =>
          val seen = new AtomicInteger
          val commit = new File(dir, "_zorder/_commits/_1")
          FaultyFileSystem.withHook { (operation, _) =>
            if (operation != "open" && operation != "list" && commit.exists() &&
              seen.getAndIncrement() == k) {
              one(s"UNDO LAYOUT '$dir'")
              assert(live(dir) === before)
            }
          }(Try(sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY a").collect()))
          if (seen.get > k) assert(live(dir) === before, s"asleep at $k")
          sql(s"RECOVER LAYOUT '$dir'").collect()
          if (seen.get > k) assert(live(dir) === before, s"asleep at $k")
          seen.get > k
        }
      }.takeWhile(identity).size
      info(s"$steps steps")
      assert(steps > 8)
    }
  }

  test(
    "an old name is taken after the commit: the other folders are undone, nothing is overwritten") {
    withOptimized { (dir, before, after) =>
      val name = before.keys.filter(_.startsWith("p=1")).min
      val publishing = (o: String, p: Path) =>
        o == "rename" && p.toString.contains("_retained") && p.getName == "_0"
      meanwhile(publishing)(Files.write(new File(dir, name).toPath, Array[Byte](7))) {
        fails("ZORDER_PUBLISH_CONFLICT", "p=1")(sql(s"UNDO LAYOUT ${faulty(dir)}"))
      }
      assert(new File(dir, name).length === 1)
      val now = live(dir)
      def part(files: Seen, p: String) = files.filter(_._1.startsWith(p))
      assert(part(now, "p=0") === part(before, "p=0"))
      assert(part(now, "p=1") - name === part(after, "p=1"))
    }
  }
}
