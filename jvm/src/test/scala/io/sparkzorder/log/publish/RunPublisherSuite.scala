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
import io.sparkzorder.log.{Record, StateDirectory}

/** Publishing a run of many files beside others who publish, abandon or remove files, and after kills. */
class RunPublisherSuite extends PublisherTestBase with Steps {
  private val own = s"_zorder_$run"
  private val (old, fresh) = (Set("a", "b", "c", "d"), Set("n1", "n2"))

  override protected val folders: Map[String, (Seq[String], Seq[String])] = Map(
    "" -> ((Seq("a", "b"), Seq("n1", "n2"))),
    "p=1" -> ((Seq("a", "b", "c", "d"), Seq("n1", "n2"))))

  private final class OneRun(state: StateDirectory, record: Record) {
    def publish(): Unit = new Publisher(state).publish(1, record)
    def abandon(): Unit = new Publisher(state).abandon(1, record)
  }

  private def publisher(state: StateDirectory, record: Record) = new OneRun(state, record)

  private def everything(dir: File): Seq[String] =
    Files.walk(dir.toPath).iterator.asScala.map(dir.toPath.relativize(_).toString).toSeq

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
          if (round % 2 == 0) {
            assert(visible(dir) === fresh && visible(dir, "p=1") === fresh)
            val kept = (0 to 3).map(i => s"_old_$i").toSet
            assert(new File(dir, s"p=1/$own").list().toSet === kept + "_finished")
          }
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
