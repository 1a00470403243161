// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.scans

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ScanOperation
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, V2WriteCommand}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.connector.catalog.TableCapability
import org.apache.spark.sql.execution.{LeafExecNode, QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.command.DataWritingCommand
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.{SparkLine, SparkPrivate}
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.BinaryType
import org.apache.spark.sql.util.QueryExecutionListener

import io.sparkzorder.conf.Settings
import io.sparkzorder.skipping.predicate.{FilterOnFiles, TableColumns}
import io.sparkzorder.skipping.scan.RuntimeFilters
import io.sparkzorder.sources.{FormatScan, TableFormats}
import io.sparkzorder.workload.{
  ExcludedColumns,
  LaterNotes,
  NotedFilters,
  RecordSettings,
  WorkloadCapture
}

/**
 * Records the scans of Delta and Iceberg tables in the workload, after their query has run.
 */
private[sparkzorder] object FormatScans extends AdaptiveSparkPlanHelper with Logging {

  /** Whether the scan of a leaf is to be recorded, by the settings at the time of planning. */
  private val Wanted = new TreeNodeTag[Boolean]("zorder.record")

  /**
   * A scan in an optimized plan, without a reference to the plan.
   *
   * @param output columns of the scan
   * @param read the columns that the query needs
   * @param filters the filters on the scan. Filters with a subquery are replaced by filters with the values that the
   *   subquery returned
   */
  private case class Found(
      scan: FormatScan,
      output: Seq[Attribute],
      read: AttributeSet,
      filters: Seq[Expression])

  /**
   * Marks the scans of a plan that are to be recorded.
   *
   * @return true if a scan is to be recorded
   */
  def mark(plan: LogicalPlan): Boolean = {
    val wanted = for (leaf <- plan.collectLeaves(); scan <- TableFormats.scan(leaf)) yield {
      val isOn = RecordSettings.isOn(scan.properties) && isOurs(scan)
      // a data frame that is planned again still has its last mark, so false is set, too
      leaf.setTagValue(Wanted, isOn)
      isOn
    }
    wanted.contains(true)
  }

  private def isOurs(scan: FormatScan): Boolean =
    RecordSettings.valueOf(scan.setting, scan.properties).contains(Settings.FormatOwn)

  /** Records the marked scans of a query that has run. */
  def record(query: QueryExecution): Unit = {
    val session = SparkLine.session(query.sparkSession)
    query.optimizedPlan match {
      // a command that only wraps a query: Spark reports this query by an event of its own, or not at all
      case c: org.apache.spark.sql.catalyst.plans.logical.Command if !isCounted(c) =>
      case plan =>
        val later = ofRun(query.executedPlan)
        scans(plan).map { found =>
          val keys = later.filter(_.references.subsetOf(AttributeSet(found.output)))
          found.copy(filters = found.filters ++ keys)
        }.foreach { found =>
          LaterNotes.add(s"a scan of ${found.scan.location}", valuesIn(found.filters)) {
            record(session, found)
          }
        }
    }
  }

  /** The filters with keys of joins and values of subqueries that the scans of a query got while it ran. */
  private def ofRun(plan: SparkPlan): Seq[Expression] =
    collectWithSubqueries(plan) { case scan: LeafExecNode => RuntimeFilters.ofRun(scan) }.flatten

  /** The number of values in the filters: the keys of a join may be many. */
  private def valuesIn(filters: Seq[Expression]): Int = filters.flatMap(_.collect {
    case keys: InSet => keys.hset.size
    case _: Literal => 1
  }).sum

  private def isCounted(command: LogicalPlan): Boolean = command match {
    // a table with this capability writes by another query, which has an event of its own
    case w: V2WriteCommand => w.table match {
        case r: DataSourceV2Relation =>
          !r.table.capabilities.contains(TableCapability.V1_BATCH_WRITE)
        case _ => true
      }
    case _: DataWritingCommand => true
    case _ => false
  }

  private def scans(plan: LogicalPlan): Seq[Found] = plan match {
    case ScanOperation(projects, stayUp, filters, leaf) if leaf.children.isEmpty =>
      val own = for {
        scan <- if (leaf.getTagValue(Wanted).contains(true)) TableFormats.scan(leaf) else None
      } yield {
        val known = (stayUp ++ filters).filterNot(SubqueryExpression.hasSubquery)
        Found(scan, leaf.output, AttributeSet(projects ++ stayUp ++ filters), known)
      }
      own.toSeq ++ plan.collect { case p => subqueries(p) }.flatten.flatMap(scans)
    case other => (other.children ++ subqueries(other)).flatMap(scans)
  }

  /**
   * The plans of the subqueries of a node. Subqueries by which Spark prunes one side of a join are left out, because
   * they are copies of the other side. These are each DynamicPruningSubquery, and each scalar subquery of type BINARY,
   * which nearly always is Spark's Bloom filter.
   */
  private def subqueries(node: LogicalPlan): Seq[LogicalPlan] =
    node.expressions.flatMap(_.collect {
      case s: ScalarSubquery if s.dataType != BinaryType => s.plan
      case s: ListQuery => s.plan
      case s: Exists => s.plan
    })

  private def record(session: Session, found: Found): Unit = {
    val scan = found.scan
    val context = session.sparkContext
    // classes of the format use the active session, and may run jobs
    SparkSession.setActiveSession(session)
    context.setJobDescription(s"record of the workload of ${scan.location}")
    try SQLConf.withExistingConf(session.sessionState.conf) {
        tables.of(scan, context.applicationId).foreach(record(session, found, _))
      }
    finally {
      context.setJobDescription(null)
      SparkSession.clearActiveSession()
    }
  }

  private def record(session: Session, found: Found, table: OpenedTable): Unit = {
    val scan = found.scan
    val conf = session.sessionState.newHadoopConf()
    val sqlConf = session.sessionState.conf
    val root = new Path(scan.location)
    val qualified = root.getFileSystem(conf).makeQualified(root)
    val read = DataTypeUtils.fromAttributes(found.output.filter(found.read.contains))
    val share = RecordSettings.columnsShare(read, scan.schema) * scan.share
    val names = found.filters.flatMap(_.references.map(_.name)).toSet
    val known = table.known(names, sqlConf.resolver)
    val excluded = ExcludedColumns.of(scan.properties)
    if (found.filters.isEmpty) {
      WorkloadCapture.noteUnfiltered(qualified, conf, excluded, None, known.bytes * share)
    } else {
      val columns = new TableColumns(
        found.output,
        DataTypeUtils.fromAttributes(found.output),
        table.partitionSchema,
        sqlConf.resolver)
      val tested =
        FilterOnFiles.tested(found.filters, columns, known.content, sqlConf.caseSensitiveAnalysis)
      val filters = NotedFilters(known.identity, known.content.files, tested)
      WorkloadCapture.note(qualified, conf, filters, excluded, None, None, share)
    }
  }

  private val tables = new OpenedTables
}

/** Receives queries that have run. One object serves all sessions. */
private[scans] object ScanListener extends QueryExecutionListener with Logging {

  override def onSuccess(name: String, query: QueryExecution, nanos: Long): Unit =
    try FormatScans.record(query)
    catch {
      case e @ (_: LinkageError | NonFatal(_)) =>
        logDebug("the scans of a query were not noted", e)
    }

  override def onFailure(name: String, query: QueryExecution, error: Exception): Unit = ()
}

/**
 * Changes no plan, but marks the scans that are to be recorded, and registers the listener in a session
 * with such scans. It is one of the last rules of the optimizer: earlier rules do not see Iceberg's scans. A
 * strategy would not see each scan, because Delta's own strategy may plan a scan first.
 */
private[sparkzorder] object WatchScans extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = {
    try {
      if (FormatScans.mark(plan)) {
        SparkPrivate.ensureListener(SparkLine.session(SparkSession.active), ScanListener)
      }
    } catch {
      // a query must not fail because its scans cannot be recorded
      case e @ (_: LinkageError | NonFatal(_)) => logDebug("scans were not marked", e)
    }
    plan
  }
}
