// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.FileNotFoundException

import scala.reflect.ClassTag

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.util.SerializableConfiguration

import io.sparkzorder.log.StateSearch

/**
 * The rows of a scan that ignores missing files. Spark may ignore missing files as long as the table has no run of
 * OPTIMIZE. But a run that is published after the scan was planned may rename a file that the scan had listed, and then
 * the rows of the file are elsewhere. So a task that has read its files checks that all these files exist. The task
 * fails if a file is missing and the file's table has runs by now.
 *
 * @param rows one partition for each [[FilePartition]]
 */
private[scan] final class CheckedFiles[T: ClassTag](
    rows: RDD[T],
    settings: Broadcast[SerializableConfiguration])
    extends RDD[T](rows) {

  override protected def getPartitions: Array[Partition] = firstParent[T].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[T] = {
    val all = firstParent[T].iterator(split, context)
    new Iterator[T] {
      private var isChecked = false

      override def hasNext: Boolean = all.hasNext || {
        if (!isChecked) check(split)
        isChecked = true
        false
      }

      override def next(): T = all.next()
    }
  }

  private def check(split: Partition): Unit = split match {
    case files: FilePartition =>
      CheckedFiles.firstReplaced(files.files.toSeq.map(_.toPath).distinct, settings.value.value)
        .foreach(file =>
          throw new FileNotFoundException(
            s"File $file does not exist. A run of OPTIMIZE has replaced files of its table since the query was " +
              "planned. Make the data frame anew."))
    case _ =>
  }
}

private[scan] object CheckedFiles {

  /** The first file that is missing although its rows may be in another file. */
  private def firstReplaced(files: Seq[Path], conf: Configuration): Option[Path] =
    files.find { file =>
      !file.getFileSystem(conf).exists(file) &&
      ScanStrategy.haveRuns(StateSearch.above(Seq(file.getParent), conf))
    }
}
