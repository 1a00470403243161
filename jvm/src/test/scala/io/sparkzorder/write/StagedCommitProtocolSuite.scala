// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.io.{File, IOException}
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicReference

import scala.collection.mutable.ArrayBuffer

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.mapreduce.{TaskAttemptContext, TaskAttemptID, TaskType}
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.OutputWriter
import org.apache.spark.sql.sparkzorder.TestAccess
import org.apache.spark.sql.test.SharedSparkSession

/** Attempts of tasks, the late ones too: an INTO directory has the files of committed ones only. */
class StagedCommitProtocolSuite extends SharedSparkSession {
  import StagedCommitProtocolSuite._

  test("an attempt that comes back when the job is over deletes its file") {
    withTempDir { dir =>
      val root = dir.getPath
      // an attempt that hangs before its commit, and the one that does its work meanwhile
      val kept = spark.sparkContext.range(0, 1, 1, 1).mapPartitions { _ =>
        hung.set(TaskContext.get())
        val protocol = protocolIn(root)
        begin(protocol, attempt = 1)
        protocol.commitTask(hadoopTask(attempt = 1))
        Iterator.single("committed")
      }.collect()
      assert(kept.toSeq === Seq("committed"))
      assert(names(dir) === Seq(nameOf(1)))

      val late = protocolIn(root)
      begin(late, attempt = 0)
      assert(names(dir) === Seq(nameOf(0), nameOf(1)))
      val refused = intercept[Exception] {
        TestAccess.asTask(hung.get())(late.commitTask(hadoopTask(attempt = 0)))
      }
      assert(refused.getMessage.contains("the driver did not authorize commit"))
      assert(names(dir) === Seq(nameOf(1)))
    }
  }

  test("under INTO, an attempt that begins after the statement has ended makes no file") {
    withTempDir { dir =>
      val protocol = protocolIn(dir.toString)
      begin(protocol, attempt = 0)
      assert(claimIn(dir.toString).delete())
      def isTooLate(attempt: Int) =
        assert(intercept[IOException](begin(protocol, attempt)).getMessage.contains("too late"))
      isTooLate(1)
      // the next statement has claimed the directory
      Files.write(claimIn(dir.toString).toPath, "other".getBytes)
      isTooLate(2)
      assert(names(dir) === Seq(nameOf(0)))
    }
  }

  test(
    "under INTO, an attempt neither creates nor completes a file after the statement has ended") {
    val done = ArrayBuffer.empty[String]
    var isOver = false
    def begin() = new TimelyWriter(
      new OutputWriter {
        override def path(): String = "part-0"
        override def write(row: InternalRow): Unit = done += "row"
        override def close(): Unit = done += "close"
      },
      () => isOver)
    def isTooLate(attempt: => Unit) =
      assert(intercept[IOException](attempt).getMessage.contains("too late to write part-0"))
    val (first, second) = (begin(), begin())
    first.write(InternalRow.empty)
    isOver = true
    isTooLate(first.close())
    isTooLate(second.write(InternalRow.empty))
    assert(done === Seq("row"))
    isOver = false
    first.close()
    assert(done === Seq("row", "close"))
  }

  private def names(dir: File): Seq[String] = dir.list().filter(_.startsWith("part-")).sorted.toSeq
}

private object StagedCommitProtocolSuite {

  /** The context of a task whose job has ended. */
  val hung = new AtomicReference[TaskContext]

  def claimIn(root: String): File = new File(root, "_claim")

  /** The protocol of a statement that has claimed the directory. */
  def protocolIn(root: String): StagedCommitProtocol = {
    Files.write(claimIn(root).toPath, "run".getBytes)
    new StagedCommitProtocol(
      IntoPlaces(root, Array(""), "run", claimIn(root).toString, claimedBy = "run"))
  }

  def nameOf(attempt: Int): String = s"part-00000-run-$attempt.parquet"

  def hadoopTask(attempt: Int): TaskAttemptContext =
    new TaskAttemptContextImpl(
      new Configuration(),
      new TaskAttemptID("job", 0, TaskType.MAP, 0, attempt))

  def begin(protocol: StagedCommitProtocol, attempt: Int): Unit = {
    val task = hadoopTask(attempt)
    protocol.setupTask(task)
    val path = protocol.newTaskTempFile(task, None, ".parquet")
    val _ = Files.createFile(new File(path).toPath)
  }
}
