// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import java.io.File
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.mutable
import scala.util.Try

import org.apache.commons.io.FileUtils

import io.sparkzorder.{FaultyFileSystem, Steps}
import io.sparkzorder.log._
import io.sparkzorder.log.publish.Publisher

/** What readers see of a table after a run that met a conflict in one of its folders. */
class OverlayConflictSuite extends OverlayTableBase with Steps {

  /** A run that is published in the table's directory, and met a conflict in `p=1`. */
  private def withConflict(body: (File, StateDirectory, Seq[Listing]) => Unit): Unit =
    withScheme("faulty") { (dir, state) =>
      val reader = stateOf(dir)
      val record = stage(dir, state, "run", folders)
      val listings = mutable.ArrayBuffer(new Listing(dir, reader, both))
      assert(state.createRecord(1, record))
      assert(new File(dir, "p=1/c").delete())
      FaultyFileSystem.withHook((_, _) => listings += new Listing(dir, reader, both)) {
        fails("ZORDER_PUBLISH_CONFLICT")(new Publisher(state).publish(1, record))
      }
      assert(visible(dir, "p=1") === Set("a"))
      body(dir, state, listings.toSeq :+ new Listing(dir, reader, both))
    }

  test("after a conflict in one folder, the folders that were published are looked at once") {
    withTable { (dir, state) =>
      val names = (0 until 50).map(i => s"p=$i")
      val record = stage(dir, state, "run", names.map(_ -> ((Seq("a", "b"), Seq("n")))).toMap)
      assert(state.createRecord(1, record))
      assert(new File(dir, "p=7/a").delete())
      fails("ZORDER_PUBLISH_CONFLICT")(new Publisher(state).publish(1, record))
      val reader = stateOf(dir, "counting")
      val expected = names.map(n =>
        n -> Option(Set(if (n == "p=7") "old p=7/b" else "new n"))).toMap
      val looks = (1 to 3).map { _ =>
        val listing = new Listing(dir, reader, names)
        val calls = new AtomicInteger
        FaultyFileSystem.withHook { (_, path) =>
          if (path.toString.contains("/p=")) calls.incrementAndGet()
          ()
        }(assert(listing.read(reader) === expected))
        calls.get
      }
      assert(looks.head >= 50)
      // the folder with the conflict, which somebody may move away and back
      assert(looks.tail.forall(_ < 10), looks)
    }
  }

  test("a token without the hidden directory of its done run costs no search at every query") {
    withTable { (dir, state) =>
      val names = (0 until 50).map(i => s"p=$i")
      publish(
        dir,
        state,
        1,
        stage(dir, state, "run", names.map(_ -> ((Seq("a"), Seq("n1", "n2")))).toMap))
      // as a backup restores it that was made during the publish, and that leaves hidden names out
      put(dir, s"p=7/${RunFolder.tokenName(run, ".parquet")}", "")
      assert(new File(dir, "p=7/n2").delete())
      FileUtils.deleteDirectory(new File(dir, s"p=7/_zorder_$run"))
      val reader = stateOf(dir, "counting")
      val looks = (1 to 3).map { _ =>
        val listing = new Listing(dir, reader, names)
        val calls = new AtomicInteger
        FaultyFileSystem.withHook { (_, path) =>
          if (path.toString.contains("/p=")) calls.incrementAndGet()
          ()
        }(assert(listing.read(reader)("p=7") === Some(Set("new n1"))))
        calls.get
      }
      assert(looks.head >= 50 && looks.tail.forall(_ < 10), looks)
    }
  }

  test("the published folder keeps its rows when the run's directory is removed from it") {
    withConflict { (dir, state, listings) =>
      val expected = after + ("p=1" -> Option(Set("old p=1/a")))
      listings.tail.foreach(l => assert(l.read() === expected))
      FileUtils.deleteDirectory(new File(dir, s"_zorder_$run"))
      listings.tail.foreach(l => assert(l.read() === expected))
      assert(new Listing(dir, stateOf(dir), both).read() === expected)
    }
  }

  test("the published folder keeps its rows when a cleaner of empty files removes the token") {
    withConflict { (dir, _, listings) =>
      val expected = after + ("p=1" -> Option(Set("old p=1/a")))
      assert(new File(dir, s"_zorder_$run/_finished").delete())
      // the first of these listings show the replaced files, which are still kept in the directory of the run
      listings.tail.foreach(l => assert(l.read() === expected))
    }
  }

  test("the next run replaces what was published beside a conflict, whose directories are gone") {
    withConflict { (dir, state, _) =>
      FileUtils.deleteDirectory(new File(dir, s"_zorder_$run"))
      val listing = new Listing(dir, stateOf(dir), both)
      publish(dir, state, 2, stage(dir, state, "next", Map("" -> ((Seq("n1", "n2"), Seq("q"))))))
      val expected = Map("" -> Option(Set("new q")), "p=1" -> Option(Set("old p=1/a")))
      assert(listing.read() === expected)
      assert(listing.read(upTo = Some(1)) === expected)
    }
  }

  test(
    "a file with the name and the time of a new file, but another length, is of another program") {
    withTable { (dir, state) =>
      val time = 1700000000000L
      val staged = stage(dir, state, "run", folders)
      for (c <- staged.changes; a <- c.added) {
        assert(new File(dir, s"${c.folder}/_zorder_$run/${a.staged}").setLastModified(time))
      }
      val record = staged.copy(changes =
        staged.changes.map(c => c.copy(added = c.added.map(_.copy(modified = time)))))
      assert(state.createRecord(1, record))
      assert(new File(dir, "p=1/c").delete())
      fails("ZORDER_PUBLISH_CONFLICT")(new Publisher(state).publish(1, record))
      assert(put(dir, "p=1/m1", "theirs, which is longer").setLastModified(time))
      assert(new Listing(dir, stateOf(dir), both).read()("p=1") ===
        Some(Set("old p=1/a", "theirs, which is longer")))
    }
  }

  testSteps("the next run replaces what the conflict gave back: with every listing", 5) { step =>
    withConflict { (dir, state, listings) =>
      val next = stage(dir, state, "next", Map("p=1" -> ((Seq("a"), Seq("b1", "b2")))))
      assert(state.createRecord(2, next))
      val expected = after + ("p=1" -> Option(Set("new b1", "new b2")))
      val failures = mutable.ArrayBuffer.empty[String]
      var steps = 0
      def check(isLast: Boolean = false): Unit = {
        steps += 1
        if (isLast || steps % step == 0) {
          (listings.tail :+ new Listing(dir, stateOf(dir), both)).zipWithIndex.foreach {
            case (l, i) =>
              val seen = l.read()
              if (seen != expected) failures += s"listing $i at step $steps: $seen"
          }
        }
      }
      check()
      FaultyFileSystem.withHook((_, _) => check())(new Publisher(state).publish(2, next))
      check(isLast = true)
      assert(failures === Nil)
      assert(steps > 5)
    }
  }

  test("one of the new files is removed before the run ends: readers see what recovery leaves") {
    withTable { (dir, state) =>
      val record = stage(dir, state, "run", folders)
      assert(state.createRecord(1, record))
      val own = dir.toPath.resolve(s"_zorder_$run")
      Files.move(own.resolve("_waiting"), dir.toPath.resolve(RunFolder.tokenName(run, ".parquet")))
      for ((name, i) <- Seq("a", "b").zipWithIndex)
        Files.move(dir.toPath.resolve(name), own.resolve(s"_old_$i"))
      val change = record.changes.find(_.folder.isEmpty).get
      for (a <- change.added) Files.move(own.resolve(a.staged), dir.toPath.resolve(a.name))
      val shown = new Listing(dir, state, both)
      assert(shown.read() === after)
      assert(new File(dir, "n1").delete())
      val expected = after + ("" -> Option(Set("new n2")))
      assert(new Listing(dir, state, both).read() === expected)
      fails("ZORDER_PUBLISH_CONFLICT", "the new file n1 was removed")(
        new Publisher(state).rollForward())
      assert(new Listing(dir, state, both).read() === expected)
    }
  }

  test("what the conflict keeps hidden does not come back when its name is free") {
    withTable { (dir, state) =>
      val record = stage(dir, state, "run", folders)
      assert(state.createRecord(1, record))
      val (p, own) = (new File(dir, "p=1").toPath, s"_zorder_$run")
      // killed when `a` was hidden; then somebody writes a file of that name
      Files.move(p.resolve(s"$own/_waiting"), p.resolve(RunFolder.tokenName(run, ".parquet")))
      Files.move(p.resolve("a"), p.resolve(s"$own/_old_0"))
      put(dir, "p=1/a", "theirs")
      val theirs = new Listing(dir, state, both)
      Try(new Publisher(state).abandon(1, record))
      assert(state.isDone(1))
      val expected = before + ("p=1" -> Option(Set("theirs", "old p=1/c")))
      assert(new Listing(dir, state, both).read() === expected)
      assert(theirs.read() === expected)
      assert(new File(dir, s"p=1/${own}_closed/_old_0").isFile)
      assert(new File(dir, "p=1/a").delete())
      assert(new Listing(dir, state, both).read() ===
        before + ("p=1" -> Option(Set("old p=1/c"))))
    }
  }
}
