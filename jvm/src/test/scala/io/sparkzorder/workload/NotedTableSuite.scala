// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.io.File
import java.nio.file.Files

import org.apache.commons.io.FileUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log.StateDirectory

/** The notes of one table, and the files to which they go. */
class NotedTableSuite extends AnyFunSuite {

  private def withTable(body: (NotedTable, WorkloadStore, Int => Unit) => Unit): Unit = {
    val dir = Files.createTempDirectory("zorder-notes").toFile
    try {
      assert(new File(dir, StateDirectory.Name).mkdir())
      val conf = new Configuration()
      FaultyFileSystem.settings.foreach { case (k, v) =>
        conf.set(k.stripPrefix("spark.hadoop."), v)
      }
      val root = new Path(s"faulty:$dir")
      @volatile var today = 20000L
      val table = new NotedTable(root, conf, () => today)
      body(table, new WorkloadStore(new StateDirectory(root, conf), conf), d => today += d)
    } finally FileUtils.deleteDirectory(dir)
  }

  private def counts(store: WorkloadStore): Map[Long, Long] =
    store.read(20001L).groupBy(_.day).map { case (day, all) => day -> all.map(_.count).sum }

  test("a write that fails while a day ends loses no scan") {
    withTable { (table, store, passDays) =>
      def note(): Unit = table.noteUnfiltered(ExcludedColumns.none, None, 1.0)
      note()
      table.flush()
      note()
      FaultyFileSystem.withHook { (operation, path) =>
        if (operation == "create" && path.toString.contains(WorkloadStore.Name)) {
          FaultyFileSystem.withoutHook {
            // the last scan of the day, and the first of the next day
            note()
            passDays(1)
            note()
          }
          throw new FaultyFileSystem.Injected("a write of notes")
        }
      }(table.flush())
      assert(counts(store) === Map(20000L -> 1L))
      table.flush()
      assert(counts(store) === Map(20000L -> 3L, 20001L -> 1L))
      note()
      table.flush()
      assert(counts(store) === Map(20000L -> 3L, 20001L -> 2L))
    }
  }

  test("a table that no query scans any more is idle when its notes are written") {
    withTable { (table, store, passDays) =>
      table.noteUnfiltered(ExcludedColumns.none, None, 1.0)
      passDays(2)
      assert(!table.isIdle, "the note is not written")
      table.flush()
      assert(table.isIdle)
      table.noteUnfiltered(ExcludedColumns.none, None, 1.0)
      table.flush()
      assert(!table.isIdle, "a scan was noted today")
      assert(store.read(20002L).size === 2 && store.read(20002L, mostBytes = 1L).isEmpty)
    }
  }

  test("a catalog that does not answer: nothing is written until it does") {
    withTable { (table, store, _) =>
      var answers = false
      def rules(): RecordRules =
        if (answers) RecordRules(isOff = false, ExcludedColumns.none)
        else throw new java.io.IOException("no catalog")
      table.noteUnfiltered(ExcludedColumns.none, Some(() => rules()), 1.0)
      table.flush()
      assert(store.read(20001L).isEmpty)
      answers = true
      table.flush()
      assert(counts(store) === Map(20000L -> 1L))
    }
  }

  test("a write that fails after a day has ended loses no scan") {
    withTable { (table, store, passDays) =>
      table.noteUnfiltered(ExcludedColumns.none, None, 1.0)
      passDays(1)
      table.noteUnfiltered(ExcludedColumns.none, None, 1.0)
      FaultyFileSystem.failing(0)((o, p) =>
        o == "create" && p.toString.contains(WorkloadStore.Name)) {
        table.flush()
      }
      table.flush()
      assert(counts(store) === Map(20000L -> 1L, 20001L -> 1L))
    }
  }
}
