// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import java.io.File

import org.apache.commons.io.FileUtils

import io.sparkzorder.log._
import io.sparkzorder.log.publish.Checkpoints

/** What readers make of a listing after a checkpoint has reduced the records of the runs since that listing. */
class OverlayCheckpointSuite extends OverlayTableBase {

  /** Publishes a run whose replaced files are not kept any more. */
  private def exchange(
      dir: File,
      state: StateDirectory,
      number: Long,
      old: Seq[String],
      added: Seq[String]): Unit = {
    publish(dir, state, number, stage(dir, state, s"run $number", Map("" -> ((old, added)))))
    expire(dir, s"run $number")
  }

  private def expire(dir: File, name: String): Unit = {
    FileUtils.deleteDirectory(new File(dir, s"_zorder_${id(name)}"))
    FileUtils.deleteQuietly(new File(dir, s"_zorder/_runs/_${id(name)}"))
    ()
  }

  /** Publishes 20 runs of another folder, and writes a checkpoint over the records up to `from` + 9. */
  private def checkpoint(dir: File, state: StateDirectory, from: Long): Unit = {
    for (n <- from until from + 20) {
      val record = Record(
        Record.Version,
        Record.Optimize,
        id(s"run $n"),
        1000L + n,
        "me",
        Seq("a"),
        0L,
        Seq(FolderChange(
          "p=9",
          Seq(Replaced(s"f${n - 1}", 1L, 1L, "_old_0")),
          Seq(Added("_new_0", s"f$n", 1L, 1L, 1L)))),
        suffix = ".parquet")
      put(dir, s"_zorder/_commits/_$n", new String(Record.toJson(record), "UTF-8"))
      put(dir, s"_zorder/_commits/_${n}_done", record.run)
    }
    new Checkpoints(state, System.currentTimeMillis()).writeIfDue()
    assert(new CommitLogReader(state).read().upTo === from + 9)
  }

  private def root(contents: String*) = Map("" -> Option(contents.toSet))

  test("a query whose second scan finds the runs since its first scan in a checkpoint fails, and loses no row") {
    // with the file of the first run, and with an empty listing from the middle of its publish
    for (listed <- Seq(Seq("p"), Nil)) withTable { (dir, state) =>
      if (listed.isEmpty) {
        put(dir, "q", "other")
        assert(new File(dir, "q").delete())
      } else put(dir, "p", "old p")
      val stale = new Listing(dir, state, Seq(""))
      exchange(dir, state, 1, Seq("p"), Seq("x", "y"))
      assert(stale.read(upTo = Some(1)) === root("new x", "new y"))
      exchange(dir, state, 2, Seq("y"), Seq("w"))
      if (listed.nonEmpty) assert(stale.read(upTo = Some(1)) === root("new x", "new w"))
      else fails("ZORDER_LISTING_INCOMPLETE")(stale.read(upTo = Some(1)))
      checkpoint(dir, state, from = 3)
      fails("ZORDER_LISTING_INCOMPLETE")(stale.read(upTo = Some(1)))
      // another query takes the present records
      assert(stale.read() === root("new x", "new w"))
      assert(new Listing(dir, state, Seq("")).read(upTo = Some(1)) === root("new x", "new w"))
    }
  }

  test(
    "a run after the listing that replaced an appended file is left out, also beside a checkpoint") {
    withTable { (dir, state) =>
      exchange(dir, state, 1, Seq("p"), Seq("x", "y"))
      exchange(dir, state, 2, Seq("y"), Seq("w"))
      checkpoint(dir, state, from = 3)
      val listing = new Listing(dir, state, Seq(""))
      put(dir, "appended", "old appended")
      exchange(dir, state, 23, Seq("appended"), Seq("z"))
      assert(listing.read(upTo = Some(22)) === root("new x", "new w"))
      assert(listing.read() === root("new x", "new w", "new z"))
    }
  }

  test("a restored old file stays if only some of the files with its rows are there") {
    for (isCovered <- Seq(false, true)) withTable { (dir, state) =>
      put(dir, "p", "old p")
      val backup = new File(dir, "_backup")
      FileUtils.copyFile(new File(dir, "p"), backup)
      exchange(dir, state, 1, Seq("p"), Seq("x", "y"))
      exchange(dir, state, 2, Seq("y"), Seq("w"))
      if (isCovered) checkpoint(dir, state, from = 3)
      FileUtils.copyFile(backup, new File(dir, "p"))
      assert(new Listing(dir, state, Seq("")).read() === root("new x", "new w"))
      // now no other file has the rows of x
      assert(new File(dir, "x").delete())
      assert(new Listing(dir, stateOf(dir), Seq("")).read() === root("old p", "new w"))
    }
  }
}
