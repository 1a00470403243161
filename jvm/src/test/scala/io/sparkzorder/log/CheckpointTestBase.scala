// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.File
import java.util.concurrent.atomic.AtomicInteger

import io.sparkzorder.FaultyFileSystem
import io.sparkzorder.log.publish.Checkpoints

/** Tables with many published runs. */
abstract class CheckpointTestBase extends StateTestBase {
  protected val hour = 3600000L

  /** Each run replaces the file that the one before has added to its folder. */
  protected def optimize(n: Long, folder: String = "", columns: Seq[String] = Seq("a")): Record =
    Record(
      Record.Version,
      Record.Optimize,
      id(s"run $n"),
      1000L + n,
      "me",
      columns,
      0L,
      Seq(FolderChange(
        folder,
        Seq(Replaced(s"f${n - 1}", 1L, 1L, "_old_0")),
        Seq(Added("_new_0", s"f$n", 1L, 1L, 1L)))),
      suffix = ".parquet")

  protected def commits(dir: File): File = new File(dir, "_zorder/_commits")

  /** Writes published records, without any call to a file system that counts. */
  protected def published(dir: File, records: Seq[(Long, Record)]): Unit =
    records.foreach { case (n, r) =>
      put(commits(dir), s"_$n", new String(Record.toJson(r), "UTF-8"))
      put(commits(dir), s"_${n}_done", r.run)
    }

  protected def runs(dir: File, numbers: Seq[Long]): Unit =
    published(dir, numbers.map(n => n -> optimize(n)))

  protected def read(state: StateDirectory): TableLog = TableLog.read(state)

  protected def checkpoints(state: StateDirectory): Unit =
    new Checkpoints(state, System.currentTimeMillis()).writeIfDue()

  /** Numbers of the record files. */
  protected def recordFiles(dir: File): Seq[Long] = commits(dir).list().toSeq
    .filter(_.drop(1).forall(_.isDigit)).map(_.drop(1).toLong).sorted

  protected def checkpointFiles(dir: File): Seq[Long] =
    commits(dir).list().toSeq.flatMap(Checkpoint.numberOf(_)).sorted

  /** Operations of a kind while `body` runs. */
  protected def count(kinds: String*)(body: => Any): Int = {
    val n = new AtomicInteger
    FaultyFileSystem.withHook { (operation, _) =>
      if (kinds.contains(operation)) n.incrementAndGet()
      ()
    } {
      val _ = body
    }
    n.get
  }
}
