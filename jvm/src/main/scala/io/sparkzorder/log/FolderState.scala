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
   * There is no token. As a rule the folder was dropped, or overwritten by a program that leaves hidden names
   * alone. If replaced files of the run are still hidden there, the folder is in doubt: see `RunFolder.isInDoubt`.
   */
  case object Overwritten extends FolderState
}
