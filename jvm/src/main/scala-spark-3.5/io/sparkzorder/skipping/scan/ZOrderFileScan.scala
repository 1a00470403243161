// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.sql.catalyst.{InternalRow, TableIdentifier}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.collection.BitSet

/**
 * A scan of files with runtime pruning, for Spark 3.5. The constructor has the parameters of the base class,
 * because Spark copies a node by its constructor. The parameters have other names than the members of the base
 * class. With the same name, a method would use the parameter, and Scala would store the value a second time.
 */
private[sparkzorder] final class ZOrderFileScan(
    ofRelation: HadoopFsRelation,
    attributes: Seq[Attribute],
    schemaOfFiles: StructType,
    filtersOnPartitions: Seq[Expression],
    buckets: Option[BitSet],
    coalescedBuckets: Option[Int],
    filtersOnData: Seq[Expression],
    table: Option[TableIdentifier],
    withoutBuckets: Boolean)
    extends FileSourceScanExec(
      ofRelation,
      attributes,
      schemaOfFiles,
      filtersOnPartitions,
      buckets,
      coalescedBuckets,
      filtersOnData,
      table,
      withoutBuckets)
    with RuntimePruningScan {

  override def copy(
      relation: HadoopFsRelation,
      output: Seq[Attribute],
      requiredSchema: StructType,
      partitionFilters: Seq[Expression],
      optionalBucketSet: Option[BitSet],
      optionalNumCoalescedBuckets: Option[Int],
      dataFilters: Seq[Expression],
      tableIdentifier: Option[TableIdentifier],
      disableBucketedScan: Boolean): FileSourceScanExec = new ZOrderFileScan(
    relation,
    output,
    requiredSchema,
    partitionFilters,
    optionalBucketSet,
    optionalNumCoalescedBuckets,
    dataFilters,
    tableIdentifier,
    disableBucketedScan)

  override protected def withMetrics(scan: FileSourceScanExec): FileSourceScanExec =
    ZOrderFileScan.of(scan)

  override protected def resolvedScan(
      files: HadoopFsRelation,
      filters: Seq[Expression]): ResolvedScan = new ResolvedFileScan(this, files, filters)

  override protected def selectedValues: Iterator[InternalRow] =
    dynamicallySelectedPartitions.iterator.map(_.values)
}

/** The scan that `scan` becomes once the values of its filters are known. */
private final class ResolvedFileScan(
    scan: ZOrderFileScan,
    files: HadoopFsRelation,
    filters: Seq[Expression])
    extends FileSourceScanExec(
      files,
      scan.output,
      scan.requiredSchema,
      scan.partitionFilters,
      scan.optionalBucketSet,
      scan.optionalNumCoalescedBuckets,
      filters,
      scan.tableIdentifier,
      scan.disableBucketedScan)
    with ResolvedScan {
  @transient override protected val shown: RuntimePruningScan = scan

  override protected def selectedValues: Iterator[InternalRow] =
    dynamicallySelectedPartitions.iterator.map(_.values)
}

private[sparkzorder] object ZOrderFileScan {
  def of(scan: FileSourceScanExec): ZOrderFileScan = new ZOrderFileScan(
    scan.relation,
    scan.output,
    scan.requiredSchema,
    scan.partitionFilters,
    scan.optionalBucketSet,
    scan.optionalNumCoalescedBuckets,
    scan.dataFilters,
    scan.tableIdentifier,
    scan.disableBucketedScan)
}
