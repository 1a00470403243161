// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.sparkzorder

import org.apache.spark.{SparkContext, SparkEnv, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types.StructType
import org.apache.spark.storage.BroadcastBlockId

/** What tests need of Spark that is private to it. */
object TestAccess {

  /** Waits until every event so far has reached the listeners. */
  def drainListeners(sc: SparkContext): Unit = sc.listenerBus.waitUntilEmpty()

  /** Names of the files of shuffles on local disks. */
  def shuffleFiles: Set[String] = SparkEnv.get.blockManager.diskBlockManager.getAllFiles()
    .map(_.getName).filter(_.startsWith("shuffle_")).toSet

  /** True if this JVM holds a broadcast. */
  def hasBroadcast(id: Long): Boolean = SparkEnv.get.blockManager.getMatchingBlockIds {
    case b: BroadcastBlockId => b.broadcastId == id
    case _ => false
  }.nonEmpty

  /** Runs code on this thread as a task, such as one whose job has ended. */
  def asTask[T](task: TaskContext)(code: => T): T = {
    TaskContext.setTaskContext(task)
    try code
    finally TaskContext.unset()
  }

  /** A data frame of rows in Spark's internal form, one partition of it for each of the RDD. */
  def internalFrame(session: Session, rows: RDD[InternalRow], schema: StructType): Frame =
    session.internalCreateDataFrame(rows, schema)
}
