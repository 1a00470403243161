// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.iceberg

import org.apache.iceberg.Snapshot

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
}
