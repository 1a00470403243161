// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import scala.collection.mutable

import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.SparkPlanInfo
import org.apache.spark.sql.execution.ui.{
  SparkListenerDriverAccumUpdates,
  SparkListenerSQLAdaptiveExecutionUpdate,
  SparkListenerSQLExecutionStart
}
import org.apache.spark.sql.sparkzorder.TestAccess

/**
 * Collects the scans of fact tables that ran while a query was executed. The final plan is not
 * enough: where a stage has no rows, adaptive execution replaces the stages below it, which ran.
 *
 * @param sizes files and bytes of each fact table
 */
private final class ExecutedScans(sizes: Map[String, (Int, Long)]) extends SparkListener {

  /** @param files and `bytes`: ids of the accumulators */
  private case class Scan(table: String, files: Long, bytes: Long)

  private val scans = mutable.LinkedHashSet.empty[Scan]
  private val values = mutable.HashMap.empty[Long, Long]

  override def onOtherEvent(event: SparkListenerEvent): Unit = synchronized {
    event match {
      case start: SparkListenerSQLExecutionStart => note(start.sparkPlanInfo)
      case update: SparkListenerSQLAdaptiveExecutionUpdate => note(update.sparkPlanInfo)
      case metrics: SparkListenerDriverAccumUpdates => values ++= metrics.accumUpdates
      case _ =>
    }
  }

  private def note(plan: SparkPlanInfo): Unit = {
    plan.metadata.get("Location").foreach { location =>
      // as in `InMemoryFileIndex(1 paths)[file:/folder/table]`
      val table = location.stripSuffix("]").split('/').last
      val ids = plan.metrics.map(m => m.name -> m.accumulatorId).toMap
      for {
        files <- ids.get("number of files read")
        bytes <- ids.get("size of files read") if sizes.contains(table)
      } scans += Scan(table, files, bytes)
    }
    plan.children.foreach(note)
  }

  /** A scan that ran has told how many bytes its files have. */
  def counts: Seq[ScanCounts] = synchronized {
    scans.toSeq.filter(s => values.contains(s.bytes)).map { s =>
      val (allFiles, allBytes) = sizes(s.table)
      ScanCounts(s.table, values(s.files), values(s.bytes), allFiles, allBytes)
    }
  }
}

private[tpc] object ExecutedScans {

  /** Runs the body, which executes one query, and returns the scans that ran. */
  def during[T](session: SparkSession, sizes: Map[String, (Int, Long)])(
      body: => T): (T, Seq[ScanCounts]) = {
    val listener = new ExecutedScans(sizes)
    val context = session.sparkContext
    TestAccess.drainListeners(context)
    context.addSparkListener(listener)
    try {
      val result = body
      TestAccess.drainListeners(context)
      (result, listener.counts)
    } finally context.removeSparkListener(listener)
  }
}
