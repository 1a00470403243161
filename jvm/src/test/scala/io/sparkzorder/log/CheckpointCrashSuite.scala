// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import org.scalatest.tagobjects.Slow

import io.sparkzorder.{FaultyFileSystem, Steps}
import io.sparkzorder.log.publish.{Committer, LiveFacts}

/** Checkpoints between two of their steps: what a crash leaves, and what others see or commit. */
class CheckpointCrashSuite extends CheckpointTestBase with Steps {

  testSteps("killed before any change: the table reads the same, and the next one cleans up") {
    step =>
      var (k, more) = (0, true)
      while (more) withScheme("faulty") { (dir, state) =>
        published(dir, (1L to 35L).map(n => n -> optimize(n, s"p=${n % 3}")))
        val expected = read(state).all.map { case (n, r) => n -> r.changes.map(_.added) }
        val (_, failed) = FaultyFileSystem.failing(k)((o, _) => o != "list" && o != "open")(
          checkpoints(state))
        for (_ <- 1 to 2) {
          History.forget(state.root.toString)
          val now = read(state)
          assert(
            now.all.map { case (n, r) => n -> r.changes.map(_.added) } === expected,
            s"killed at $k")
          assert(
            now.last === 35 && now.unfinished.isEmpty && TableLog.read(state).unfinished.isEmpty)
          checkpoints(state)
        }
        assert(recordFiles(dir) === (26L to 35L), s"killed at $k")
        more = failed
        k += step
      }
      assert(k > 25)
  }

  test("at every step of a checkpoint a reader sees the same records") {
    withScheme("faulty") { (dir, state) =>
      runs(dir, 1L to 25L)
      val live = Seq("f25")
      FaultyFileSystem.withHook { (o, _) =>
        if (o == "rename" || o == "delete" || o == "create") {
          val now = FaultyFileSystem.withoutHook {
            History.forget(state.root.toString)
            read(state)
          }
          assert(now.last === 25 && now.unfinished.isEmpty)
          assert(new LiveFacts(now.all.map { case (n, r) => CheckpointEntry(n, true, r) })
            .size === live.size)
        }
      }(checkpoints(state))
      assert(checkpointFiles(dir) === Seq(15))
    }
  }

  test("a number that was used is never committed again") {
    withTable { (dir, state) =>
      runs(dir, 1L to 5L)
      val late = optimize(99)
      // the writer has seen record 5; 30 others commit, and 6 is removed
      runs(dir, 6L to 36L)
      checkpoints(state)
      assert(!recordFiles(dir).contains(6L))
      assert(!state.createRecord(6, late))
      assert(!recordFiles(dir).contains(6L))
      fails("ZORDER_CONFLICT", "many runs were committed since") {
        new Committer(state, "t").commit(late, () => (), 5L)
      }
      assert(read(state).last === 36)
    }
  }

  test("a used number that a killed writer has left behind counts for nothing, and goes") {
    withTable { (dir, state) =>
      runs(dir, 1L to 30L)
      checkpoints(state)
      put(commits(dir), "_6", new String(Record.toJson(optimize(99)), "UTF-8"))
      assert(TableLog.read(state).unfinished.isEmpty && read(state).last === 30)
      assert(read(state).commitOf(id("run 99")).isEmpty)
      assert(new CommitLogReader(state).read().pending.isEmpty)
      checkpoints(state)
      assert(recordFiles(dir) === (21L to 30L))
    }
  }

  for ((last, tags) <- Seq(70L -> Nil, 200L -> Seq(Slow))) test(
    s"two write a checkpoint at once, again and again, while others read and commit: $last records",
    tags: _*) {
    withTable { (dir, state) =>
      runs(dir, 1L to 30L)
      @volatile var over = false
      @volatile var problem: Option[Throwable] = None
      def thread(body: StateDirectory => Unit) = {
        val t = new Thread(() => {
          val own = stateOf(dir)
          while (!over && problem.isEmpty)
            try body(own)
            catch { case e: Throwable => problem = Some(e) }
        })
        t.start()
        t
      }
      @volatile var head = 30L
      val writers = Seq.fill(2)(thread(checkpoints(_)))
      val readers = Seq.fill(2)(thread { s =>
        val before = head
        val now = TableLog.read(s)
        assert(now.last >= before)
        assert(now.unfinished.map(_._1).filter(_ <= before) === Nil)
        assert(now.all.map(_._2.run).distinct.size === now.all.size)
      })
      for (n <- 31L to last) {
        assert(state.createRecord(n, optimize(n)))
        state.markDone(n, id(s"run $n"))
        head = n
      }
      over = true
      (writers ++ readers).foreach(_.join())
      problem.foreach(throw _)
      checkpoints(state)
      assert(recordFiles(dir).size <= 20 && checkpointFiles(dir).size <= 2)
      assert(read(state).last === last)
    }
  }
}
