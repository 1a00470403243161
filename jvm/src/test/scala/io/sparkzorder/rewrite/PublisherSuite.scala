package io.sparkzorder.rewrite

import java.io.File
import java.util.concurrent.{Callable, CountDownLatch, Executors}

import scala.util.Try

import io.sparkzorder.FaultyFileSystem

class PublisherSuite extends StateTestBase {

  private val folders = Map(
    "" -> ((Seq("a", "b"), Seq("n1", "n2"))),
    "p=1" -> ((Seq("a", "c"), Seq("n1"))))

  /** A committed run that is not published. */
  private def committed(dir: File, state: StateDirectory): Record = {
    val record = stage(dir, state, "run", folders)
    assert(state.createRecord(1, record))
    record
  }

  private def checkPublished(dir: File, state: StateDirectory): Unit = {
    assert(visible(dir) === Set("n1", "n2"))
    assert(visible(dir, "p=1") === Set("n1"))
    assert(text(dir, "n1") === "new n1" && text(dir, "p=1/n1") === "new n1")
    assert(state.isDone(1))
    val retained = new File(dir, "_zorder/_retained/_run").listFiles.toSeq
    assert(retained.map(f => text(f.getParentFile, f.getName)).toSet ===
      Set("old a", "old b", "old p=1/a", "old p=1/c"))
    assert(!new File(dir, "_zorder/_staged/_run").exists())
  }

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
          val seen = visible(dir, folder)
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
        FaultyFileSystem.failing(k)((o, _) => o != "list")(
          Try(new Publisher(state).publish(1, record)))
      assert(result.isFailure === failed)
      if (failed) {
        assert(!state.isDone(1) || k > 0)
        // and killed once more on the way
        FaultyFileSystem.failing(k / 2)((o, _) => o != "list")(
          Try(new Publisher(state).rollForward()))
        new Publisher(stateOf(dir)).rollForward()
      }
      checkPublished(dir, state)
      more = failed
      k += 1
    }
    assert(k > 10)
  }

  test("every prefix of the sequence of renames") {
    val steps: Seq[(String, String)] = Seq(
      "a" -> "_zorder/_retained/_run/_0_0",
      "b" -> "_zorder/_retained/_run/_0_1",
      "_zorder/_staged/_run/_3" -> "n1",
      "_zorder/_staged/_run/_4" -> "n2")
    for (n <- 0 to steps.size) withTable { (dir, state) =>
      val record = committed(dir, state)
      assert(record.changes.head.added.map(a => a.staged -> a.name) ===
        Seq("_3" -> "n1", "_4" -> "n2"))
      if (n > 0) put(dir, "_zorder_publishing_run", "")
      steps.take(n).foreach { case (from, to) =>
        val target = new File(dir, to)
        target.getParentFile.mkdirs()
        assert(new File(dir, from).renameTo(target))
      }
      new Publisher(state).rollForward()
      checkPublished(dir, state)
    }
  }

  test("several publishers at once") {
    val threads = 4
    val pool = Executors.newFixedThreadPool(threads)
    try for (_ <- 0 until 30) withTable { (dir, state) =>
        val record = committed(dir, state)
        val start = new CountDownLatch(1)
        val running = (0 until threads).map { _ =>
          pool.submit(new Callable[Unit] {
            override def call(): Unit = {
              start.await()
              new Publisher(stateOf(dir)).publish(1, record)
            }
          })
        }
        start.countDown()
        running.foreach(_.get())
        checkPublished(dir, state)
      }
    finally pool.shutdown()
  }

  test("an input that was changed after the commit: nothing of that folder, all of the others") {
    val changes = Seq[(String, File => Unit)](
      "removed" -> (d => assert(new File(d, "p=1/c").delete())),
      "overwritten" -> (d => put(d, "p=1/c", "somebody else's")),
      "overwritten" -> (d => assert(new File(d, "p=1/c").setLastModified(1000))))
    for ((word, change) <- changes) withTable { (dir, state) =>
      val record = committed(dir, state)
      change(dir)
      val now = visible(dir, "p=1")
      fails("ZORDER_PUBLISH_CONFLICT", "p=1", s"c was $word", "_retained/_run")(
        new Publisher(state).publish(1, record))
      assert(visible(dir) === Set("n1", "n2"))
      assert(visible(dir, "p=1") === now)
      assert(state.isDone(1))
      new Publisher(state).rollForward()
      assert(visible(dir, "p=1") === now)
    }
  }

  test("changed after some replaced files went out: nothing is put back, they stay retained") {
    withTable { (dir, state) =>
      committed(dir, state)
      put(dir, "_zorder_publishing_run", "")
      val retained = new File(dir, "_zorder/_retained/_run")
      retained.mkdirs()
      assert(new File(dir, "a").renameTo(new File(retained, "_0_0")))
      assert(new File(dir, "b").delete())
      fails("ZORDER_PUBLISH_CONFLICT", "b was removed")(new Publisher(state).rollForward())
      assert(visible(dir) === Set())
      assert(text(retained, "_0_0") === "old a")
      assert(visible(dir, "p=1") === Set("n1"))
    }
  }

  test("a folder that was overwritten in the middle: no old row comes back, what is kept stays") {
    withTable { (dir, state) =>
      committed(dir, state)
      val retained = new File(dir, "_zorder/_retained/_run")
      retained.mkdirs()
      // killed after all replaced files of p=1 were out; then somebody overwrites p=1
      for ((name, i) <- Seq("a", "c").zipWithIndex) {
        val kept = new File(retained, s"_${"p=1".hashCode}_$i")
        assert(new File(dir, s"p=1/$name").renameTo(kept))
      }
      put(dir, "p=1/theirs", "new rows")
      fails("ZORDER_PUBLISH_CONFLICT", "p=1", "overwritten")(new Publisher(state).rollForward())
      assert(visible(dir, "p=1") === Set("theirs"))
      assert(visible(dir) === Set("n1", "n2"))
      // the retained files may be the only copy of their rows: they never expire
      new Retention(state).removeExpired(Long.MaxValue)
      assert(retained.listFiles.length === 4)
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
    for (k <- 0 until 8) withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      var n = 0
      var wiped = false
      val result = FaultyFileSystem.withHook { (operation, _) =>
        if (operation != "list") {
          if (n == k) {
            wiped = true
            dir.listFiles.foreach(f => delete(f))
            put(dir, "fresh", "x")
          }
          n += 1
        }
      }(Try(new Publisher(state).publish(1, record)))
      if (wiped && k < 7) assert(result.isFailure, s"step $k")
      if (wiped) {
        assert(text(dir, "fresh") === "x")
        assert(!new File(dir, "_zorder/_commits").exists(), s"recreated at step $k")
      }
    }
  }

  private def delete(f: File): Unit = {
    Option(f.listFiles).toSeq.flatten.foreach(delete)
    f.delete()
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
        assert(Publisher.relative(root, Publisher.folder(root, relative)) === relative)
      }
    }
  }
}
