package io.sparkzorder.commands.history

import java.io.File
import java.nio.file.Files
import java.util.UUID
import java.util.concurrent.{Callable, Executors}
import java.util.concurrent.atomic.AtomicInteger

import scala.util.{Failure, Success, Try}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.Row

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log.{RunFolder, StateDirectory, TableLog}
import io.sparkzorder.log.publish.UndoClaim
import io.sparkzorder.util.Directories

/** UNDO LAYOUT that is killed, fails, or runs beside other statements. */
class UndoFailureSuite extends UndoTestBase {

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

  test("files that an undo takes after it was declared dead are found with it") {
    withOptimized { (table, _, _) =>
      val conf = new Configuration()
      val state = new StateDirectory(new Path(table.toURI), conf)
      val undone = TableLog.read(state).inForce.head._2
      val folders = undone.changes.map(_.folder)
      val Seq(late, run) = Seq.fill(2)(UUID.randomUUID().toString)
      def kept(of: String) = folders.map(f => state.files(state.own(f, of)).size).sum
      val all = kept(undone.run)
      assert(new UndoClaim(state, undone.run, late, "me").take(folders, () => true))
      assert(kept(late) === all)
      val asked = new AtomicInteger
      def isComplete = {
        if (asked.incrementAndGet() == 1) folders.foreach { f =>
          Directories.drain(state.fs, state.own(f, run), state.own(f, late), conf)
        }
        kept(run) == all
      }
      assert(new UndoClaim(state, undone.run, run, "me").take(folders, () => isComplete))
      assert(asked.get === 2 && kept(run) === all && kept(late) === 0)
    }
  }

  test("the token of a folder, which a dead undo takes last, is found with it") {
    withOptimized { (table, _, _) =>
      val conf = new Configuration()
      val state = new StateDirectory(new Path(table.toURI), conf)
      val undone = TableLog.read(state).inForce.head._2
      val folders = undone.changes.map(_.folder)
      val Seq(late, run) = Seq.fill(2)(UUID.randomUUID().toString)
      def token(folder: String, of: String) =
        new Path(state.own(folder, of), RunFolder.Waiting)
      assert(new UndoClaim(state, undone.run, late, "me").take(folders, () => true))
      val asked = new AtomicInteger
      def isComplete = {
        if (asked.incrementAndGet() == 1) folders.foreach { f =>
          state.fs.mkdirs(state.own(f, late))
          assert(state.fs.rename(token(f, run), token(f, late)))
        }
        true
      }
      assert(new UndoClaim(state, undone.run, run, "me").take(folders, () => isComplete))
      assert(asked.get === 2)
      folders.foreach(f => assert(state.fs.exists(token(f, run))))
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
}
