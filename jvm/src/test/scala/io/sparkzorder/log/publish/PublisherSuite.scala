// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import java.io.File

import scala.util.Try

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.errors.ZOrderException
import io.sparkzorder.log.Record
import io.sparkzorder.util.Paths

/** Publishing a committed run, again after any interruption, and by several at once. */
class PublisherSuite extends PublisherTestBase {
  private val own = s"_zorder_$run"

  test("replaced files go out and are kept, new ones come in; again changes nothing") {
    withTable { (dir, state) =>
      val record = committed(dir, state)
      put(dir, "stranger", "x")
      put(dir, ".a.crc", "checksum")
      new Publisher(state).publish(1, record)
      assert(text(dir, "stranger") === "x")
      assert(new File(dir, "stranger").delete())
      assert(!new File(dir, ".a.crc").exists())
      checkPublished(dir, state)
      val modified = new File(dir, "n1").lastModified
      new Publisher(state).publish(1, record)
      new Publisher(state).rollForward()
      checkPublished(dir, state)
      assert(new File(dir, "n1").lastModified === modified)
    }
  }

  test("a reader never sees a row twice: old and new files of a folder are never together") {
    withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      FaultyFileSystem.withHook { (_, _) =>
        for (folder <- Seq("", "p=1")) {
          val seen = visible(dir, folder).filterNot(_.startsWith("part-zorder-"))
          assert(!(seen.exists(_.startsWith("n")) && seen.exists(!_.startsWith("n"))))
        }
      }(new Publisher(state).publish(1, record))
      checkPublished(dir, state)
    }
  }

  test("killed before any change and then rolled forward, however often") {
    var k = 0
    var more = true
    while (more) withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      val (result, failed) =
        FaultyFileSystem.failing(k)((o, _) => isChange(o))(
          Try(new Publisher(state).publish(1, record)))
      assert(result.isFailure === failed)
      if (failed) {
        assert(!state.isDone(1) || k > 0)
        // and killed once more on the way
        FaultyFileSystem.failing(k / 2)((o, _) => isChange(o))(
          Try(new Publisher(state).rollForward()))
        new Publisher(stateOf(dir)).rollForward()
      }
      checkPublished(dir, state)
      more = failed
      k += 1
    }
    assert(k > 10)
  }

  // the renames of a publish, in their order
  private val steps: Seq[(String, String)] = Seq(
    s"$own/_waiting" -> s"part-zorder-$run.parquet",
    "a" -> s"$own/_old_0",
    "b" -> s"$own/_old_1",
    s"$own/_new_3" -> "n1",
    s"$own/_new_4" -> "n2",
    s"part-zorder-$run.parquet" -> s"$own/_finished")

  test("every prefix of the sequence of renames") {
    for (n <- 0 to steps.size) withTable { (dir, state) =>
      val record = committed(dir, state)
      assert(record.changes.head.added.map(a => a.staged -> a.name) ===
        Seq("_new_3" -> "n1", "_new_4" -> "n2"))
      steps.take(n).foreach { case (from, to) => rename(dir, from, to) }
      new Publisher(state).rollForward()
      checkPublished(dir, state)
    }
  }

  test("a half-published table that was copied without times recovers: its rows are all there") {
    def touch(f: File): Unit = {
      Option(f.listFiles).toSeq.flatten.foreach(touch)
      assert(f.setLastModified(5000000L))
    }
    for (n <- 0 to steps.size; kind <- Seq(Record.Optimize, Record.Undo))
      withTable { (dir, state) =>
        assert(state.createRecord(1, timed(dir, stage(dir, state, "run", folders), kind)))
        steps.take(n).foreach { case (from, to) => rename(dir, from, to) }
        touch(dir)
        Try(new Publisher(stateOf(dir)).rollForward())
        assert(state.isDone(1), s"step $n")
        val root = visible(dir)
        assert(root === Set("a", "b") || root === Set("n1", "n2"), s"step $n")
        // not one of its files had been moved
        assert(visible(dir, "p=1") === Set("a", "c"), s"step $n")
        assert(text(dir, "p=1/c") === "old p=1/c")
        new Publisher(stateOf(dir)).rollForward()
      }
  }

  test("files that were hidden and then removed: the new files, which have their rows, are kept") {
    for (removed <- Seq(Seq("_old_0"), Seq("_old_0", "_old_1"))) withTable { (dir, state) =>
      val _ = committed(dir, state)
      // killed after the replaced files were hidden, before a new one was visible
      steps.take(3).foreach { case (from, to) => rename(dir, from, to) }
      val news = Seq("_new_3", "_new_4").map(n => text(dir, s"$own/$n"))
      removed.foreach(n => assert(new File(dir, s"$own/$n").delete()))
      val error = intercept[ZOrderException](new Publisher(stateOf(dir)).rollForward())
      assert(error.getMessage.contains("are nowhere"), error)
      assert(state.hasConflict(1))
      val closed = new File(state.closed("", run).toUri.getPath)
      assert(Seq("_new_3", "_new_4").map(n => text(closed, n)) === news)
      assert(visible(dir) === Set("a", "b").drop(removed.size))
      new Publisher(stateOf(dir)).rollForward()
      assert(Seq("_new_3", "_new_4").map(n => text(closed, n)) === news)
    }
  }

  test("a new file that is removed before its rename: the statement says so, and what it replaced stays") {
    withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      val result = FaultyFileSystem.withHook { (operation, path) =>
        if (operation == "rename" && path.getName == "n1" && path.getParent.getName != "p=1") {
          val _ = new File(dir, s"$own/_new_3").delete()
        }
      }(Try(new Publisher(state).publish(1, record)))
      fails("ZORDER_PUBLISH_CONFLICT", "the new file n1 was removed", own)(result.get)
      assert(state.isDone(1) && state.hasConflict(1))
      assert(visible(dir) === Set("n2"))
      new Retention(state, _ => true).removeExpired(Long.MaxValue)
      assert(text(dir, s"$own/_old_0") === "old a")
    }
  }

  test("a run that was abandoned while its publisher slept is no success") {
    withTable { (dir, state) =>
      val record = committed(dir, state)
      val slow = new Publisher(stateOf(dir))
      new Publisher(state).abandonAll("somebody")
      fails("ZORDER_PUBLISH_CONFLICT", "ABANDON")(slow.publish(1, record))
      assert(visible(dir) === Set("a", "b"))
    }
  }

  // as OPTIMIZE and UNDO do, the record notes when the new files were written
  private def timed(dir: File, record: Record, kind: String): Record = record.copy(
    kind = kind,
    undone = if (kind == Record.Undo) Some(id("undone")) else None,
    changes = record.changes.map(c =>
      c.copy(added = c.added.map { a =>
        val file = new File(new File(dir, c.folder), s"$own/${a.staged}")
        a.copy(modified = file.lastModified)
      })))

  test("ABANDON of a half-published copy without times: old files or new ones, never both") {
    for (kind <- Seq(Record.Optimize, Record.Undo)) withTable { (dir, state) =>
      assert(state.createRecord(1, timed(dir, stage(dir, state, "run", folders), kind)))
      // the replaced files are hidden, and one new file is visible
      steps.take(4).foreach { case (from, to) => rename(dir, from, to) }
      assert(new File(dir, "n1").setLastModified(1000))
      for (i <- 0 to 1) assert(new File(dir, s"$own/_old_$i").setLastModified(1000))
      new Publisher(state).abandonAll("somebody")
      assert(visible(dir) === Set("a", "b"), kind)
      assert(text(dir, "a") === "old a" && text(dir, "b") === "old b")
    }
  }

  test("a mark of a conflict that exists is not written again: it may be of another user") {
    withScheme("faulty") { (_, state) =>
      state.create()
      state.markConflict(1)
      FaultyFileSystem.withHook((o, p) => if (o == "create") fail(s"writes $p"))(
        state.markConflict(1))
      assert(state.hasConflict(1))
    }
  }

  test("the state directory vanishes: stop, recreate nothing") {
    withTable { (dir, state) =>
      val record = committed(dir, state)
      state.fs.delete(state.home, true)
      put(dir, "fresh", "x")
      fails("ZORDER_STATE_LOST")(new Publisher(state).publish(1, record))
      assert(!new File(dir, "_zorder").exists())
      assert(visible(dir) === Set("a", "b", "fresh"))
    }
    // while it is publishing, at any step
    var k = 0
    var more = true
    while (more) withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      var n = 0
      var wiped = false
      val result = FaultyFileSystem.withHook { (operation, _) =>
        if (isChange(operation)) {
          if (n == k && !wiped) {
            wiped = true
            dir.listFiles.foreach(f => delete(f))
            put(dir, "fresh", "x")
          }
          n += 1
        }
      }(Try(new Publisher(state).publish(1, record)))
      if (wiped) {
        assert(result.isFailure, s"step $k")
        assert(text(dir, "fresh") === "x")
        assert(!new File(dir, "_zorder/_commits").exists(), s"recreated at step $k")
        assert(visible(dir) === Set("fresh"), s"step $k")
        assert(!new File(dir, "p=1").exists(), s"step $k")
      }
      more = wiped
      k += 1
    }
  }

  test("a record is read as often for a hundred folders as for one") {
    def opened(folders: Int): Int = {
      var n = 0
      withScheme("faulty") { (dir, state) =>
        val changes = (0 until folders).map(i => s"p=$i" -> ((Seq("a"), Seq("n")))).toMap
        val record = stage(dir, state, "run", changes)
        assert(state.createRecord(1, record))
        FaultyFileSystem.withHook { (operation, path) =>
          if (operation == "open" && path.getName == "_1") synchronized(n += 1)
        }(new Publisher(state).publish(1, record))
        assert(state.isDone(1))
      }
      n
    }
    assert(opened(100) === opened(1))
  }

  test("abort records are never published") {
    withTable { (dir, state) =>
      val record = stage(dir, state, "run", folders)
      assert(state.createRecord(1, record.copy(kind = Record.Abort)))
      new Publisher(state).rollForward()
      assert(visible(dir) === Set("a", "b"))
    }
  }

  test("names that Hadoop takes for a scheme, and paths below the root") {
    withTable { (dir, state) =>
      val odd = Map("p=a:b/q=1 2%3A" -> ((Seq("x:1", "y z"), Seq("n:1"))))
      val record = stage(dir, state, "run", odd)
      assert(state.createRecord(1, record))
      new Publisher(state).publish(1, record)
      assert(visible(dir, "p=a:b/q=1 2%3A") === Set("n:1"))
      val root = state.root
      for (relative <- Seq("", "p=1", "p=a:b/q=1 2%3A", "x/y")) {
        assert(Paths.relative(root, Paths.folder(root, relative)) === relative)
      }
    }
  }
}
