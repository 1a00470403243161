package io.sparkzorder.formats.scans

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan, SparkStrategy}
import org.apache.spark.sql.sparkzorder.{SparkLine, SparkPrivate}
import org.apache.spark.sql.util.QueryExecutionListener

/** Hears of queries that have run. One object serves all sessions. */
private[scans] object ScanListener extends QueryExecutionListener with Logging {

  override def onSuccess(name: String, query: QueryExecution, nanos: Long): Unit =
    try FormatScans.note(query)
    catch {
      case e @ (_: LinkageError | NonFatal(_)) => logDebug("the scans of a query were not noted", e)
    }

  override def onFailure(name: String, query: QueryExecution, error: Exception): Unit = ()
}

/**
 * Plans nothing, but registers the listener in a session that plans the first scan whose record is
 * wanted. A session without such scans has no listener of ours.
 */
private[sparkzorder] final case class WatchScans(session: SparkSession) extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    try {
      if (FormatScans.isWanted(plan)) {
        SparkPrivate.ensureListener(SparkLine.session(session), ScanListener)
      }
    } catch {
      // a query must not fail by its record
      case NonFatal(_) =>
    }
    Nil
  }
}
