// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.nio.charset.StandardCharsets.UTF_8

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log.publish.{DeadRuns, Publisher, Retention}

class RecordSuite extends StateTestBase {
  private val record = Record(
    Record.Version,
    Record.Optimize,
    id("run-1"),
    1234567890123L,
    "größe \"quoted\"",
    Seq("a", "`b.c`.d"),
    86400000L,
    Seq(
      FolderChange("", Seq(Replaced("x.parquet", 5L, 1L << 45, "_0")), Nil),
      FolderChange("p=a%2Fb/q=日本", Nil, Seq(Added("_1", "part-0.parquet", 1L << 40, 7L)))),
    suffix = ".parquet")

  test("JSON there and back") {
    assert(Record.fromJson(Record.toJson(record)) === record)
    val abort = record.copy(kind = Record.Abort, columns = Nil, changes = Nil)
    assert(Record.fromJson(Record.toJson(abort)) === abort)
  }

  test("a file whose name is nearly that of a record is no record") {
    withTable { (dir, state) =>
      Seq("_1", "_2", "_02", "2", "__2", "_+2", "_-2", "_0", "_2 ", "_12345678901234567890")
        .foreach(name => put(dir, s"_zorder/_commits/$name", "{}"))
      assert(numbers(state) === Seq(1L, 2L))
    }
  }

  test("what an undo, and newer records, say more; older records do not say it") {
    val undo = record.copy(
      kind = Record.Undo,
      changes = Seq(FolderChange(
        "",
        Nil,
        Seq(Added("_old_0", "a", 1L, 2L, modified = 1L << 41)))),
      undone = Some(id("run-0")))
    assert(Record.fromJson(Record.toJson(undo)) === undo)
    assert(undo.exchangesFiles && record.exchangesFiles)
    assert(!record.copy(kind = Record.Abort).exchangesFiles)
    // nothing but the fields themselves is written
    assert(!new String(Record.toJson(undo), UTF_8).contains("exchangesFiles"))
    val added = Added("_0", "a", 1L, 2L, modified = 1L << 41)
    val older = new String(
      Record.toJson(record.copy(changes = Seq(FolderChange("", Nil, Seq(added))))),
      UTF_8).replace(",\"modified\":2199023255552", "").replace(",\"undone\":null", "")
    assert(!older.contains("modified") && !older.contains("undone"))
    val read = Record.fromJson(older.getBytes(UTF_8))
    assert(read.undone === None && read.changes.head.added.head.modified <= 0)
  }

  test("a record of an older release says nothing of a plan") {
    val json = new String(Record.toJson(record), UTF_8)
    val fields = Seq("\"plan\":\"\"", "\"level\":\"\"", "\"region\":0")
    fields.foreach(f => assert(json.contains(f)))
    val older = fields.foldLeft(json)((text, f) => text.replace(s",$f", ""))
    assert(!older.contains("plan") && !older.contains("level") && !older.contains("region"))
    val read = Record.fromJson(older.getBytes(UTF_8))
    assert(read.planId === None && read.changes.last.added.head.region === 0)
  }

  test("a field that a later version adds is passed over; a newer format is refused") {
    val json = new String(Record.toJson(record), UTF_8)
    assert(Record.fromJson(json.replaceFirst("\\{", "{\"later\":{\"x\":[1]},").getBytes(UTF_8)) ===
      record)
    for (other <- Seq("3", "0", "-1", "\"x\"")) {
      val e = intercept[java.io.IOException](Record.fromJson(
        json.replace("\"version\":2", "\"version\":" + other).getBytes(UTF_8)))
      assert(e.getMessage.contains("version"))
    }
    for (bad <- Seq("", "{}", "[]", "not json", json.take(json.length / 2))) {
      intercept[java.io.IOException](Record.fromJson(bad.getBytes(UTF_8)))
    }
  }

  test("a record that cannot be read is named, and nothing is touched") {
    for (content <- Seq("{\"version\":2}", "", "{", "null")) withTable { (dir, state) =>
      state.create()
      put(dir, "a.parquet", "a")
      put(dir, "_zorder/_commits/_1", content)
      fails("ZORDER_STATE_UNREADABLE", "_commits/_1")(state.read(1))
      fails("ZORDER_STATE_UNREADABLE")(new Publisher(state).rollForward())
      assert(visible(dir) === Set("a.parquet"))
    }
  }

  test("the directory: numbers, done, names") {
    withTable { (dir, state) =>
      assert(numbers(state) === Nil && TableLog.read(state).unfinished === Nil)
      assert(!new java.io.File(dir, "_zorder").exists())
      state.create()
      state.create()
      for (n <- Seq(10L, 2L, 1L)) assert(state.createRecord(n, record))
      assert(!state.createRecord(2L, record))
      put(dir, "_zorder/_commits/_tmp_x__3", "half")
      put(dir, "_zorder/_commits/_something", "")
      assert(numbers(state) === Seq(1L, 2L, 10L))
      // the mark of a run that had the number before the table was overwritten
      state.markDone(1, id("another"))
      state.markDone(2, record.run)
      state.markDone(2, record.run)
      assert(TableLog.read(state).unfinished.map(_._1) === Seq(1L, 10L))
      assert(state.holds(10, record.run) && !state.holds(10, id("another")))
      assert(!state.holds(3, record.run) && state.isDone(2) && !state.isDone(1))
      assert(text(dir, "_zorder/_README").contains("spark-zorder"))
    }
  }

  test("a mark appears whole, also over that of another run") {
    withScheme("faulty") { (_, state) =>
      state.create()
      assert(state.createRecord(1, record))
      state.markDone(1, id("another"))
      assert(!state.isDone(1))
      FaultyFileSystem.withHook { (operation, path) =>
        assert(operation != "create" || path.getName != "_1_done")
      }(state.markDone(1, record.run))
      assert(state.isDone(1))
      assert(state.files(state.commits).map(_.getPath.getName).toSet === Set("_1", "_1_done"))
    }
  }

  test("the record that ends a dead run is marked by the next who asks") {
    withTable { (_, state) =>
      state.create()
      assert(state.createRecord(1, Record.marker(Record.Abort, record.run, "me")))
      assert(!state.isDone(1))
      assert(new DeadRuns(state, "me").abort(record.run))
      assert(state.isDone(1) && numbers(state) === Seq(1L))
    }
  }

  test("a temporary record that somebody removes is written again") {
    withScheme("faulty") { (_, state) =>
      state.create()
      var removed = 0
      val isFirst = FaultyFileSystem.withHook { (operation, path) =>
        if (operation == "rename" && path.getName == "_1" && removed < 2) {
          state.files(state.commits).filter(_.getPath.getName.startsWith("_tmp_"))
            .foreach(s => assert(state.fs.delete(s.getPath, false)))
          removed += 1
        }
      }(state.createRecord(1, record))
      assert(isFirst && removed === 2 && state.holds(1, record.run))
    }
  }

  test("retention removes what has expired of runs that are done, and nothing else") {
    withTable { (dir, state) =>
      for ((run, n) <- Seq("r1", "r2", "r3").zipWithIndex) {
        val r = stage(dir, state, run, Map("" -> ((Seq(s"old$n"), Seq(s"new$n")))))
          .copy(createdMs = 1000L * n, retainMs = 500L)
        assert(state.createRecord(n + 1L, r))
        if (n < 2) {
          new Publisher(state).publish(n + 1L, r)
          // the clock starts when the run was published
          val done = new java.io.File(dir, s"_zorder/_commits/_${n + 1}_done")
          assert(done.setLastModified(10000L * n))
        } else {
          put(dir, s"_zorder_${id(run)}/_old_0", "kept")
        }
      }
      val retention = new Retention(state, _ => true)
      def kept = dir.list().toSet.filter(_.startsWith("_zorder_")).map(_.stripPrefix("_zorder"))
      retention.removeExpired(500L)
      assert(kept === Set("_r1", "_r2", "_r3").map(n => s"_${id(n.drop(1))}"))
      retention.removeExpired(501L)
      assert(kept === Set("_r2", "_r3").map(n => s"_${id(n.drop(1))}"))
      retention.removeExpired(Long.MaxValue)
      // the third was never published: its files are needed to roll forward
      assert(kept === Set("_r3").map(n => s"_${id(n.drop(1))}"))
      assert(visible(dir) === Set("new0", "new1", "old2"))
    }
  }
}
