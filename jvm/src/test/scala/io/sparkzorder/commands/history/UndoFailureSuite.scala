// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.io.File
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger

import scala.util.Try

import org.apache.hadoop.fs.Path
import org.scalatest.tagobjects.Slow

import io.sparkzorder.{FaultyFileSystem, Steps}

/** UNDO LAYOUT that is killed, fails, or runs beside other statements. */
class UndoFailureSuite extends UndoTestBase with Steps {

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
          assert(runDirectories(dir) === Nil && under(dir, "_runs") === Nil, s"killed at $k")
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

  test(
    "an UNDO that is killed after its commit, and abandoned: the run and its layout are in force") {
    withOptimized { (dir, _, after) =>
      val expected = bag(read(dir))
      val commit = new File(dir, "_zorder/_commits/_2")
      assert(killedAt(0)((o, _) => o == "rename" && commit.exists())(
        sql(s"UNDO LAYOUT ${faulty(dir)}").collect())._2)
      assert(commit.exists())
      sql(s"RECOVER LAYOUT '$dir' ABANDON").collect()
      assert(live(dir) === after)
      val history = sql(s"SHOW LAYOUT HISTORY '$dir'").collect()
      assert(history.map(_.getAs[String]("status")).toSeq === Seq(
        "abandoned",
        "abandoned",
        "published"))
      assert(history.map(_.getAs[Boolean]("undoPossible")).toSeq === Seq.fill(3)(false))
      fails("ZORDER_UNDO_REFUSED", "abandoned")(sql(s"UNDO LAYOUT '$dir'").collect())
      assert(bag(read(dir)) === expected)
      optimize(s"OPTIMIZE '$dir' FULL ZORDER BY b", dir)(read(dir))
      checkState(dir)
    }
  }

  test("an UNDO that is published everywhere when it is abandoned: its run stays undone") {
    withOptimized { (dir, before, _) =>
      val expected = bag(read(dir))
      assert(killedAt(0)((o, p) => o != "list" && o != "open" && p.getName.contains("_2_done"))(
        sql(s"UNDO LAYOUT ${faulty(dir)}").collect())._2)
      assert(live(dir) === before)
      sql(s"RECOVER LAYOUT '$dir' ABANDON").collect()
      assert(live(dir) === before && bag(read(dir)) === expected)
      val history = sql(s"SHOW LAYOUT HISTORY '$dir'").collect()
      assert(history.last.getAs[String]("status") === "undone")
      fails("ZORDER_NOTHING_TO_UNDO")(sql(s"UNDO LAYOUT '$dir'").collect())
      checkState(dir)
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

  test("an OPTIMIZE that has listed the files of the undone run gets the conflict", Slow) {
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

  test(
    "an OPTIMIZE of the run's files that commits while UNDO runs: UNDO gets the conflict",
    Slow) {
    withOptimized { (dir, _, _) =>
      val expected = bag(read(dir))
      var meantime = Map.empty[String, (Long, String)]
      meanwhile((o, p) => o == "create" && p.toString.contains("_zorder/_runs/")) {
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
      val publishing = isPublishing(_, _)
      killedAt(2)(publishing)(sql(s"OPTIMIZE ${faulty(dir)} ZORDER BY a").collect())
      assert(live(dir) !== before)
      one(s"UNDO LAYOUT '$dir'")
      assert(live(dir) === before)
      assert(bag(read(dir)) === expected)
      checkState(dir)
    }
  }

  testSteps("an UNDO that was killed is published first, and then the run before is undone", 4) {
    step =>
      withOptimized { (table, before, _) =>
        sql(s"OPTIMIZE '$table' FULL ZORDER BY b").collect()
        val expected = bag(read(table))
        // for each change one kill
        val kills = if (step == 1) Iterator.from(0) else Iterator(step)
        val steps = kills.map { k =>
          withCopy(table) { dir =>
            val (_, killed) =
              killedAt(k)(isPublishing)(sql(s"UNDO LAYOUT ${faulty(dir)}").collect())
            val isCommitted = new File(dir, "_zorder/_commits/_3").exists()
            one(s"UNDO LAYOUT '$dir'")
            if (isCommitted) assert(live(dir) === before, s"killed at $k")
            assert(bag(read(dir)) === expected)
            killed
          }
        }.takeWhile(identity).size
        assert(steps > (if (step == 1) 5 else 0))
      }
  }

  testSteps("a publisher of a run that sleeps at any step until the run is undone moves nothing") {
    step =>
      withTableDir { table =>
        write(shuffled(200, 2).selectExpr("*", "id % 2 p"), table, "p")
        val before = live(table)
        val steps = Iterator.from(0, step).map { k =>
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
        assert(steps > 8 / step)
      }
  }

  test(
    "an old name is taken after the commit: the other folders are undone, nothing is overwritten") {
    withOptimized { (dir, before, after) =>
      val name = before.keys.filter(_.startsWith("p=1")).min
      val publishing = (o: String, p: Path) =>
        o == "rename" && p.toString.contains("p=1") && p.getName == "_old_u0"
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

  test(
    "the record of an UNDO vanishes while the UNDO is published: the record makes the table whole") {
    withOptimized { (dir, _, after) =>
      val expected = bag(read(dir))
      val (record, away) = (new File(dir, "_zorder/_commits/_2"), new File(s"$dir.record"))
      val publishing = (o: String, p: Path) => o == "rename" && p.getName == "_old_u0"
      meanwhile(publishing)(assert(record.renameTo(away))) {
        fails("ZORDER_STATE_LOST")(sql(s"UNDO LAYOUT ${faulty(dir)}"))
      }
      assert(live(dir) !== after)
      assert(away.renameTo(record))
      one(s"RECOVER LAYOUT '$dir'")
      assert(bag(read(dir)) === expected)
      checkState(dir)
    }
  }
}
