// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import io.sparkzorder.log.{FolderListing, StateDirectory, TableLog}

/**
 * Remembers for a listing that Spark holds that it shows a table as the table's records leave it.
 * The records do not change while their ids stay the same, and no record is added without an id. So
 * a query need not compare the files with the records once more.
 */
private[scan] object ExplainedListing {

  /** True if no run changes the listing. */
  def isKnown(held: HeldListing, state: StateDirectory): Boolean = {
    val log = TableLog.read(state)
    log.isEmpty || (log.isSettled && held.isExplained(state.root, log.ids))
  }

  /**
   * Remembers the listing if the records explain every file of it, without a look at the disk.
   *
   * @param listing all files that `held` has
   */
  def mark(held: HeldListing, state: StateDirectory, listing: => FolderListing): Unit = {
    val log = TableLog.read(state)
    if (log.explains(listing)) held.markExplained(state.root, log.ids)
  }
}
