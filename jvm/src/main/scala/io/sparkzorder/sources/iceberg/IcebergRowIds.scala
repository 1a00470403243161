// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import org.apache.iceberg.{BaseTable, Snapshot, TableMetadata, TableOperations}
import org.apache.iceberg.encryption.EncryptionManager
import org.apache.iceberg.exceptions.ValidationException
import org.apache.iceberg.io.{FileIO, LocationProvider}

/**
 * The row ids of tables that were upgraded to format version 3. The upgrade gives no ids to the rows that the table
 * has. The next commit gives ids to all rows, also to those of files that this commit does not touch. An earlier batch
 * of the same statement or another writer may make that commit after OPTIMIZE has listed the files. From then on other
 * readers see the ids, and a rewrite must keep them. But a file as it was listed before is read without ids.
 */
private[iceberg] object IcebergRowIds {

  /**
   * True if rows of the files have ids in the snapshot, but not in the files as they were listed.
   *
   * @param current null if the table has no snapshot
   */
  def areNew(files: Seq[IcebergFile], current: Snapshot): Boolean =
    current != null && current.firstRowId != null && files.exists(_.file.firstRowId == null)

  /** The table, for a commit that replaces the files. The commit fails if ids are new. */
  def guarded(table: BaseTable, files: Seq[IcebergFile]): BaseTable =
    new BaseTable(new GuardedOperations(table.operations, files), table.name, table.reporter)
}

/**
 * Commits to a table only if no row of the files got an id since the files were listed. The check is here because
 * Iceberg calls `commit` with the very state that the commit follows, also when Iceberg repeats a commit.
 */
private final class GuardedOperations(table: TableOperations, files: Seq[IcebergFile])
    extends TableOperations {

  override def commit(base: TableMetadata, metadata: TableMetadata): Unit = {
    if (IcebergRowIds.areNew(files, base.currentSnapshot)) {
      throw new ValidationException(
        "the table became one of format version 3, and its rows got ids, which this run has not read")
    }
    table.commit(base, metadata)
  }

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
