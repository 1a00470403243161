// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import org.scalatest.tagobjects.Slow

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log.StateTestBase

/** What publishing costs where each call to the file system takes a while. */
class PublishCostSuite extends StateTestBase {
  private val pauseMs = 20L

  /** Calls while a run is published, and its milliseconds. */
  private def publish(folders: Int, files: Int, pause: Long = pauseMs): (Int, Long) = {
    val calls = new AtomicInteger
    val ms = new AtomicLong
    withScheme("faulty") { (dir, state) =>
      val changes = (0 until folders).map { f =>
        s"p=$f" -> (((0 until files).map(i => s"a$i"), Seq("n0", "n1")))
      }.toMap
      val record = stage(dir, state, "run", changes)
      assert(state.createRecord(1, record))
      val start = System.nanoTime()
      FaultyFileSystem.withHook { (_, _) =>
        calls.incrementAndGet()
        Thread.sleep(pause)
      }(new Publisher(state).publish(1, record))
      ms.set((System.nanoTime() - start) / 1000000L)
      assert(state.isDone(1))
      for (f <- 0 until folders) assert(visible(dir, s"p=$f") === Set("n0", "n1"))
    }
    (calls.get, ms.get)
  }

  for ((folders, files, tags) <- Seq(
      (1, 400, Nil),
      (50, 2, Nil),
      (200, 2, Seq(Slow)),
      (20, 20, Nil))) {
    test(s"$files files in each of $folders folders: several at a time", tags: _*) {
      val (calls, ms) = publish(folders, files)
      info(s"$calls calls of $pauseMs ms in $ms ms")
      // 16 at a time, on a machine that does other things too
      assert(calls * pauseMs > 4 * ms)
    }
  }

  test("the calls grow with the files, and with the folders") {
    val (one, _) = publish(10, 10, pause = 0)
    val (two, _) = publish(20, 10, pause = 0)
    assert(two < 2.1 * one)
    val (more, _) = publish(10, 20, pause = 0)
    assert(more < 2.1 * one)
  }

  test("a batch of a large folder lists the folder once for all batches, and else looks at its own files") {
    withScheme("faulty") { (dir, state) =>
      (0 until 2000).foreach(i => put(dir, s"other$i", ""))
      val lists = (1L to 4L).map { n =>
        val files = (0 until 20).map(i => s"a$n-$i") -> Seq(s"n$n-0", s"n$n-1")
        val record = stage(dir, state, s"run $n", Map("" -> files))
        assert(state.createRecord(n, record))
        val count = new AtomicInteger
        FaultyFileSystem.withHook { (operation, path) =>
          if (operation == "list" && path.toUri.getPath == dir.getPath) count.incrementAndGet()
          ()
        }(new Publisher(state).publish(n, record))
        assert(state.isDone(n))
        count.get
      }
      assert(lists === Seq(1, 0, 0, 0))
      val others = (0 until 2000).map(i => s"other$i").toSet
      assert(visible(dir) === others ++ (1 to 4).flatMap(n => Seq(s"n$n-0", s"n$n-1")))
    }
  }
}
