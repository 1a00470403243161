package io.sparkzorder.log.snapshot

import java.io.File

import scala.collection.JavaConverters._
import scala.collection.mutable
import scala.util.{Random, Try}

import org.apache.hadoop.fs.{FileStatus, Path}
import org.scalatest.tagobjects.Slow

import io.sparkzorder.{FaultyFileSystem, RandomInputs}
import io.sparkzorder.log.{
  Added,
  FolderChange,
  PresentFiles,
  Publisher,
  Record,
  Replaced,
  StateDirectory,
  StateTestBase
}
import io.sparkzorder.util.Paths

/** The overlay without Spark: listings of every moment, laid over by readers of every later one. */
class OverlaySuite extends StateTestBase with RandomInputs {

  /** The visible files of all folders at one moment. */
  private final class Listing(dir: File, state: StateDirectory, folders: Seq[String])
      extends FolderListing {
    private val all: Map[Path, Map[String, FileStatus]] = folders.map { f =>
      val folder = Paths.folder(state.root, f)
      val names = visible(dir, f)
      folder -> PresentFiles.list(state, folder).filter(e => names(e._1))
    }.toMap
    override def files(folder: Path): Option[Map[String, FileStatus]] = all.get(folder)

    /** Contents that a reader finds in each folder; None when a file is missing. */
    def read(reader: StateDirectory = state): Map[String, Option[Set[String]]] = {
      val changed = new Overlay(reader).over(this)
      folders.map { f =>
        val folder = Paths.folder(state.root, f)
        val files = changed.getOrElse(folder, all(folder)).values.toSeq
        assert(files.map(_.getPath).distinct.size === files.size)
        val disk = files.map(s => new File(s.getPath.toUri.getPath))
        f -> (if (disk.forall(_.isFile)) {
                val contents = disk.map(d => text(d.getParentFile, d.getName))
                assert(contents.distinct.size === contents.size)
                Some(contents.toSet)
              } else None)
      }.toMap
    }
  }

  private val both = Seq("", "p=1")
  private val folders = Map(
    "" -> ((Seq("a", "b"), Seq("n1", "n2"))),
    "p=1" -> ((Seq("a", "c"), Seq("m1"))))
  private val before = Map(
    "" -> Option(Set("old a", "old b")),
    "p=1" -> Option(Set("old p=1/a", "old p=1/c")))
  private val after = Map("" -> Option(Set("new n1", "new n2")), "p=1" -> Option(Set("new m1")))

  private def tree(dir: File): Set[(String, Long, Long)] = {
    val stream = java.nio.file.Files.walk(dir.toPath)
    try stream.iterator().asScala.map { p =>
        (p.toString, p.toFile.lastModified, if (p.toFile.isFile) p.toFile.length else 0L)
      }.toSet
    finally stream.close()
  }

  private def nothingWritten[T](dir: File)(body: => T): T = {
    val seen = tree(dir)
    val result = body
    assert(tree(dir) === seen, "a reader wrote")
    result
  }

  test("old files until the commit, new ones from then on: at every step, with every listing") {
    withScheme("faulty") { (dir, state) =>
      val reader = stateOf(dir)
      val record = stage(dir, state, "run", folders)
      val listings = mutable.ArrayBuffer(new Listing(dir, reader, both))
      assert(nothingWritten(dir)(listings.head.read()) === before)
      assert(state.createRecord(1, record))
      val failures = mutable.ArrayBuffer.empty[String]
      var steps = 0
      def check(): Unit = {
        listings += new Listing(dir, reader, both)
        steps += 1
        listings.zipWithIndex.foreach { case (l, i) =>
          val seen = nothingWritten(dir)(l.read())
          if (seen != after) failures += s"listing $i at step $steps: $seen"
        }
      }
      check()
      FaultyFileSystem.withHook((_, _) => check())(new Publisher(state).publish(1, record))
      check()
      assert(failures === Nil)
      assert(steps > 10)
    }
  }

  test("killed at every step, then read, recovered and read") {
    var k = 0
    var more = true
    while (more) withScheme("faulty") { (dir, state) =>
      val reader = stateOf(dir)
      val record = stage(dir, state, "run", folders)
      val old = new Listing(dir, reader, both)
      assert(state.createRecord(1, record))
      val (_, failed) = FaultyFileSystem.failing(k)((o, _) => o != "list")(
        Try(new Publisher(state).publish(1, record)))
      val half = new Listing(dir, reader, both)
      Seq(old, half).foreach(l => assert(l.read() === after, s"killed at step $k"))
      new Publisher(reader).rollForward()
      Seq(old, half, new Listing(dir, reader, both)).foreach(l => assert(l.read() === after))
      more = failed
      k += 1
    }
    assert(k > 5)
  }

  test("three runs in a chain: a listing of any moment, a reader of any later one") {
    withScheme("faulty") { (dir, state) =>
      val reader = stateOf(dir)
      val listings = mutable.ArrayBuffer.empty[Listing]
      val failures = mutable.ArrayBuffer.empty[String]
      val names = Seq(Seq("a", "b"), Seq("n1", "n2"), Seq("o1"), Seq("q1", "q2"))
      names.sliding(2).zipWithIndex.foreach { case (Seq(from, to), i) =>
        val record = stage(dir, state, s"run$i", Map("" -> ((from, to))))
        listings += new Listing(dir, reader, Seq(""))
        assert(state.createRecord(i + 1L, record))
        val expected = Map("" -> Option(to.map(n => s"new $n").toSet))
        def check(): Unit = {
          listings += new Listing(dir, reader, Seq(""))
          listings.zipWithIndex.foreach { case (l, j) =>
            val seen = l.read()
            if (seen != expected) failures += s"listing $j in run $i: $seen"
          }
        }
        FaultyFileSystem.withHook((_, _) => check())(new Publisher(state).publish(i + 1L, record))
        check()
      }
      assert(failures === Nil)
      assert(listings.size > 20)
    }
  }

  test("a reader sees what the next OPTIMIZE will leave, whatever somebody did meanwhile", Slow) {
    withRandom { random =>
      for (round <- 0 until 250) withScheme("faulty") { (dir, state) =>
        val reader = stateOf(dir)
        val record = stage(dir, state, "run", folders)
        assert(state.createRecord(1, record))
        val k = random.nextInt(14)
        Try(FaultyFileSystem.failing(k)((_, _) => true)(new Publisher(state).publish(1, record)))
        val change = disturb(dir, random)
        val seen = new Listing(dir, reader, both).read()
        Try(new Publisher(reader).rollForward())
        val left = both.map(f =>
          f -> Option(visible(dir, f).map(n => text(dir, if (f.isEmpty) n else s"$f/$n")))).toMap
        assert(seen === left, s"round $round: killed at $k, then $change")
        assert(new Listing(dir, reader, both).read() === left)
      }
    }
  }

  /** What a writer might do to one folder between a kill and the next OPTIMIZE. */
  private def disturb(dir: File, random: Random): String = {
    val folder = both(random.nextInt(2))
    val home = if (folder.isEmpty) dir else new File(dir, folder)
    val files = home.listFiles.filter(_.isFile).toSeq
    val shown = files.filterNot(_.getName.startsWith("_")).sortBy(_.getName)
    random.nextInt(5) match {
      case 0 => "nothing"
      case 1 =>
        put(home, "appended", s"theirs in $folder")
        s"append to '$folder'"
      case 2 if shown.nonEmpty =>
        val victim = shown(random.nextInt(shown.size))
        assert(victim.delete())
        s"delete ${victim.getName} of '$folder'"
      case 3 if shown.nonEmpty =>
        val victim = shown(random.nextInt(shown.size))
        put(home, victim.getName, s"overwritten ${victim.getName} in $folder")
        s"overwrite ${victim.getName} of '$folder'"
      case _ =>
        files.foreach(f => assert(f.delete()))
        put(home, "theirs", s"theirs in $folder")
        s"overwrite '$folder'"
    }
  }

  private def publish(dir: File, state: StateDirectory, number: Long, record: Record): Unit = {
    assert(state.createRecord(number, record))
    new Publisher(state).publish(number, record)
  }

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
      val kept = new File(dir, s"_zorder/_retained/_$run/_${"".hashCode}_0")
      assert(kept.renameTo(new File(dir, "a")))
      // both hold the same rows
      assert(new Listing(dir, state, Seq("")).read() === Map("" -> Some(Set("new n"))))
      assert(new File(dir, "n").delete())
      assert(new Listing(dir, state, Seq("")).read() === Map("" -> Some(Set("old a"))))
    }
  }

  test("a record of another kind whose staged files lie elsewhere: old names come back") {
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
          Seq(Replaced("n", n.length, n.lastModified, "_0")),
          first.changes.head.replaced.map(r =>
            Added(s"_undo_$run/${r.retained}", r.name, r.length, 1L)))),
        undone = Some(run))
      state.fs.mkdirs(state.staging(id("back")))
      assert(state.fs.rename(
        state.retained(run),
        new Path(state.staging(id("back")), s"_undo_$run")))
      assert(state.createRecord(2, undo))
      val expected = Map("" -> Option(Set("old a", "old b")))
      assert(done.read() === expected)
      val moves = undo.changes.head.added.map(a =>
        state.staged(id("back"), a) -> new Path(state.root, a.name))
      state.fs.mkdirs(state.retained(id("back")))
      put(dir, s"_zorder_publishing_${id("back")}", "")
      val out = new Path(state.root, "n") -> new Path(state.retained(id("back")), "_0")
      val half = mutable.ArrayBuffer(done)
      (out +: moves).foreach { case (from, to) =>
        assert(state.fs.rename(from, to))
        half += new Listing(dir, state, Seq(""))
        half.foreach(l => assert(l.read() === expected))
      }
      assert(new File(dir, s"_zorder_publishing_${id("back")}").delete())
      put(dir, "_zorder/_commits/_2_done", "")
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
            Seq(Added("_0", s"n$n", s"new n$n".length.toLong, 1L)))))
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
        assert(new Overlay(state).over(listing).isEmpty)
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
