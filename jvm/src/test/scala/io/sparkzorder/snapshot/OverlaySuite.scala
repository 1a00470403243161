// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import java.io.File

import scala.collection.mutable
import scala.util.{Random, Try}

import org.scalatest.tagobjects.Slow

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log.publish.Publisher

/** The overlay without Spark: listings of every moment, laid over by readers of every later one. */
class OverlaySuite extends OverlayTableBase {

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
        val clue = s"round $round: killed at $k, then $change"
        def left = both.map(f =>
          f -> Option(visible(dir, f).map(n => text(dir, if (f.isEmpty) n else s"$f/$n")))).toMap
        val before = left
        val seen = Try(new Listing(dir, reader, both).read())
        val recovered = Try(new Publisher(reader).rollForward())
        if (seen.isSuccess) {
          assert(seen.get === left, clue)
          assert(new Listing(dir, reader, both).read() === left)
        } else {
          // somebody took the token away: both say so, and nothing is published anywhere
          for (e <- Seq(seen.failed.get, recovered.failed.get)) {
            assert(e.getMessage.contains("ZORDER_FOLDER_IN_DOUBT"), clue)
          }
          assert(left === before, clue)
        }
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
}
