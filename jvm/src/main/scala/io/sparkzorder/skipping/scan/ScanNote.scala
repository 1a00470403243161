// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

import io.sparkzorder.workload.{NotedFilters, RecordSettings, WorkloadCapture}

/** Hands a scan that is about to run to the record of the workload, if the record is wanted. */
private[skipping] object ScanNote extends Logging {

  /**
   * @param index the files of the scan
   * @param filters groups of data filters; the index was asked about each group when the files were
   *   chosen
   * @param listed number of files before skipping, if it is known
   */
  private[scan] def of(
      scan: FileSourceScanExec,
      index: ZOrderFileIndex,
      filters: Seq[Seq[Expression]],
      listed: Option[Long]): Unit = of(
    index,
    scan.requiredSchema,
    scan.metrics.get(FilesSize).fold(0L)(_.value),
    filters,
    listed)

  /**
   * @param read the columns that the scan reads
   * @param bytes of the files before skipping
   */
  private[scan] def of(
      index: ZOrderFileIndex,
      read: StructType,
      bytes: => Long,
      filters: Seq[Seq[Expression]],
      listed: Option[Long]): Unit =
    try {
      index.indexPruning.filter(p => RecordSettings.isOn(p.properties)).foreach { pruning =>
        val share = RecordSettings.columnsShare(read, index.dataSchema)
        if (filters.forall(_.isEmpty)) {
          // the index tells nothing about such a scan, and need not be loaded
          pruning.tableRoot.foreach { root =>
            WorkloadCapture.noteUnfiltered(root, pruning.hadoop, bytes * share)
          }
        } else {
          pruning.answersFor(filters).foreach { case (root, answers) =>
            WorkloadCapture.note(
              root,
              pruning.hadoop,
              NotedFilters.of(answers),
              RecordSettings.excluded(pruning.properties, SQLConf.get.resolver),
              listed,
              share)
          }
        }
      }
    } catch { case PruningFailure(e) => logDebug("a scan was not noted", e) }

  // Spark's metric of the bytes of the files that are left by the filters on partitions
  private val FilesSize = "filesSize"
}
