// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.io.File
import java.util.UUID
import java.util.concurrent.{Callable, Executors}
import java.util.concurrent.atomic.AtomicInteger

import scala.util.{Failure, Success, Try}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.sql.Row

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log.{ChangeCopy, Intents, Record, RunFolder, StateDirectory, TableLog}
import io.sparkzorder.log.publish.{Cleanup, Leftover, Leftovers, Publisher, Undo, UndoClaim}
import io.sparkzorder.util.Directories

/** Several UNDO LAYOUT of one run, and those that were declared dead and work on. */
class UndoRaceSuite extends UndoTestBase {

  /** Two undos of the last run of a table: `late` was declared dead and works on beside `next`. */
  private class Undos(table: File) {
    private val conf = new Configuration()
    val state = new StateDirectory(new Path(table.toURI), conf)
    val last: Record = TableLog.read(state).inForce.head._2
    val folders: Seq[String] = last.changes.map(_.folder)
    val Seq(late, next) = Seq.fill(2)(UUID.randomUUID().toString)

    def claim(undo: String): UndoClaim = new UndoClaim(state, last.run, undo, "me")

    def takeLate(from: String): Unit = folders.foreach { f =>
      Directories.drain(state.fs, state.own(f, from), state.own(f, late), conf)
    }

    /** Leaves `late` as a dead undo: it takes the files of `next` late, and is killed before it gives them back. */
    def leaveDead(): Unit = {
      assert(claim(late).take(folders, () => true))
      val failing = claim(next)
      assert(failing.take(folders, () => true))
      takeLate(from = next)
      failing.giveBack(folders)
      assert(new Intents(state).holds(late) && !new Intents(state).holds(next))
    }
  }

  test("an UNDO that begins while VACUUM without retention searches, and is killed: all rows") {
    withOptimized { (table, _, _) =>
      val rows = bag(read(table))
      // before these renames the UNDO has claimed its files, and publishes
      for (k <- 8 to 16 by 2) withCopy(table) { dir =>
        var begun = false
        FaultyFileSystem.withHook { (operation, path) =>
          // the search through all folders begins with the root; VACUUM has read intents and records before
          if (!begun && operation == "list" && path.toUri.getPath == dir.getAbsolutePath) {
            begun = true
            val (_, killed) =
              killedAt(k)(isPublishing)(sql(s"UNDO LAYOUT ${faulty(dir)}").collect())
            assert(killed)
            // the clock of the file system may be behind that of the driver
            for (p <- Seq("p=0", "p=1"); d <- runDirectories(new File(dir, p))) {
              val own = d.listFiles.filterNot(f => f.getName.startsWith("_old_"))
              (own :+ d).foreach(f => assert(f.setLastModified(f.lastModified - 3600000L)))
            }
          }
        }(sql(s"VACUUM LAYOUT ${faulty(dir)} RETAIN 0 HOURS").collect())
        assert(begun && bag(read(dir)) === rows, s"killed at $k")
        sql(s"RECOVER LAYOUT '$dir'").collect()
        assert(bag(read(dir)) === rows, s"killed at $k")
      }
    }
  }

  test("an UNDO that commits while VACUUM without retention works, in a partition that is renamed: nothing goes") {
    // VACUUM has read intents and records when the UNDO has claimed its files, and not committed
    for (isCommitted <- Seq(true, false)) withOptimized { (table, _, _) =>
      val undos = new Undos(table)
      import undos._
      assert(claim(late).take(folders, () => true))
      val (number, _) = TableLog.read(state).inForce.head
      val changes = new Undo(state, number, last, Seq(late)).changes(_ => 1L)
      val record =
        last.copy(kind = Record.Undo, run = late, changes = changes, undone = Some(last.run))
      changes.foreach(ChangeCopy.write(state, record, _))
      val vacuum = new Leftovers(state, System.currentTimeMillis() + 3600000L)
      assert(vacuum.uncommitted.map(_.run) === Seq(late))
      if (isCommitted) assert(state.createRecord(number + 1, record))
      assert(new File(table, "p=0").renameTo(new File(table, "p=9")))
      val found = vacuum.unreferenced.filter(_.run == late)
      // the commit may also come after the search
      if (!isCommitted) assert(state.createRecord(number + 1, record))
      assert(found.map(new Cleanup(state, "me").remove(_)).forall(_ == false))
      assert(new File(table, s"p=9/_zorder_$late").list.exists(_.startsWith("_old_")))
      // nor are the files of the UNDO that has not committed yet called the only copy of rows
      assert(found === Nil)
    }
  }

  test(
    "a late ABANDON leaves a run alone that is done, and whose files a failed UNDO has given back") {
    withOptimized { (table, before, _) =>
      val undos = new Undos(table)
      import undos._
      assert(claim(late).take(folders, () => true))
      claim(late).giveBack(folders)
      val seen = snapshot(table)
      new Publisher(state).abandon(TableLog.read(state).inForce.head._1, last)
      assert(snapshot(table) === seen)
      undone(table)
      assert(live(table) === before)
    }
  }

  testParts("a shadow that is committed while UNDO begins: undone, or a conflict")(
    checkShadow(2))(checkShadow(1, 3, 4, 5))

  /** @param lists the shadow is committed when UNDO lists the records for this time */
  private def checkShadow(lists: Int*): Unit = {
    withOptimized { (table, _, _) =>
      val rows = bag(read(table))
      for (k <- lists) withCopy(table) { dir =>
        var left = k
        val undone = FaultyFileSystem.withHook { (operation, path) =>
          if (operation == "list" && path.getName == "_commits") {
            left -= 1
            if (left == 0) FaultyFileSystem.withoutHook {
              sql(
                s"OPTIMIZE ${faulty(dir)} FULL ZORDER BY b OPTIONS ('publish' 'shadow')").collect()
            }
          }
        }(Try(sql(s"UNDO LAYOUT ${faulty(dir)}").collect()))
        undone.failed.foreach(e => assert(e.getMessage.contains("ZORDER_CONFLICT"), s"list $k: $e"))
        assert(bag(read(dir)) === rows, s"list $k")
      }
    }
  }

  test("an intent of another undo that cannot be removed is no error of an undo that is done") {
    withOptimized { (table, before, _) =>
      val undos = new Undos(table)
      import undos._
      leaveDead()
      var stays = 0
      FaultyFileSystem.withHook { (operation, path) =>
        val isIntent = path.getParent.getName == "_runs" && path.getName.contains(late)
        if (operation == "delete" && isIntent) {
          stays += 1
          throw new FaultyFileSystem.Injected(s"$path stays")
        }
      }(sql(s"UNDO LAYOUT ${faulty(table)}").collect())
      assert(stays > 0 && live(table) === before)
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
          assert(live(dir) === before, tries)
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
      val undos = new Undos(table)
      import undos._
      def kept(of: String) = folders.map(f => state.files(state.own(f, of)).size).sum
      val all = kept(last.run)
      assert(claim(late).take(folders, () => true))
      assert(kept(late) === all)
      val asked = new AtomicInteger
      def isComplete = {
        if (asked.incrementAndGet() == 1) takeLate(from = next)
        kept(next) == all
      }
      assert(claim(next).take(folders, () => isComplete))
      assert(asked.get === 2 && kept(next) === all && kept(late) === 0)
    }
  }

  test("the token of a folder, which a dead undo takes last, is found with it") {
    withOptimized { (table, _, _) =>
      val undos = new Undos(table)
      import undos._
      def token(folder: String, of: String) =
        new Path(state.own(folder, of), RunFolder.Waiting)
      assert(claim(late).take(folders, () => true))
      val asked = new AtomicInteger
      def isComplete = {
        if (asked.incrementAndGet() == 1) folders.foreach { f =>
          state.fs.mkdirs(state.own(f, late))
          assert(state.fs.rename(token(f, next), token(f, late)))
        }
        true
      }
      assert(claim(next).take(folders, () => isComplete))
      assert(asked.get === 2)
      folders.foreach(f => assert(state.fs.exists(token(f, next))))
    }
  }

  test("a dead undo is known to every later one until one of them has published") {
    withOptimized { (table, before, _) =>
      val undos = new Undos(table)
      import undos._
      leaveDead()
      one(s"UNDO LAYOUT '$table'")
      assert(live(table) === before)
      assert(new Intents(state).runs().intersect(Set(late, last.run)) === Set.empty)
      checkState(table)
    }
  }

  test("what a failed undo gives back, no publisher of the run can reach, and no VACUUM loses") {
    withOptimized { (table, before, after) =>
      val state = new StateDirectory(new Path(table.toURI), new Configuration())
      val last = TableLog.read(state).inForce.head._2
      val folders = last.changes.map(_.folder)
      def fails(): Unit = {
        val claim = new UndoClaim(state, last.run, UUID.randomUUID().toString, "me")
        assert(claim.take(folders, () => true))
        claim.giveBack(folders)
        folders.foreach { f =>
          assert(!state.fs.exists(state.own(f, last.run)))
          assert(state.files(state.closed(f, last.run)).nonEmpty)
        }
      }
      fails()
      fails()
      one(s"RECOVER LAYOUT '$table'")
      sql(s"VACUUM LAYOUT '$table'").collect()
      assert(live(table) === after)
      withCopy(table) { dir =>
        undone(dir)
        assert(live(dir) === before)
      }
      sql(s"VACUUM LAYOUT '$table' RETAIN 0 HOURS").collect()
      assert(live(table) === after && runDirectories(table) === Nil)
      checkState(table)
    }
  }

  test("a run that commits while VACUUM works keeps what it replaced") {
    withOptimized { (table, before, _) =>
      val state = new StateDirectory(new Path(table.toURI), new Configuration())
      val (note, intent) = new Intents(state).all().head
      // VACUUM has seen the run before its commit
      val seen = Leftover(
        Leftover.Staged,
        note.getPath,
        intent.run,
        4L,
        4L,
        0L,
        intent.folders.map(state.own(_, intent.run)),
        Some(intent))
      assert(!new Cleanup(state, "me").remove(seen))
      undone(table)
      assert(live(table) === before)
    }
  }
}
