// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.execution.datasources.FileIndex
import org.apache.spark.sql.types.StructType

/** Another listing of the files of an index, which has everything else as the index has it. */
private[scan] trait DelegatingFileIndex extends FileIndex {
  def delegate: FileIndex

  override def rootPaths: Seq[Path] = delegate.rootPaths
  override def partitionSchema: StructType = delegate.partitionSchema
  override def inputFiles: Array[String] = delegate.inputFiles
  override def sizeInBytes: Long = delegate.sizeInBytes
  override def metadataOpsTimeNs: Option[Long] = delegate.metadataOpsTimeNs
  override def refresh(): Unit = delegate.refresh()
  override def toString: String = delegate.toString
}
