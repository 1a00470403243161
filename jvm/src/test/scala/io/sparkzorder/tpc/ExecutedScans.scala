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

  /**
   * @param metrics ids of the accumulators by name
   * @param isForKeys as in [[ScanCounts]]
   */
  private case class Scan(table: String, metrics: Map[String, Long], isForKeys: Boolean)

  private val scans = mutable.LinkedHashSet.empty[Scan]
  private val values = mutable.HashMap.empty[Long, Long]

  override def onOtherEvent(event: SparkListenerEvent): Unit = synchronized {
    event match {
      case start: SparkListenerSQLExecutionStart => note(start.sparkPlanInfo, isForKeys = false)
      case update: SparkListenerSQLAdaptiveExecutionUpdate =>
        note(update.sparkPlanInfo, isForKeys = false)
      case metrics: SparkListenerDriverAccumUpdates => values ++= metrics.accumUpdates
      case _ =>
    }
  }

  private def note(plan: SparkPlanInfo, isForKeys: Boolean): Unit = {
    tableOf(plan).filter(sizes.contains).foreach { table =>
      scans += Scan(table, plan.metrics.map(m => m.name -> m.accumulatorId).toMap, isForKeys)
    }
    // as in `Subquery dynamicpruning#12, [id=#34]`
    val isRunForKeys = plan.nodeName == "Subquery" &&
      PlanCounts.isRunForKeys(plan.simpleString.stripPrefix("Subquery "))
    plan.children.foreach(note(_, isForKeys || isRunForKeys))
  }

  private def tableOf(plan: SparkPlanInfo): Option[String] =
    // as in `InMemoryFileIndex(1 paths)[file:/folder/table]` and in `BatchScan ice.database.table`
    plan.metadata.get("Location").map(_.stripSuffix("]").split('/').last).orElse {
      if (plan.nodeName.startsWith("BatchScan ")) Some(plan.nodeName.split('.').last) else None
    }

  /** A scan that ran has told how many bytes its files have. */
  def counts: Seq[ScanCounts] = synchronized {
    for {
      scan <- scans.toSeq
      // what we have pruned stands before what Iceberg has planned
      (files, bytes) <- ExecutedScans.metrics.flatMap { case (files, bytes) =>
        for {
          f <- scan.metrics.get(files).flatMap(values.get)
          b <- scan.metrics.get(bytes).flatMap(values.get)
        } yield (f, b)
      }.headOption
    } yield {
      val (allFiles, allBytes) = sizes(scan.table)
      ScanCounts(scan.table, files, bytes, allFiles, allBytes, scan.isForKeys)
    }
  }
}

private[sparkzorder] object ExecutedScans {

  /** Names of the metrics of files and of their bytes. */
  private val metrics = Seq(
    "number of files kept" -> "size of files kept",
    "number of files read" -> "size of files read",
    "number of result data files" -> "total data file size (bytes)")

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
