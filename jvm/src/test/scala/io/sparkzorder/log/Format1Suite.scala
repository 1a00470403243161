package io.sparkzorder.log

import java.io.File

import io.sparkzorder.log.publish.{Cleanup, Leftovers, Publisher, RetainedFiles, Retention, Undo}

/** Tables of the first version: its records had format 1, and its files were below `_zorder/`. */
class Format1Suite extends StateTestBase {

  private def record(dir: File, added: File): String =
    s"""{"version":1,"kind":"optimize","run":"$run","createdMs":1000,"user":"me","columns":["a"],
      |"retainMs":500,"changes":[{"folder":"","replaced":[{"name":"old","length":3,
      |"modified":5000000,"retained":"_0"}],"added":[{"staged":"_0_1","name":"new",
      |"length":${added.length},"rows":1,"modified":${added.lastModified}}]}],"undone":null,
      |"targetFileSize":100,"cost":null}""".stripMargin

  private def published(dir: File, state: StateDirectory): Unit = {
    val added = put(dir, "new", "new rows")
    put(dir, s"_zorder/_retained/_$run/_0", "old")
    put(dir, "_zorder/_commits/_1", record(dir, added))
    put(dir, "_zorder/_commits/_1_done", run)
    assert(TableLog.read(state).unfinished === Nil)
  }

  private val all: FolderListing = _ => Some(Map.empty)

  test("a run that is done: it is in the history, its files expire, and it is not undone") {
    withTable { (dir, state) =>
      published(dir, state)
      val history = TableLog.read(state)
      assert(history.inForce.map(_._2.columns) === Seq(Seq("a")))
      assert(new Publisher(state).rollForward() === Nil)
      val undo = new Undo(state, 1, history.records.head._2, Seq(run))
      assert(undo.obstacle.exists(_.contains("format 1")))
      assert(RetainedFiles.of(state, history).bytes === 3)
      val kept = new File(dir, s"_zorder/_retained/_$run")
      new Retention(state).removeExpired(state.doneSince(1).get + 500)
      assert(kept.exists())
      new Retention(state).removeExpired(state.doneSince(1).get + 501)
      assert(!kept.exists() && visible(dir) === Set("new"))
    }
  }

  test("the files of a run that met a conflict never expire") {
    withTable { (dir, state) =>
      published(dir, state)
      put(dir, "_zorder/_commits/_1_conflict", "")
      new Retention(state).removeExpired(Long.MaxValue)
      assert(new Leftovers(state, Long.MaxValue).conflicts.map(_.files) === Seq(1L))
      assert(new File(dir, s"_zorder/_retained/_$run/_0").exists())
    }
  }

  test("a run that is not published is refused by writers and readers, and nothing is touched") {
    withTable { (dir, state) =>
      val old = put(dir, "old", "old")
      assert(old.setLastModified(5000000))
      val added = put(dir, s"_zorder/_staged/_$run/_0_1", "new rows")
      put(dir, "_zorder/_commits/_1", record(dir, added))
      for (refused <- Seq[() => Any](
          () => new Publisher(state).rollForward(),
          () => new Publisher(state).abandonAll("me"),
          () => new Overlay(state).over(all))) {
        fails("ZORDER_STATE_UNREADABLE", "_commits/_1", "format 1", "RECOVER LAYOUT")(refused())
      }
      assert(added.exists() && visible(dir) === Set("old"))
      new Retention(state).removeExpired(Long.MaxValue)
      assert(added.exists())
    }
  }

  test("files of a run that died are removed after a record says that it is dead") {
    withTable { (dir, state) =>
      state.create()
      put(dir, s"_zorder/_staged/_$run/_0_1", "new rows")
      val Seq(leftover) = new Leftovers(state, Long.MaxValue).uncommitted
      assert(new Cleanup(state, "me").remove(leftover))
      assert(!new File(dir, s"_zorder/_staged/_$run").exists())
      assert(TableLog.read(state).isAborted(run))
    }
  }
}
