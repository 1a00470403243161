// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.torture

import java.io.{File, RandomAccessFile}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.CountDownLatch

import org.apache.hadoop.fs.Path

import org.apache.spark.{SparkContext, TaskContext}

/**
 * The operations of a run, one line of fixed length each, written before the operation is done: what
 * survives a SIGKILL, and what the other process follows by the length of the file.
 */
private[torture] object StepLog {
  val LineBytes = 120

  /** Operations that change something on disk. */
  val changes: Set[String] = Set("create", "rename", "mkdirs", "delete")

  final case class Line(change: Int, phase: String, operation: String, path: String)

  def read(file: File): Seq[Line] =
    if (!file.exists()) Nil
    else {
      val text = new String(java.nio.file.Files.readAllBytes(file.toPath), UTF_8)
      text.split('\n').toSeq.filter(_.length == LineBytes - 1).map { line =>
        val fields = line.trim.split(" +", 4)
        Line(fields(0).toInt, fields(1), fields(2), fields.lift(3).getOrElse(""))
      }
    }

  /**
   * @param blockAt number of the change, from 0, before which the process stops for ever
   * @param other what another writer does before a change, which waits for it
   */
  final class Writer(file: File, table: String, blockAt: Int, other: Option[Other]) {
    private val out = new RandomAccessFile(file, "rw")
    private var changesSeen = 0
    private var phase = "check"

    def apply(operation: String, path: Path): Unit = {
      val block = synchronized {
        phaseNow.foreach(p => phase = p)
        val number = changesSeen
        if (changes(operation)) {
          changesSeen += 1
          other.filter(_.at == number).foreach(_.act(new File(table)))
        }
        val shown = path.toUri.getPath.stripPrefix(table)
        val line = f"$number%6d $phase%-10s $operation%-7s $shown".take(LineBytes - 1)
        out.write((line.padTo(LineBytes - 1, ' ') + "\n").getBytes(UTF_8))
        changes(operation) && number == blockAt
      }
      if (block) new CountDownLatch(1).await()
    }

    // a task's thread has the properties of its job
    private def phaseNow: Option[String] = {
      val key = "spark.job.description"
      val task = TaskContext.get()
      val description =
        if (task != null) task.getLocalProperty(key)
        else SparkContext.getOrCreate().getLocalProperty(key)
      Option(description).filter(_.startsWith("OPTIMIZE")).map(_.split(": ").last.trim)
    }
  }
}
