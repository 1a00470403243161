package io.sparkzorder.skipping.scan

import scala.util.Try

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.FileSourceScanExec

import io.sparkzorder.conf.Settings
import io.sparkzorder.util.NameList
import io.sparkzorder.workload.WorkloadCapture

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
      listed: Option[Long]): Unit =
    try {
      index.indexPruning.filter(p => isOn(p.properties)).foreach { pruning =>
        if (filters.forall(_.isEmpty)) {
          // the index tells nothing about such a scan, and need not be loaded
          pruning.tableRoot.foreach { root =>
            val bytes = scan.metrics.get(FilesSize).fold(0L)(_.value) * columnsShare(scan)
            WorkloadCapture.noteUnfiltered(root, pruning.hadoop, bytes)
          }
        } else {
          pruning.answersFor(filters).foreach { case (root, answers) =>
            WorkloadCapture.note(
              root,
              pruning.hadoop,
              answers,
              excluded(pruning.properties, scan),
              listed,
              columnsShare(scan))
          }
        }
      }
    } catch { case PruningFailure(e) => logDebug("a scan was not noted", e) }

  // Spark's metric of the bytes of the files that are left by the filters on partitions
  private val FilesSize = "filesSize"

  /**
   * The table's property before the setting of the session. A wrong property is off, as a query must
   * not fail by it.
   */
  def isOn(properties: Map[String, String]): Boolean = {
    val setting = Settings.WorkloadEnabled
    properties.get(setting.propertyKey) match {
      case Some(text) => Try(setting.parse(text, setting.propertyKey)).getOrElse(false)
      case None => Settings.ofSession(setting)
    }
  }

  private def excluded(
      properties: Map[String, String],
      scan: FileSourceScanExec): String => Boolean =
    properties.get(Settings.WorkloadExclude.propertyKey) match {
      case None => _ => false
      case Some(text) =>
        val sameName = scan.conf.resolver
        val names = NameList.split(text).map(_.stripPrefix("`").stripSuffix("`"))
        column => names.exists(sameName(_, column))
    }

  /** The share of the bytes of all columns that the columns of the scan have, by their types. */
  private def columnsShare(scan: FileSourceScanExec): Double = {
    def size(fields: Seq[org.apache.spark.sql.types.StructField]) =
      fields.map(_.dataType.defaultSize.toDouble).sum
    val all = size(scan.relation.dataSchema)
    if (all <= 0) 1.0 else math.min(1.0, math.max(1.0, size(scan.requiredSchema)) / all)
  }
}
