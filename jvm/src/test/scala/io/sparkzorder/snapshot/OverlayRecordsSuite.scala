// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import java.io.File

import scala.collection.mutable
import scala.util.Try

import org.apache.commons.io.FileUtils
import org.apache.hadoop.fs.Path

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log._
import io.sparkzorder.log.publish.{Publisher, UndoClaim}

/** Which records a reader takes into account: old, undone, unreadable, of another table. */
class OverlayRecordsSuite extends OverlayTableBase {

  test(
    "an old listing of a folder that was overwritten since is left alone: Spark misses its files") {
    withTable { (dir, state) =>
      val old = new Listing(dir, state, Seq(""))
      val record = stage(dir, state, "run", Map("" -> ((Seq("a", "b"), Seq("n1", "n2")))))
      val stale = new Listing(dir, state, Seq(""))
      publish(dir, state, 1, record)
      assert(old.read() === Map("" -> Some(Set("new n1", "new n2"))))
      for (gone <- Seq("n1", "n2")) {
        assert(new File(dir, gone).delete())
        assert(stale.read() === Map("" -> None))
      }
      put(dir, "theirs", "theirs")
      assert(stale.read() === Map("" -> None))
      assert(new Listing(dir, state, Seq("")).read() === Map("" -> Some(Set("theirs"))))
    }
  }

  test("files removed or added after a run stay so") {
    withTable { (dir, state) =>
      publish(dir, state, 1, stage(dir, state, "run", folders))
      assert(new File(dir, "n1").delete())
      put(dir, "p=1/more", "more")
      for (_ <- 0 until 2) {
        assert(new Listing(dir, state, both).read() ===
          Map("" -> Some(Set("new n2")), "p=1" -> Some(Set("new m1", "more"))))
      }
    }
  }

  test("a retained file that its owner puts back is read again") {
    withTable { (dir, state) =>
      publish(dir, state, 1, stage(dir, state, "run", Map("" -> ((Seq("a"), Seq("n"))))))
      val kept = new File(dir, s"_zorder_$run/_old_0")
      assert(kept.renameTo(new File(dir, "a")))
      // both hold the same rows
      assert(new Listing(dir, state, Seq("")).read() === Map("" -> Some(Set("new n"))))
      assert(new File(dir, "n").delete())
      assert(new Listing(dir, state, Seq("")).read() === Map("" -> Some(Set("old a"))))
    }
  }

  test("an undo, whose hidden files are those that another run replaced: old names come back") {
    withTable { (dir, state) =>
      publish(dir, state, 1, stage(dir, state, "run", Map("" -> ((Seq("a", "b"), Seq("n"))))))
      val first = state.read(1)
      val done = new Listing(dir, state, Seq(""))
      val n = new File(dir, "n")
      val undo = Record(
        Record.Version,
        "undo",
        id("back"),
        1L,
        "me",
        Nil,
        5000L,
        Seq(FolderChange(
          "",
          Seq(Replaced("n", n.length, n.lastModified, "_old_u0")),
          first.changes.head.replaced.map(r => Added(r.retained, r.name, r.length, 1L)))),
        undone = Some(run),
        suffix = ".parquet")
      assert(new UndoClaim(state, run, id("back"), "me").take(Seq(""), () => true))
      assert(state.createRecord(2, undo))
      val expected = Map("" -> Option(Set("old a", "old b")))
      assert(done.read() === expected)
      val own = state.own("", id("back"))
      val moves = undo.changes.head.added.map(a =>
        new Path(own, a.staged) -> new Path(state.root, a.name))
      val token = new Path(state.root, s"part-zorder-${id("back")}.parquet")
      val out = Seq(
        new Path(own, "_waiting") -> token,
        new Path(state.root, "n") -> new Path(own, "_old_u0"))
      val half = mutable.ArrayBuffer(done)
      (out ++ moves :+ (token -> new Path(own, "_finished"))).foreach { case (from, to) =>
        assert(state.fs.rename(from, to))
        half += new Listing(dir, state, Seq(""))
        half.foreach(l => assert(l.read() === expected))
      }
      put(dir, "_zorder/_commits/_2_done", id("back"))
      half.foreach(l => assert(l.read() === expected))
    }
  }

  test("runs that were declared dead and tables without state change nothing") {
    withTable { (dir, state) =>
      put(dir, "a", "old a")
      assert(new Listing(dir, state, Seq("")).read() === Map("" -> Some(Set("old a"))))
      val record = stage(dir, state, "run", Map("" -> ((Seq("a"), Seq("n")))))
      assert(state.createRecord(1, record.copy(kind = Record.Abort)))
      val listing = new Listing(dir, state, Seq(""))
      assert(listing.read() === Map("" -> Some(Set("old a"))))
      state.fs.delete(state.home, true)
      assert(listing.read() === Map("" -> Some(Set("old a"))))
    }
  }

  test("a record that cannot be read: an error while it is open, nothing once it is done") {
    for (content <- Seq("{\"version\":2}", "", "null")) withTable { (dir, state) =>
      state.create()
      put(dir, "a", "old a")
      put(dir, "_zorder/_commits/_1", content)
      fails("ZORDER_STATE_UNREADABLE", "_commits/_1")(new Listing(dir, state, Seq("")).read())
      put(dir, "_zorder/_commits/_1_done", "")
      assert(new Listing(dir, state, Seq("")).read() === Map("" -> Some(Set("old a"))))
    }
  }

  test("a folder that was moved away for one query is read again when it is back") {
    withScheme("faulty") { (dir, state) =>
      val reader = stateOf(dir)
      val record = stage(dir, state, "run", folders)
      val listings = mutable.ArrayBuffer.empty[Listing]
      assert(state.createRecord(1, record))
      FaultyFileSystem.withHook((_, _) => listings += new Listing(dir, reader, both)) {
        new Publisher(state).publish(1, record)
      }
      val (p, away) = (new File(dir, "p=1"), new File(s"$dir-away"))
      assert(p.renameTo(away))
      assert(listings.map(l => Try(l.read())).nonEmpty)
      assert(away.renameTo(p))
      listings.foreach(l => assert(l.read() === after))
    }
  }

  test("a table that is rolled back into a publish: a driver that has seen the end of the run reads all rows") {
    // when some replaced files are hidden, and when some new files are visible
    for (k <- Seq(5, 9)) withScheme("faulty") { (dir, state) =>
      val record = stage(dir, state, "run", folders)
      assert(state.createRecord(1, record))
      val backup = new File(s"$dir.backup")
      assert(withChangeBefore(k)(FileUtils.copyDirectory(dir, backup, true))(
        new Publisher(state).publish(1, record)))
      assert(state.isDone(1) && new Listing(dir, state, both).read() === after)
      // a file that this driver has missed in the meantime
      val moved = visible(dir).toSeq.map(new File(dir, _))
      moved.foreach(f => assert(f.renameTo(new File(s"$dir.${f.getName}"))))
      new Listing(dir, state, both).read()
      FileUtils.deleteDirectory(dir)
      FileUtils.moveDirectory(backup, dir)
      moved.foreach(f => assert(new File(s"$dir.${f.getName}").delete()))
      assert(new Listing(dir, state, both).read() === after, s"at $k")
      assert(TableLog.read(state).unfinished.map(_._1) === Seq(1L))
      new Publisher(state).rollForward()
      assert(state.isDone(1) && visible(dir) === Set("n1", "n2") && visible(
        dir,
        "p=1") === Set("m1"))
      assert(new Listing(dir, state, both).read() === after)
    }
  }

  test("a table that is made anew under the same path has records of its own") {
    withTable { (dir, state) =>
      for (round <- 0 until 3) {
        val old = s"a$round"
        val record = stage(dir, state, s"run$round", Map("" -> ((Seq(old), Seq(s"n$round")))))
        val stale = new Listing(dir, state, Seq(""))
        publish(dir, state, 1, record)
        assert(stale.read() === Map("" -> Some(Set(s"new n$round"))))
        dir.listFiles.foreach(f => state.fs.delete(new Path(f.toURI), true))
      }
    }
  }

  test("two runs of different folders, both open") {
    withTable { (dir, state) =>
      val one = stage(dir, state, "one", Map("p=1" -> ((Seq("a"), Seq("n")))))
      val two = stage(dir, state, "two", Map("p=2" -> ((Seq("a"), Seq("m")))))
      assert(state.createRecord(1, one) && state.createRecord(2, two))
      val folders = Seq("p=1", "p=2")
      val expected = Map("p=1" -> Option(Set("new n")), "p=2" -> Option(Set("new m")))
      val stale = new Listing(dir, state, folders)
      assert(stale.read() === expected)
      new Publisher(state).publish(2, two)
      assert(stale.read() === expected && new Listing(dir, state, folders).read() === expected)
      // a read of one folder sees that one alone
      assert(new Listing(dir, state, Seq("p=1")).read() === Map("p=1" -> Some(Set("new n"))))
      new Publisher(state).rollForward()
      assert(stale.read() === expected && new Listing(dir, state, folders).read() === expected)
    }
  }

  test("a record is read once, and a look at a thousand finished ones is a listing") {
    withTable { (dir, state) =>
      var name = "a"
      for (n <- 1 to 1000) {
        val record = Record(
          Record.Version,
          Record.Optimize,
          id(s"run$n"),
          1L,
          "me",
          Nil,
          1L,
          Seq(FolderChange(
            s"p=${n % 50}",
            Seq(Replaced(name, 5L, n.toLong, "_0")),
            Seq(Added("_new_0", s"n$n", s"new n$n".length.toLong, 1L)))),
          suffix = ".parquet")
        state.create()
        put(dir, s"_zorder/_commits/_$n", new String(Record.toJson(record), "UTF-8"))
        put(dir, s"_zorder/_commits/_${n}_done", record.run)
        name = s"n$n"
      }
      for (n <- 951 to 1000) put(dir, s"p=${n % 50}/n$n", s"new n$n")
      val listing = new Listing(dir, state, (0 until 50).map(p => s"p=$p"))
      val expected = listing.read()
      // the second time nothing is opened: the content may be anything of the same length and time
      for (n <- 1 to 1000) {
        val f = new File(dir, s"_zorder/_commits/_$n")
        val modified = f.lastModified
        put(dir, s"_zorder/_commits/_$n", "x" * f.length.toInt)
        assert(f.setLastModified(modified))
      }
      val times = (0 until 20).map { _ =>
        val start = System.nanoTime()
        assert(new Overlay(state, ShadowUse.Checked).over(listing).isEmpty)
        (System.nanoTime() - start) / 1e6
      }
      assert(listing.read() === expected)
      info(f"1000 finished records, 50 folders: ${times.sorted.apply(10)}%.2f ms a look")
    }
  }

  test("the state of a table is found from its partition directories, and only there") {
    withTable { (dir, state) =>
      state.create()
      put(dir, "p=1/q=2/a", "a")
      val found = StateSearch.above(
        Seq(new Path(state.root, "p=1/q=2"), new Path(state.root, "p=1")),
        conf)
      assert(found.map(_.root) === Seq(state.root))
      assert(StateSearch.above(Seq(new Path(state.root, "p=1/q=2/a")), conf).map(_.root) ===
        Seq(state.root))
      assert(StateSearch.above(Seq(state.root.getParent), conf) === Nil)
      assert(StateSearch.above(Seq(new Path(state.root.getParent, "missing")), conf) === Nil)
    }
  }
}
