// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import java.io.File
import java.nio.file.Files
import java.util.concurrent.{Callable, CountDownLatch, Executors}

import scala.collection.JavaConverters._
import scala.util.{Random, Try}

import org.scalatest.tagobjects.Slow

import io.sparkzorder.{FaultyFileSystem, Steps}

/** The steps of publishing a run: each kill, and other publishers and readers between any two. */
class RunPublisherSuite extends RunPublisherTestBase with Steps {

  private def everything(dir: File): Seq[String] =
    Files.walk(dir.toPath).iterator.asScala.map(dir.toPath.relativize(_).toString).toSeq

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

  testSteps("abandoned after a kill: old files or new files, and nothing hidden", 4) { step =>
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
      k += step
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

  for ((rounds, seed, tags) <- Seq((60, 20261122L, Nil), (300, 20261123L, Seq(Slow)))) test(
    s"anything at any step, and a kill: rows of old files or of new ones, never both; $rounds rounds",
    tags: _*) {
    val random = new Random(seed)
    for (round <- 0 until rounds) withScheme("faulty") { (dir, state) =>
      val record = committed(dir, state)
      val k = random.nextInt(22)
      Try(FaultyFileSystem.failing(k)((o, _) => isChange(o))(publisher(state, record).publish()))
      val victims = new File(dir, "p=1").listFiles.filter(f => !f.getName.startsWith("_")).sorted
      val gone =
        if (random.nextBoolean() || victims.isEmpty) None
        else Some(victims(random.nextInt(victims.length))).filter(_.delete()).map(_.getName)
      recover(dir, record)
      if (!state.isDone(1)) {
        assert(gone.exists(_.startsWith("part-zorder")))
        publisher(stateOf(dir), record).abandon()
        assert(visible(dir, "p=1") === old, s"round $round")
      }
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
