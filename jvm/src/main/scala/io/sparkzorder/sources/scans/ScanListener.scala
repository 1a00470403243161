// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.scans

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.sparkzorder.{SparkLine, SparkPrivate}
import org.apache.spark.sql.util.QueryExecutionListener

/** Hears of queries that have run. One object serves all sessions. */
private[scans] object ScanListener extends QueryExecutionListener with Logging {

  override def onSuccess(name: String, query: QueryExecution, nanos: Long): Unit =
    try FormatScans.note(query)
    catch {
      case e @ (_: LinkageError | NonFatal(_)) =>
        logDebug("the scans of a query were not noted", e)
    }

  override def onFailure(name: String, query: QueryExecution, error: Exception): Unit = ()
}

/**
 * Changes no plan, but marks the scans that are to be recorded, and registers the listener in a session
 * that has one. A session without such scans has no listener of ours. It is one of the last rules of the
 * optimizer: before, Iceberg's scans are not there, and later, Delta's own strategy may plan a scan
 * before any other strategy is asked.
 */
private[sparkzorder] object WatchScans extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = {
    try {
      if (FormatScans.mark(plan)) {
        SparkPrivate.ensureListener(SparkLine.session(SparkSession.active), ScanListener)
      }
    } catch {
      // a query must not fail by its record
      case e @ (_: LinkageError | NonFatal(_)) => logDebug("scans were not marked", e)
    }
    plan
  }
}
