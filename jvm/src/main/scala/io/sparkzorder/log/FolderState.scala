// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

/** How far a committed run is in one folder: where its token lies. */
private[sparkzorder] sealed trait FolderState
private[sparkzorder] object FolderState {

  /** Nothing of the run is visible. */
  case object Committed extends FolderState

  /** The folder is being published. To a reader the new files count. */
  case object Publishing extends FolderState

  /** Every new file is visible. */
  case object Published extends FolderState

  /** The old files count: another program changed the folder, or the run is abandoned. */
  case object Conflict extends FolderState

  /**
   * There is no token. A program that spares hidden names has overwritten the folder, or the folder was
   * dropped: what the run has hidden does not come back.
   */
  case object Overwritten extends FolderState
}
