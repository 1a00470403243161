package io.sparkzorder.log

import java.io.File
import java.nio.file.Files
import java.util.concurrent.{Callable, CountDownLatch, Executors}

import scala.collection.JavaConverters._
import scala.util.{Random, Try}

import io.sparkzorder.FaultyFileSystem

/** The next protocol in code: every step, and everybody else between any two of them. */
class RunPublisherSuite extends StateTestBase {
  private val own = s"_zorder_$run"
  private val folders = Map(
    "" -> ((Seq("a", "b"), Seq("n1", "n2"))),
    "p=1" -> ((Seq("a", "b", "c", "d"), Seq("n1", "n2"))))
  private val (old, fresh) = (Set("a", "b", "c", "d"), Set("n1", "n2"))

  private def isChange(operation: String) = operation != "list" && operation != "open"

  /** A committed run whose files wait in their folders. */
  private def committed(dir: File, state: StateDirectory): Record = {
    state.create()
    val changes = folders.toSeq.sortBy(_._1).map { case (folder, (replaced, added)) =>
      val at = if (folder.isEmpty) dir else new File(dir, folder)
      val olds = replaced.zipWithIndex.map { case (n, i) =>
        val f = put(at, n, s"old $folder/$n")
        Replaced(n, f.length, f.lastModified, s"_old_$i")
      }
      put(at, s"$own/_canary", "")
      FolderChange(
        folder,
        olds,
        added.zipWithIndex.map { case (n, i) =>
          val f = put(at, s"$own/_new_${i}_0", s"new $folder/$n")
          Added(s"_new_${i}_0", n, f.length, 1L, f.lastModified)
        })
    }
    val record = Record(
      Record.Version,
      Record.Optimize,
      run,
      1L,
      "me",
      Seq("a"),
      1L,
      changes,
      suffix = ".parquet")
    assert(state.createRecord(1, record))
    state.read(1)
  }

  private final class OneRun(state: StateDirectory, record: Record) {
    def publish(): Unit = new Publisher(state).publish(1, record)
    def abandon(): Unit = new Publisher(state).abandon(1, record)
  }

  private def publisher(state: StateDirectory, record: Record) = new OneRun(state, record)

  private def recover(dir: File, record: Record): Unit = {
    val state = stateOf(dir)
    if (!state.isDone(1)) Try(publisher(state, record).publish())
    assert(state.isDone(1))
  }

  private def inside(dir: File, folder: String): Set[String] =
    Option(new File(new File(dir, folder), own).list()).map(_.toSet).getOrElse(Set.empty)

  private def everything(dir: File): Seq[String] =
    Files.walk(dir.toPath).iterator.asScala.map(dir.toPath.relativize(_).toString).toSeq

  private def checkPublished(dir: File): Unit = {
    assert(visible(dir) === fresh && visible(dir, "p=1") === fresh)
    assert(inside(dir, "p=1") === Set("_finished", "_old_0", "_old_1", "_old_2", "_old_3"))
  }

  test("replaced files are hidden in their folder, new ones are revealed; again changes nothing") {
    withTable { (dir, state) =>
      val record = committed(dir, state)
      for (_ <- 1 to 2) {
        publisher(state, record).publish()
        checkPublished(dir)
      }
      assert(state.isDone(1) && !state.hasConflict(1))
    }
  }

  test("killed before any change and then rolled forward, however often") {
    var (k, more) = (0, true)
    while (more) withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      val (_, failed) = FaultyFileSystem.failing(k)((o, _) => isChange(o))(
        Try(publisher(state, record).publish()))
      if (failed) {
        FaultyFileSystem.failing(k / 2)((o, _) => isChange(o))(
          Try(publisher(state, record).publish()))
      }
      recover(dir, record)
      checkPublished(dir)
      assert(text(dir, "p=1/n1") === "new p=1/n1")
      more = failed
      k += 1
    }
    assert(k > 15)
  }

  test("old and new files of a folder are never together") {
    withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      FaultyFileSystem.withHook { (_, _) =>
        for (f <- Seq("", "p=1")) {
          val seen = visible(dir, f)
          assert(seen.intersect(old).isEmpty || seen.intersect(fresh).isEmpty)
        }
      }(publisher(state, record).publish())
    }
  }

  test("several publishers at once, and one that abandons") {
    val pool = Executors.newFixedThreadPool(4)
    try for (round <- 0 until 40)
        withTable { (dir, state) =>
          val record = committed(dir, state)
          val start = new CountDownLatch(1)
          val running = (0 until 4).map { i =>
            pool.submit(new Callable[Unit] {
              override def call(): Unit = {
                start.await()
                val mine = publisher(stateOf(dir), record)
                Try(if (i == 0 && round % 2 == 1) mine.abandon() else mine.publish())
                ()
              }
            })
          }
          start.countDown()
          running.foreach(_.get())
          recover(dir, record)
          assert(visible(dir) === fresh || visible(dir) === Set("a", "b"), s"round $round")
          assert(
            visible(dir, "p=1") === fresh || visible(dir, "p=1") === old,
            s"round $round: ${everything(dir)}")
          if (round % 2 == 0) checkPublished(dir)
        }
    finally pool.shutdown()
  }

  /** Runs `change` before the `k`-th change of publishing, for every k, and then recovers. */
  private def atEveryStep(change: File => Unit)(check: (File, Int) => Unit): Unit = {
    var (k, more) = (0, true)
    while (more) withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      var n = 0
      FaultyFileSystem.withHook { (operation, _) =>
        if (isChange(operation)) {
          if (n == k) change(dir)
          n += 1
        }
      }(Try(publisher(state, record).publish()))
      more = n > k
      if (more) {
        recover(dir, record)
        check(dir, k)
      }
      k += 1
    }
    assert(k > 15)
  }

  private def remove(f: File): Unit = {
    Option(f.listFiles).toSeq.flatten.foreach(remove)
    f.delete()
  }

  test("a folder is overwritten at any step: it holds what was written, no more") {
    atEveryStep { dir =>
      remove(new File(dir, "p=1"))
      put(dir, "p=1/theirs", "x")
    } { (dir, k) =>
      assert(new File(dir, "p=1").list().toSet === Set("theirs"), s"step $k")
      assert(visible(dir) === fresh)
    }
  }

  test("a folder is overwritten by one who spares hidden names, at any step: no row comes back") {
    atEveryStep { dir =>
      val p = new File(dir, "p=1")
      p.listFiles.filter(f => !f.getName.startsWith("_")).foreach(f => assert(f.delete()))
      put(dir, "p=1/theirs", "x")
    } { (dir, k) =>
      assert(visible(dir, "p=1") === Set("theirs"), s"step $k")
      assert(visible(dir) === fresh)
    }
  }

  test("a folder is dropped at any step: it is not made again") {
    atEveryStep(dir => remove(new File(dir, "p=1"))) { (dir, k) =>
      assert(!new File(dir, "p=1").exists(), s"step $k")
      assert(visible(dir) === fresh)
    }
  }

  for ((what, change) <- Seq[(String, File => Unit)](
      "removed" -> (f => { f.delete(); () }),
      "overwritten" -> (f => if (f.exists) { put(f.getParentFile, f.getName, "theirs"); () }))) {
    test(s"one of many files is $what at any step: no row of the others is hidden") {
      atEveryStep(dir => change(new File(dir, "p=1/d"))) { (dir, k) =>
        val seen = visible(dir, "p=1")
        val left = if (what == "removed") old - "d" else old
        assert(seen === fresh || seen === left, s"step $k")
        assert(visible(dir) === fresh)
      }
    }
  }

  test("abandoned after a kill at any step: old files or new files, and nothing hidden") {
    var (k, more) = (0, true)
    while (more) withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      val (_, failed) = FaultyFileSystem.failing(k)((o, _) => isChange(o))(
        Try(publisher(state, record).publish()))
      // and the first try of that is killed as well
      if (failed) {
        FaultyFileSystem.failing(k / 2)((o, _) => isChange(o))(
          Try(publisher(state, record).abandon()))
        if (!state.isDone(1)) publisher(stateOf(dir), record).abandon()
        for ((f, before) <- Seq("" -> Set("a", "b"), "p=1" -> old); seen = visible(dir, f)) {
          assert(seen === fresh || seen === before, s"step $k")
          if (seen == before) assert(!new File(dir, s"$f/$own").exists(), s"step $k")
        }
      }
      more = failed
      k += 1
    }
  }

  test("a rename that is refused wedges nothing: ABANDON puts the folder back") {
    withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      val denied = FaultyFileSystem.withHook { (operation, path) =>
        if (operation == "rename" && path.getName == "_old_2")
          throw new FaultyFileSystem.Injected("")
      }(Try(publisher(state, record).publish()))
      assert(denied.isFailure && !state.isDone(1))
      publisher(state, record).abandon()
      assert(visible(dir, "p=1") === old && state.isDone(1))
    }
  }

  test("anything at any step, and a kill: rows of old files or of new ones, never both") {
    val random = new Random(20261122L)
    for (round <- 0 until 300) withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      val k = random.nextInt(22)
      Try(FaultyFileSystem.failing(k)((o, _) => isChange(o))(publisher(state, record).publish()))
      val victims = new File(dir, "p=1").listFiles.filter(f => !f.getName.startsWith("_")).sorted
      val gone =
        if (random.nextBoolean() || victims.isEmpty) None
        else Some(victims(random.nextInt(victims.length))).filter(_.delete()).map(_.getName)
      recover(dir, record)
      val seen = visible(dir, "p=1")
      assert(seen.intersect(old).isEmpty || seen.intersect(fresh).isEmpty, s"round $round")
      if (!gone.exists(_.startsWith("part-zorder"))) {
        assert(
          seen ++ gone === old || seen ++ gone === fresh || seen === old - gone.getOrElse(""),
          s"round $round: killed at $k, removed $gone")
      }
    }
  }
}
