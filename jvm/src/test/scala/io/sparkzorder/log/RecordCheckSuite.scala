// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.File
import java.nio.file.Files

import scala.util.Try

import io.sparkzorder.log.publish.{Publisher, Retention}
import io.sparkzorder.snapshot.{ShadowUse, Snapshot}

/** A record is written by others: what it says is checked before anything is done by it. */
class RecordCheckSuite extends StateTestBase {
  private val good = Record(
    Record.Version,
    Record.Optimize,
    run,
    1L,
    "me",
    Seq("a"),
    5000L,
    Seq(
      FolderChange(
        "p=1",
        Seq(Replaced("a", 1L, 2L, "_old_0")),
        Seq(Added("_new_0_1", "n", 1L, 1L)))),
    suffix = ".parquet")
  private val change = good.changes.head
  private def added(a: Added) = good.copy(changes = Seq(change.copy(added = Seq(a))))
  private def replaced(r: Replaced) = good.copy(changes = Seq(change.copy(replaced = Seq(r))))
  private def folder(f: String) = good.copy(changes = Seq(change.copy(folder = f)))
  private val (in, out) = (change.added.head, change.replaced.head)

  private val bad: Seq[(String, Record)] = Seq(
    "run up" -> good.copy(run = "x/../../../../victim"),
    "run of another form" -> good.copy(run = "run"),
    "run in capitals" -> good.copy(run = "0000ABCD-0000-4000-8000-000000000001"),
    "run short" -> good.copy(run = "1-1-1-1-1"),
    "no run" -> good.copy(run = null),
    "kind" -> good.copy(kind = "delete"),
    "no kind" -> good.copy(kind = null),
    "end of names" -> good.copy(suffix = "/../x"),
    "no end of names" -> good.copy(suffix = ""),
    "a token" -> replaced(out.copy(retained = "_waiting")),
    "an old file where a new one is" -> replaced(out.copy(retained = in.staged)),
    "retention" -> good.copy(retainMs = -1L),
    "undone up" -> good.copy(kind = Record.Undo, undone = Some("../x")),
    "undone nothing" -> good.copy(kind = Record.Undo),
    "no change" -> good.copy(changes = Seq(null)),
    "folder twice" -> good.copy(changes = Seq(change, change))) ++
    Seq("..", "../x", "/etc", "p=1/../..", "p=1//q", "p=1/", ".", "_zorder/_commits", null)
      .map(f => s"folder $f" -> folder(f)) ++
    Seq("..", ".", "", "../x", "x/y", "/etc/passwd", "x\u0000", "_zorder", null).flatMap { n =>
      Seq(s"added $n" -> added(in.copy(name = n)), s"replaced $n" -> replaced(out.copy(name = n)))
    } ++
    Seq("..", "../x", "_../x", "/etc", "a", "", "_x/y", s"_undo_$run/_0", null).flatMap { n =>
      Seq(
        s"staged $n" -> added(in.copy(staged = n)),
        s"retained $n" -> replaced(out.copy(retained = n)))
    } ++
    Seq(
      "plan up" -> good.copy(plan = "../x", level = Record.Final),
      "plan without a level" -> good.copy(plan = id("plan")),
      "level without a plan" -> good.copy(level = Record.Dealt),
      "level" -> good.copy(plan = id("plan"), level = "x"),
      "plan of an abort" -> good.copy(
        kind = Record.Abort,
        plan = id("plan"),
        level = Record.Final),
      "region without a plan" -> added(in.copy(region = 1)),
      "region below 0" -> added(in.copy(region = -1)).copy(
        plan = id("plan"),
        level = Record.Dealt),
      "region of a final file" -> added(in.copy(region = 1)).copy(
        plan = id("plan"),
        level = Record.Final),
      "hidden" -> added(in.copy(name = "_n")),
      "length" -> added(in.copy(length = -1L)),
      "rows" -> added(in.copy(rows = -1L)),
      "replaced length" -> replaced(out.copy(length = -1L)),
      "names twice" -> good.copy(changes =
        Seq(change.copy(added = Seq(in, in.copy(staged = "_9"))))),
      "one file for two" -> good.copy(
        changes = Seq(change.copy(added = Seq(in, in.copy(name = "m"))))))

  test("what a run writes is read, that of an undo too") {
    val undo = good.copy(
      kind = Record.Undo,
      undone = Some(id("other")),
      changes = Seq(change.copy(
        folder = "p=a%2Fb/q=日本 :x",
        replaced = Seq(out.copy(retained = "_old_u0")),
        added = Seq(Added("_old_0", "_hidden:old", 1L, 1L)))))
    val dealt =
      added(in.copy(region = 2)).copy(plan = id("plan"), level = Record.Dealt)
    val last = good.copy(plan = id("plan"), level = Record.Final)
    for (r <- Seq(
        good,
        undo,
        dealt,
        last,
        good.copy(kind = Record.Abort, changes = Nil, columns = Nil))) {
      assert(Record.fromJson(Record.toJson(r)) === r)
    }
  }

  for ((what, record) <- bad) test(s"refused, and nothing is touched: $what") {
    withTable { (dir, state) =>
      val table = new File(dir, "t")
      val home = stateOf(table)
      home.create()
      put(table, "p=1/a", "x")
      val victim = put(dir, "victim/file", "x")
      assert(home.createRecord(1, record))
      home.fs.mkdirs(new org.apache.hadoop.fs.Path(home.home, "_runs/_x"))
      val listing: FolderListing = _ => Some(Map.empty)
      fails("ZORDER_STATE_UNREADABLE", "_commits/_1")(home.read(1))
      fails("ZORDER_STATE_UNREADABLE", "_commits/_1")(new Publisher(home).rollForward())
      fails("ZORDER_STATE_UNREADABLE", "_commits/_1")(Snapshot.of(home, listing, ShadowUse.Checked))
      fails("ZORDER_STATE_UNREADABLE", "_commits/_1")(TableLog.read(home))
      // the mark of another run's end is no leave to pass it over before deleting something
      put(table, "_zorder/_commits/_1_done", Option(record.run).getOrElse(""))
      Try(new Retention(home).removeExpired(Long.MaxValue))
      Try(new Publisher(home).rollForward())
      assert(victim.isFile && new File(table, "p=1/a").isFile)
      assert(state.fs.exists(state.root))
    }
  }

  private def link(from: File, to: File): Unit = {
    from.getParentFile.mkdirs()
    val _ = Files.createSymbolicLink(from.toPath, to.toPath)
  }

  for (name <- Seq(
      "_zorder",
      "_zorder/_commits",
      "_zorder/_runs",
      "_zorder/_index",
      s"p=1/_zorder_$run",
      s"p=1/_zorder_${run}_closed",
      "_zorder/_commits/_1",
      "p=1")) {
    test(s"a symbolic link is refused, and what lies behind it stays: $name") {
      withTable { (base, _) =>
        val (dir, aside) = (new File(base, "t"), new File(base, "aside"))
        val state = stateOf(dir)
        val record = stage(dir, state, "run", Map("p=1" -> ((Seq("a"), Seq("n")))))
        assert(state.createRecord(1, record))
        val there = new File(dir, name)
        if (there.exists) assert(there.renameTo(aside)) else aside.mkdirs()
        link(there, aside)
        val before = everything(aside)
        fails("ZORDER_STATE_UNREADABLE", "symbolic link")(new Publisher(stateOf(dir)).rollForward())
        assert(everything(aside) === before)
        if (name.contains("zorder") && !name.contains("_index")) {
          val listing: FolderListing = _ => Some(Map.empty)
          fails(
            "ZORDER_STATE_UNREADABLE",
            "symbolic link")(Snapshot.of(stateOf(dir), listing, ShadowUse.Checked))
        }
        assert(everything(aside) === before)
      }
    }
  }

  private def everything(f: File): Set[String] =
    Option(f.listFiles).toSeq.flatten.flatMap(c => everything(c) + c.getPath).toSet
}
