// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper

/**
 * The files that the scans of a query choose, found without reading the fact tables: each scan waits
 * for its subqueries, which read the dimensions, and chooses its files. No task reads them. The
 * counts are those of the plan without adaptive execution, in which every scan runs.
 */
object PlannedFiles extends AdaptiveSparkPlanHelper {

  def of(open: OpenContender, query: String): PlanCounts = {
    open.session.conf.set("spark.sql.adaptive.enabled", "false")
    val before = SparkSession.getActiveSession
    // scans look at the settings of the active session
    SparkSession.setActiveSession(open.session)
    try {
      val plan = open.session.sql(query).queryExecution.executedPlan
      PlanCounts.of(plan, scans(plan).flatMap(choose(_, open.sizes)))
    } finally {
      before.fold(SparkSession.clearActiveSession())(SparkSession.setActiveSession)
      open.session.conf.unset("spark.sql.adaptive.enabled")
    }
  }

  /** The table of each scan of a plan, once for a scan whose exchange is reused. */
  def tables(plan: SparkPlan): Seq[String] = scans(plan).map(tableOf)

  private def tableOf(scan: FileSourceScanExec): String =
    scan.relation.location.rootPaths.head.getName

  private def choose(
      scan: FileSourceScanExec,
      sizes: Map[String, (Int, Long)]): Option[ScanCounts] = {
    val table = tableOf(scan)
    sizes.get(table).map { case (allFiles, allBytes) =>
      if (scan.supportsColumnar) scan.executeColumnar() else scan.execute()
      def metric(name: String): Long = scan.metrics(name).value
      ScanCounts(table, metric("numFiles"), metric("filesSize"), allFiles, allBytes)
    }
  }

  /** Each scan once; an exchange that is reused has its scans where it is computed. */
  private def scans(plan: SparkPlan): Seq[FileSourceScanExec] = {
    val all = collectWithSubqueries(plan) { case scan: FileSourceScanExec => scan }
    all.zipWithIndex.collect {
      case (scan, i) if !all.take(i).exists(_ eq scan) => scan
    }
  }
}
