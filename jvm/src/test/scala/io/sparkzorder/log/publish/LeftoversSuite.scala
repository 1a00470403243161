// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import java.io.File

import scala.collection.immutable

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log._
import io.sparkzorder.util.Json

/** Which files are kept for how long, and what it costs to find out. */
class LeftoversSuite extends CheckpointTestBase {
  private val now = System.currentTimeMillis()

  /** Published runs of one folder each, which keep what they replaced for an hour. */
  private def keeping(dir: File, count: Int, createdMs: Long = now): Unit =
    for (n <- 1 to count) {
      val folder = s"p=$n"
      val record = optimize(n.toLong, folder).copy(createdMs = createdMs, retainMs = hour)
      published(dir, Seq(n.toLong -> record))
      val intent = Intent(record.run, Seq(folder))
      put(dir, s"_zorder/_runs/_${record.run}", Json.mapper.writeValueAsString(intent))
      put(dir, s"$folder/_zorder_${record.run}/_old_0", "x")
      put(dir, s"$folder/f$n", "x")
    }

  private def leftovers(state: StateDirectory) =
    new Leftovers(state, now, (_: FileStatus) => true)

  test("runs whose retention is not over cost the reading of their intents, and no more") {
    val runs = 100
    // an intent costs two calls, because the local file system looks at a file before it opens it
    val most = 2 * runs + 20
    withScheme("counting") { (dir, state) =>
      keeping(dir, runs)
      put(dir, "_zorder/_commits/_7_conflict", "")
      TableLog.read(state)
      def calls(find: Leftovers => Seq[Leftover], found: Int) =
        count("open", "list", "status")(assert(find(leftovers(state)).size === found))
      assert(calls(_.expired(None), 0) < most)
      assert(calls(_.expired(Some(hour)), 0) < most)
      assert(calls(_.uncommitted, 0) < most)
      assert(calls(_.conflicts, 1) < most)
      assert(leftovers(state).expired(Some(0L)).map(l => l.kind -> l.files) ===
        Seq.fill(runs - 1)(Leftover.Retained -> 1L))
    }
  }

  test("the intent of a run stays if an UNDO gives files back while the intent is removed") {
    withScheme("faulty") { (dir, state) =>
      keeping(dir, 1)
      val run = id("run 1")
      val own = new File(dir, s"p=1/_zorder_$run")
      // an UNDO has claimed the file, and is about to fail
      assert(own.renameTo(new File(dir, "claimed")))
      val Seq(found) = leftovers(state).expired(Some(0L))
      assert(found.directories === Nil && found.intent.isDefined)
      for (operation <- Seq("none", "delete")) {
        def giveBack(): Unit = {
          val _ = new File(dir, "claimed").renameTo(new File(dir, s"p=1/_zorder_${run}_closed"))
        }
        if (operation == "none") giveBack()
        FaultyFileSystem.withHook((o, _) => if (o == operation) giveBack())(
          new Cleanup(state, "me").remove(found))
        assert(new Intents(state).all().map(_._2) === Seq(Intent(run, Seq("p=1"))), operation)
        assert(new File(dir, s"p=1/_zorder_${run}_closed").renameTo(new File(dir, "claimed")))
      }
      assert(new Cleanup(state, "me").remove(found) && new Intents(state).runs().isEmpty)
    }
  }

  test("the record of a run is found without a search for each run") {
    val records = (1L to 1000L).map(n => n -> optimize(n)) ++
      Seq(1001L -> optimize(7), 1002L -> Record.marker(Record.Abort, id("dead"), "me"))
    var passes = 0
    val counted = new immutable.Seq[(Long, Record)] {
      override def length: Int = records.length
      override def apply(i: Int): (Long, Record) = records(i)
      override def iterator: Iterator[(Long, Record)] = {
        passes += 1
        records.iterator
      }
    }
    val runs = new Runs(counted)
    for (n <- 1L to 1000L) assert(runs.commitOf(id(s"run $n")) === Some(n))
    assert(runs.commitOf(id("dead")) === None)
    assert(passes < 10)
  }

  test("with a retention of 0 no time counts, and with any other a time in the future does") {
    for ((mark, created) <-
        Seq((now + 24 * hour, now - 2 * hour), (now - 2 * hour, now + 24 * hour))) {
      withTable { (dir, state) =>
        keeping(dir, 1, created)
        assert(new File(dir, "_zorder/_commits/_1_done").setLastModified(mark))
        def kinds(asked: Option[Long]) = leftovers(state).expired(asked).map(_.kind)
        assert(kinds(None) === Nil)
        assert(kinds(Some(hour)) === Nil)
        assert(kinds(Some(1L)) === Nil)
        assert(kinds(Some(0L)) === Seq(Leftover.Retained))
        // evidence is asked for all the same
        assert(new File(dir, "p=1/f1").delete())
        assert(kinds(Some(0L)) === Seq(Leftover.Unproven))
      }
    }
  }
}
