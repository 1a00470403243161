// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.io.File
import java.nio.file.Files

import org.apache.commons.io.FileUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.concurrent.Eventually.eventually
import org.scalatest.concurrent.PatienceConfiguration.Timeout
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

import io.sparkzorder.log.StateDirectory

/** The notes of many tables. */
class WorkloadCaptureSuite extends AnyFunSuite {

  test(
    "a driver that scans ever new tables keeps the last ones, and writes the notes of the others") {
    val dir = Files.createTempDirectory("zorder-notes").toFile
    WorkloadCapture.clear()
    try {
      val conf = new Configuration()
      val max = WorkloadCapture.MaxTables
      val roots = (0 to max + 4).map { i =>
        val table = new File(dir, s"t$i")
        assert(new File(table, StateDirectory.Name).mkdirs())
        new Path(s"file:$table")
      }
      def note(root: Path): Unit = WorkloadCapture.noteUnfiltered(root, conf, 1.0)
      roots.take(max).foreach(note)
      // these were scanned again, so others leave
      roots.take(3).foreach(note)
      val more = roots.drop(max)
      more.foreach(note)
      assert(WorkloadCapture.tables.size === max)
      (roots.take(3) ++ more).foreach(r => assert(WorkloadCapture.tables.containsKey(r), r))
      val gone = roots.slice(3, 3 + more.size)
      gone.foreach(r => assert(!WorkloadCapture.tables.containsKey(r), r))
      eventually(Timeout(Span(30, Seconds)))(assert(WorkloadCapture.leaving.isEmpty))
      def scans(root: Path): Long = new WorkloadStore(new StateDirectory(root, conf), conf)
        .read(WorkloadStore.today).map(_.count).sum
      gone.foreach(r => assert(scans(r) === 1L, r))
      // a table that comes back adds to its notes
      note(gone.head)
      WorkloadCapture.flush(new StateDirectory(gone.head, conf))
      assert(scans(gone.head) === 2L)
    } finally {
      WorkloadCapture.clear()
      FileUtils.deleteDirectory(dir)
    }
  }
}
