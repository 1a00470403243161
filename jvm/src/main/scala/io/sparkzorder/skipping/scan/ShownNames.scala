// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  FileSourceMetadataAttribute,
  InputFileName
}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, ReturnAnswer}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.types.StructType

import io.sparkzorder.conf.Settings

/**
 * Finds the scans of a query whose file names the query sees: by the columns `_metadata.file_path` and
 * `_metadata.file_name`, or by `input_file_name()`. A file of a run that is not published yet, and a file of a shadow,
 * have hidden names, such as `_zorder_<run>/_new_0_0`. A filter on names (`LIKE '%/part-%'`) and a join with a list
 * of names would lose the rows of such a file.
 */
private[scan] object ShownNames {
  private val Tag = TreeNodeTag[Unit]("zorder_shown_names")
  private val Names = Set(FileFormat.FILE_PATH, FileFormat.FILE_NAME)

  /**
   * Marks the scans below each call of `input_file_name()`. A scan has no trace of such a call above it, and a strategy
   * sees the whole plan only at its root.
   */
  def mark(root: LogicalPlan): Unit = root.foreach { node =>
    if (node.expressions.exists(_.exists(_.isInstanceOf[InputFileName]))) {
      node.collectLeaves().foreach(_.setTagValue(Tag, ()))
    }
  }

  /** True if the query sees the names of the files that this scan reads. Spark prunes `_metadata` to its used fields. */
  def of(scan: LogicalPlan): Boolean =
    scan.getTagValue(Tag).isDefined || scan.output.exists(isName)

  private def isName(a: Attribute): Boolean = a match {
    case FileSourceMetadataAttribute(m) => m.dataType match {
        case fields: StructType => fields.fieldNames.exists(Names)
        case _ => false
      }
    case _ => false
  }
}

/**
 * Plans nothing, and marks scans for [[ShownNames]]. [[ScanStrategy]] does so, too, but does not see the root of the
 * first plan of a session.
 */
private[sparkzorder] object MarkShownNames extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    plan match {
      case ReturnAnswer(root) if Settings.ofSession(Settings.Enabled) => ShownNames.mark(root)
      case _ =>
    }
    Nil
  }
}
