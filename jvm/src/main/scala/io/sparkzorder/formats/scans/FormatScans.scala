package io.sparkzorder.formats.scans


import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression}
import org.apache.spark.sql.catalyst.planning.ScanOperation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.formats.TableFormats
import io.sparkzorder.skipping.predicate.{FilterOnFiles, TableColumns}
import io.sparkzorder.workload.{LaterNotes, NotedFilters, RecordSettings, WorkloadCapture}

/**
 * Hands the scans of tables of other formats to the record of the workload, after their query has run.
 * The thread of the query does nothing for it.
 */
private[sparkzorder] object FormatScans extends Logging {

  /**
   * A scan in an optimized plan.
   *
   * @param read the columns that the query needs
   * @param filters on the scan
   */
  private case class Found(leaf: LogicalPlan, read: AttributeSet, filters: Seq[Expression])

  /** Notes the scans of a query that has run, if the record is wanted. */
  def note(query: QueryExecution): Unit = {
    val session = SparkLine.session(query.sparkSession)
    SQLConf.withExistingConf(session.sessionState.conf) {
      for {
        found <- scans(query.optimizedPlan)
        scan <- TableFormats.scan(found.leaf)
        if RecordSettings.isOn(scan.properties)
      } LaterNotes.add(s"a scan of ${scan.location}")(note(session, found, scan))
    }
  }

  /** True if a plan has a scan whose record is wanted. */
  def isWanted(plan: LogicalPlan): Boolean = plan match {
    case ScanOperation(_, _, _, leaf) =>
      TableFormats.scan(leaf).exists(s => RecordSettings.isOn(s.properties))
    case _ => false
  }

  private def scans(plan: LogicalPlan): Seq[Found] = plan match {
    case ScanOperation(projects, stayUp, filters, leaf) if leaf.children.isEmpty =>
      val used = AttributeSet(projects ++ stayUp ++ filters)
      val subqueries = plan.collect { case p => p.subqueries }.flatten
      Found(leaf, used, stayUp ++ filters) +: subqueries.flatMap(scans)
    case other => (other.children ++ other.subqueries).flatMap(scans)
  }

  private def note(session: Session, found: Found, scan: FormatScan): Unit = {
    // classes of the format look for the active session, and may run jobs
    SparkSession.setActiveSession(session)
    session.sparkContext.setJobDescription(s"record of the workload of ${scan.location}")
    val sqlConf = session.sessionState.conf
    try SQLConf.withExistingConf(sqlConf) {
      tables.of(scan).foreach { table =>
        val conf = session.sessionState.newHadoopConf()
        val root = new Path(scan.location)
        val qualified = root.getFileSystem(conf).makeQualified(root)
        val output = found.leaf.output
        val columns = RecordSettings
          .columnsShare(DataTypeUtils.fromAttributes(output.filter(found.read.contains)), scan.schema)
        if (found.filters.isEmpty) {
          val bytes = table.known(Set.empty, sqlConf.resolver).bytes
          WorkloadCapture.noteUnfiltered(qualified, conf, bytes * scan.share * columns)
        } else {
          val names = found.filters.flatMap(_.references.map(_.name)).toSet
          val known = table.known(names, sqlConf.resolver)
          val data = new TableColumns(
            output,
            DataTypeUtils.fromAttributes(output),
            table.format.partitionSchema,
            sqlConf.resolver)
          val tested = FilterOnFiles
            .tested(found.filters, data, known.content, sqlConf.caseSensitiveAnalysis)
          WorkloadCapture.note(
            qualified,
            conf,
            NotedFilters(known, known.content.files, tested),
            RecordSettings.excluded(scan.properties, sqlConf.resolver),
            Some(math.round(scan.share * known.content.files.size)),
            columns)
        }
      }
    } finally SparkSession.clearActiveSession()
  }

  private val tables = new OpenedTables
}
