// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.PartitionDirectory
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * What a scan with filters of joins and subqueries runs, once their values are known: the same scan
 * with these values in the place of the filters. No plan ever shows this node. The numbers that it
 * counts are those of the node in the plan.
 */
private[sparkzorder] trait ResolvedScan extends FileSourceScanExec {

  /** The scan in the plan. */
  protected def shown: RuntimePruningScan

  override lazy val driverMetrics: Map[String, SQLMetric] = shown.driverMetrics
  override def metrics: Map[String, SQLMetric] = shown.metrics

  override protected def sendDriverMetrics(): Unit = {
    super.sendDriverMetrics()
    relation.location match {
      case files: RuntimeFileIndex =>
        files.lastMetrics.foreach(shown.sendSkipping(_, selectedValues))
        ScanNote.of(this, files.delegate, files.filters, files.lastMetrics.map(_.total))
      case _ =>
    }
  }

  /** The values of the partitions that remain after the dynamic partition filters. */
  protected def selectedValues: Iterator[InternalRow]

  private[scan] def rows: RDD[InternalRow] = doExecute()
  private[scan] def batches: RDD[ColumnarBatch] = doExecuteColumnar()
}

/**
 * The files of a scan, pruned by the filters known while planning and then by those known at run
 * time.
 */
private[scan] final class RuntimeFileIndex(
    override val delegate: ZOrderFileIndex,
    planned: Seq[Expression],
    resolved: Seq[Expression])
    extends DelegatingFileIndex {

  @volatile private var last: Option[SkippingMetrics] = None

  /** The filters known while planning, and those known at run time. */
  def filters: Seq[Seq[Expression]] =
    Seq(planned.filterNot(ZOrderFileIndex.holdsSubquery), resolved)

  /** The metrics of the latest listing. */
  def lastMetrics: Option[SkippingMetrics] = last

  /** @param dataFilters for the reader alone; the two lists of this index are what prunes */
  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]): Seq[PartitionDirectory] = {
    val listing = delegate.prunedAtRunTime(partitionFilters, planned, resolved)
    last = listing.metrics
    listing.directories
  }
}
