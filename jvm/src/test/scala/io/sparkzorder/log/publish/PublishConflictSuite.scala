// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import java.io.File

import scala.util.Try

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log.StateDirectory

/** Other programs change a folder between the commit of a run and the end of its publishing. */
class PublishConflictSuite extends PublisherTestBase {

  test("an input that was changed after the commit: nothing of that folder, all of the others") {
    val none = "Of the files that the run replaced none is hidden"
    val changes = Seq[(String, File => Unit, String)](
      ("removed", d => assert(new File(d, "p=1/c").delete()), none),
      ("overwritten", d => put(d, "p=1/c", "somebody else's"), none),
      ("overwritten", d => assert(new File(d, "p=1/c").setLastModified(1000)), none))
    for ((word, change, outcome) <- changes) withTable { (dir, state) =>
      val record = committed(dir, state)
      change(dir)
      val now = visible(dir, "p=1")
      fails("ZORDER_PUBLISH_CONFLICT", "p=1", s"c was $word", outcome)(
        new Publisher(state).publish(1, record))
      assert(visible(dir) === Set("n1", "n2"))
      assert(visible(dir, "p=1") === now)
      assert(state.isDone(1))
      new Publisher(state).rollForward()
      assert(visible(dir, "p=1") === now)
    }
  }

  test("changed after some replaced files went out: those are visible again") {
    withTable { (dir, state) =>
      committed(dir, state)
      rename(dir, s"_zorder_$run/_waiting", s"part-zorder-$run.parquet")
      rename(dir, "a", s"_zorder_$run/_old_0")
      assert(new File(dir, "b").delete())
      fails(
        "ZORDER_PUBLISH_CONFLICT",
        "b was removed",
        "none is hidden")(new Publisher(state).rollForward())
      assert(visible(dir) === Set("a"))
      // the process that was killed may have hidden b before somebody removed the file
      assert(dir.list().toSet === Set("_zorder", "p=1", "a", s"_zorder_${run}_closed"))
      assert(text(dir, s"_zorder_${run}_closed/_new_3") === "new n1")
      assert(text(dir, "a") === "old a")
      assert(visible(dir, "p=1") === Set("n1"))
    }
  }

  test("a folder that was overwritten in the middle: no old row comes back, what is kept stays") {
    withTable { (dir, state) =>
      committed(dir, state)
      // killed after all replaced files of p=1 were hidden; then somebody overwrites what is visible
      rename(dir, s"p=1/_zorder_$run/_waiting", s"p=1/part-zorder-$run.parquet")
      for ((name, i) <- Seq("a", "c").zipWithIndex) {
        rename(dir, s"p=1/$name", s"p=1/_zorder_$run/_old_$i")
      }
      assert(new File(dir, s"p=1/part-zorder-$run.parquet").delete())
      put(dir, "p=1/theirs", "new rows")
      // whoever took the token may have spared the rows that it stood for
      for (_ <- 1 to 2) {
        fails("ZORDER_FOLDER_IN_DOUBT", "p=1", s"_zorder_$run")(new Publisher(state).rollForward())
        assert(visible(dir, "p=1") === Set("theirs"))
        // the other folder waits as well: what is refused changes nothing
        assert(visible(dir) === Set("a", "b") && !state.isDone(1))
        new Retention(state, _ => true).removeExpired(Long.MaxValue)
        for (i <- 0 to 1) assert(new File(dir, s"p=1/_zorder_$run/_old_$i").isFile)
      }
      // a person says that the folder was overwritten
      delete(new File(dir, s"p=1/_zorder_$run"))
      fails("ZORDER_PUBLISH_CONFLICT", "p=1", "overwritten")(new Publisher(state).rollForward())
      assert(visible(dir, "p=1") === Set("theirs") && state.isDone(1))
      assert(visible(dir) === Set("n1", "n2"))
    }
  }

  /** Runs `body` with `change` before the `k`-th change of publishing, for every k. */
  private def atEveryStep(change: File => Unit)(body: (File, StateDirectory, Int) => Unit): Int = {
    var k = 0
    var more = true
    while (more) withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      more = withChangeBefore(k)(change(dir))(new Publisher(state).publish(1, record))
      if (more) body(dir, stateOf(dir), k)
      k += 1
    }
    k - 1
  }

  test("a folder is overwritten at any step of publishing: it holds what was written, no more") {
    val steps = atEveryStep { dir =>
      delete(new File(dir, "p=1"))
      put(dir, "p=1/theirs", "new rows")
    } { (dir, state, k) =>
      assert(visible(dir, "p=1") === Set("theirs"), s"step $k")
      Try(new Publisher(state).rollForward())
      assert(new File(dir, "p=1").list().toSet === Set("theirs"), s"step $k")
      assert(visible(dir) === Set("n1", "n2"), s"step $k")
      assert(state.isDone(1))
    }
    assert(steps > 10)
  }

  test("a folder is overwritten by one who spares hidden names, at any step: no row comes back") {
    atEveryStep { dir =>
      val p = new File(dir, "p=1")
      p.listFiles.filter(f => !f.getName.startsWith("_")).foreach(f => assert(f.delete()))
      put(dir, "p=1/theirs", "new rows")
    } { (dir, state, k) =>
      recover(dir, state.read(1))
      if (!state.isDone(1)) {
        // only a person can say whether the folder was overwritten or an empty file was removed
        delete(new File(dir, s"p=1/_zorder_$run"))
        recover(dir, state.read(1))
      }
      assert(visible(dir, "p=1") === Set("theirs"), s"step $k")
      assert(visible(dir) === Set("n1", "n2"), s"step $k")
    }
  }

  test("a folder is dropped at any step of publishing: it is not made again") {
    atEveryStep(dir => delete(new File(dir, "p=1"))) { (dir, state, k) =>
      Try(new Publisher(state).rollForward())
      assert(!new File(dir, "p=1").exists(), s"step $k")
      assert(visible(dir) === Set("n1", "n2"), s"step $k")
    }
  }

  test("a conflict is noted before anything is discarded: retained files never expire") {
    var k = 0
    var more = true
    while (more) withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      put(dir, "p=1/c", "somebody else's")
      val (_, failed) = FaultyFileSystem.failing(k)((o, _) => isChange(o))(
        Try(new Publisher(state).publish(1, record)))
      Try(new Publisher(stateOf(dir)).rollForward())
      assert(state.isDone(1) && state.hasConflict(1), s"step $k")
      assert(new File(dir, "p=1").list().toSet === Set("a", "c"), s"step $k")
      new Retention(state, _ => true).removeExpired(Long.MaxValue)
      assert(text(dir, s"_zorder_$run/_old_0") === "old a")
      more = failed
      k += 1
    }
    assert(k > 10)
  }

  test("a file that is written over the old name between the look and the rename comes back") {
    withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      val result = FaultyFileSystem.withHook { (operation, path) =>
        if (operation == "rename" && path.toString.endsWith(s"p=1/_zorder_$run/_old_1")) {
          put(dir, "p=1/c", "somebody else's")
        }
      }(Try(new Publisher(state).publish(1, record)))
      fails("ZORDER_PUBLISH_CONFLICT", "c was overwritten")(result.get)
      assert(text(dir, "p=1/c") === "somebody else's")
      assert(text(dir, "p=1/a") === "old p=1/a")
      assert(new File(dir, "p=1").list().toSet === Set("a", "c"))
    }
  }

  private val many = Map("p=1" -> ((Seq("a", "b", "c", "d"), Seq("n1", "n2"))))

  /** Somebody changes the last of four files before the `k`-th change of publishing, for every k. */
  private def lastIsChanged(change: File => Unit)(left: Set[String]): Unit = {
    var k = 0
    var conflicts = 0
    var more = true
    while (more) withScheme("faulty") { (dir, state) =>
      val record = stage(dir, state, "run", many)
      assert(state.createRecord(1, record))
      var (n, changed) = (0, false)
      val result = FaultyFileSystem.withHook { (operation, _) =>
        if (isChange(operation)) {
          // while it is there: what is done to a file that is out is done to another one
          if (n == k && new File(dir, "p=1/d").exists()) {
            changed = true
            change(new File(dir, "p=1/d"))
          }
          n += 1
        }
      }(Try(new Publisher(state).publish(1, record)))
      more = n > k
      Try(new Publisher(stateOf(dir)).rollForward())
      assert(state.isDone(1), s"step $k")
      val seen = visible(dir, "p=1")
      if (changed && result.isFailure) {
        conflicts += 1
        assert(seen === left, s"step $k")
        assert(Seq("a", "b", "c").forall(f => text(dir, s"p=1/$f") === s"old p=1/$f"))
        assert(new File(dir, "p=1").list().toSet === left, s"step $k")
        assert(state.hasConflict(1))
      } else assert(seen === Set("n1", "n2"), s"step $k")
      k += 1
    }
    assert(conflicts >= 5)
  }

  test("one of many files is removed at any step: all rows of the others are visible again") {
    lastIsChanged(f => assert(f.delete()))(Set("a", "b", "c"))
  }

  test("one of many files is overwritten at any step: all rows of the others are visible again") {
    lastIsChanged(f => put(f.getParentFile, "d", "somebody else's"))(Set("a", "b", "c", "d"))
  }

  test("killed at any step of putting files back: the next recovery goes on") {
    val keepers = Seq.newBuilder[Boolean]
    var k = 0
    var more = true
    while (more) withScheme("faulty") { (dir, state) =>
      val record = stage(dir, state, "run", many)
      assert(state.createRecord(1, record))
      var removed = false
      val (_, failed) = FaultyFileSystem.failing(k) { (operation, path) =>
        // three files are out, and the fourth goes
        if (!removed && operation == "rename" && path.getName == "_old_3") {
          removed = new File(dir, "p=1/d").delete()
        }
        removed && isChange(operation)
      }(Try(new Publisher(state).publish(1, record)))
      assert(removed)
      Try(new Publisher(stateOf(dir)).rollForward())
      assert(state.isDone(1) && state.hasConflict(1), s"step $k")
      // the next process cannot tell whether d was hidden when somebody removed the file
      val kept = s"_zorder_${run}_closed"
      assert(
        new File(dir, "p=1").list().toSet - kept === Set("a", "b", "c"),
        s"step $k")
      if (failed) keepers += new File(dir, s"p=1/$kept").exists()
      more = failed
      k += 1
    }
    assert(k > 10)
    // only while a new file is there to be kept
    assert(keepers.result().head && !keepers.result().last)
  }

  test("a new file that somebody removed before it was published: the old ones stay") {
    withTable { (dir, state) =>
      val record = committed(dir, state)
      assert(new File(dir, s"_zorder_$run/_new_3").delete())
      fails("ZORDER_PUBLISH_CONFLICT")(new Publisher(state).publish(1, record))
      assert(visible(dir) === Set("a", "b"))
      assert(visible(dir, "p=1") === Set("n1"))
    }
  }
}
