// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.history

import java.io.File
import java.nio.file.Files

import org.apache.commons.io.FileUtils

import io.sparkzorder.commands.OptimizeTestBase

/** Every statement meets a record, or a directory of ours, that somebody else has put there. */
class HostileRecordSuite extends OptimizeTestBase {

  private def statements(t: File): Seq[String] = Seq(
    s"RECOVER LAYOUT '$t'",
    s"OPTIMIZE '$t' ZORDER BY a",
    s"OPTIMIZE '$t' ZORDER BY a INTO '$t-copy'",
    s"UNDO LAYOUT '$t'",
    s"VACUUM LAYOUT '$t'",
    s"VACUUM LAYOUT '$t' RETAIN 0 HOURS",
    s"SHOW LAYOUT HISTORY '$t'",
    s"SELECT * FROM parquet.`$t`")

  /** An optimized table, and a directory beside it that no statement about the table may touch. */
  private def refused(spoil: (File, File) => Unit): Unit = refusedBy(statements)(spoil)

  private def refusedBy(statements: File => Seq[String])(
      spoil: (File, File) => Unit): Unit = withTableDir { base =>
    val (dir, victim) = (new File(base, "t"), new File(base, "victim"))
    write(shuffled(60, 2), dir)
    sql(s"OPTIMIZE '$dir' ZORDER BY a").collect()
    FileUtils.write(new File(victim, "file"), "rows of somebody else", "UTF-8")
    spoil(dir, victim)
    val before = snapshot(victim) -> userFiles(dir)
    for (statement <- statements(dir)) {
      val e = intercept[Exception](sql(statement).collect())
      assert(e.getMessage.contains("ZORDER_STATE_UNREADABLE"), statement)
      assert(snapshot(victim) -> userFiles(dir) === before, statement)
    }
  }

  private def record(dir: File) = new File(dir, "_zorder/_commits/_1")

  private def edit(dir: File)(change: String => String): Unit = {
    val text = FileUtils.readFileToString(record(dir), "UTF-8")
    assert(change(text) !== text)
    FileUtils.write(record(dir), change(text), "UTF-8")
    assert(new File(dir, "_zorder/_commits/_1_done").delete())
  }

  test("a run that leads out of the table") {
    refused { (dir, _) =>
      edit(dir)(_.replaceFirst("\"run\":\"[^\"]*\"", "\"run\":\"x/../../../../victim\""))
    }
  }

  test("a folder that leads out of the table") {
    refused((dir, _) => edit(dir)(_.replace("\"folder\":\"\"", "\"folder\":\"../victim\"")))
  }

  test("names that lead out of the folder") {
    refused((dir, _) =>
      edit(dir)(_.replaceFirst("\"name\":\"[^\"]*\"", "\"name\":\"../victim/file\"")))
    refused((dir, _) =>
      edit(dir)(_.replaceFirst("\"staged\":\"[^\"]*\"", "\"staged\":\"../../../victim/file\"")))
  }

  test("the hidden directory of an unknown run is a symbolic link, which VACUUM must not follow") {
    refusedBy(statements(_).filter(_.startsWith("VACUUM"))) { (dir, victim) =>
      val own = new File(dir, "_zorder_11111111-2222-3333-4444-555555555555")
      assert(new File(victim, "file").setLastModified(1000000000000L))
      val _ = Files.createSymbolicLink(own.toPath, victim.toPath)
    }
  }

  for (name <- Seq("_zorder", "_zorder/_runs", "_zorder/_commits")) {
    test(s"$name is a symbolic link") {
      refused { (dir, victim) =>
        val own = new File(dir, name)
        FileUtils.moveDirectory(own, new File(victim, "own"))
        val _ = Files.createSymbolicLink(own.toPath, new File(victim, "own").toPath)
      }
    }
  }
}
