package io.sparkzorder.skipping.scan

import io.sparkzorder.log.{CommitLogReader, StateDirectory}
import io.sparkzorder.log.snapshot.FolderListing

/**
 * Remembers for a listing that Spark holds that it shows a table as the table's records leave it.
 * The records do not change while their ids stay the same, and no record is added without an id. So
 * a query need not compare the files with the records once more.
 */
private[scan] object ExplainedListing {

  /** True if no run changes the listing. */
  def isKnown(held: HeldListing, state: StateDirectory): Boolean = {
    val log = new CommitLogReader(state).read()
    log.pending.isEmpty &&
    (log.history.folders.isEmpty || held.isExplained(state.root, log.ids))
  }

  /**
   * Remembers the listing if the records explain every file of it, without a look at the disk.
   *
   * @param listing all files that `held` has
   */
  def mark(held: HeldListing, state: StateDirectory, listing: => FolderListing): Unit = {
    val log = new CommitLogReader(state).read()
    if (log.pending.isEmpty) {
      val files = listing
      val explains = log.history.folders.values.forall { folder =>
        files.files(folder.path).forall(folder.explains)
      }
      if (explains) held.markExplained(state.root, log.ids)
    }
  }
}
