// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import scala.annotation.nowarn
import scala.collection.JavaConverters._

import org.apache.iceberg.{BaseTable, Snapshot, SnapshotSummary, TableMetadata, TableOperations}
import org.apache.iceberg.encryption.EncryptionManager
import org.apache.iceberg.exceptions.ValidationException
import org.apache.iceberg.io.{FileIO, LocationProvider}

/** Checks of the commit that replaces files, which Iceberg itself does not make. */
private[iceberg] object GuardedCommit {

  /** The table, for a commit that replaces the files. The commit fails if it would change rows or ids of rows. */
  def of(table: BaseTable, files: Seq[IcebergFile]): BaseTable =
    new BaseTable(new GuardedOperations(table.operations, files), table.name, table.reporter)
}

/** The failure of a commit that would remove several entries of one data file. */
private[iceberg] final class ListedTwiceException(val path: String)
    extends ValidationException("the data file %s is listed more than once", path)

/**
 * Commits to a table only if no row of the files got an id since the files were listed, and if the new snapshot removes
 * the files and nothing else. The checks are in `commit`, because Iceberg passes to it the state of the table on which
 * the new state is built. This is also true when Iceberg repeats a commit after a conflict.
 */
private final class GuardedOperations(table: TableOperations, files: Seq[IcebergFile])
    extends TableOperations {

  override def commit(base: TableMetadata, metadata: TableMetadata): Unit = {
    if (IcebergRowIds.areNew(files, base.currentSnapshot)) {
      throw new ValidationException(
        "the table became one of format version 3, and its rows got ids, which this run has not read")
    }
    checkRemoved(metadata.currentSnapshot)
    table.commit(base, metadata)
  }

  /**
   * Iceberg removes each entry whose path is that of an input. Another entry of such a file may be one that WHERE did
   * not choose, or one that came after the files were listed. Its rows were not written, so they would be lost.
   */
  private def checkRemoved(made: Snapshot): Unit = {
    def counted(key: String) = Option(made.summary.get(key)).fold(0L)(_.toLong)
    val removed = counted(SnapshotSummary.DELETED_FILES_PROP) +
      counted(SnapshotSummary.DELETED_DUPLICATE_FILES)
    // the second number counts entries of delete files, too, so the entries of data files are read where it matters
    if (removed != files.size) {
      val entries = entriesRemovedBy(made)
      entries.groupBy(identity).find(_._2.size > 1)
        .foreach { case (path, _) => throw new ListedTwiceException(path) }
      if (entries.size != files.size) {
        throw new ValidationException(
          "the commit would remove %s entries of data files instead of %s",
          entries.size.toString,
          files.size.toString)
      }
    }
  }

  // Iceberg 1.10 does not have the method that is to be used instead of `removedDataFiles`
  @nowarn("cat=deprecation")
  private def entriesRemovedBy(made: Snapshot): Seq[String] =
    made.removedDataFiles(table.io).asScala.map(_.location).toSeq

  override def current(): TableMetadata = table.current()
  override def refresh(): TableMetadata = table.refresh()
  override def io(): FileIO = table.io()
  override def encryption(): EncryptionManager = table.encryption()
  override def metadataFileLocation(name: String): String = table.metadataFileLocation(name)
  override def locationProvider(): LocationProvider = table.locationProvider()
  override def temp(uncommitted: TableMetadata): TableOperations = table.temp(uncommitted)
  override def newSnapshotId(): Long = table.newSnapshotId()
  override def requireStrictCleanup(): Boolean = table.requireStrictCleanup()
}
