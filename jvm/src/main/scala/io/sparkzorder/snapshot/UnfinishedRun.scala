// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.log._

/**
 * A reader's view of a committed run that is not published, or that met a conflict: where the files of the
 * run are, and whether another program has overwritten a folder. The reader uses the checks of
 * [[RunFolder]], so it decides as `Publisher` would decide if it continued the run now.
 *
 * @param isDone true for a run that met a conflict and is ended: none of its files moves any more
 */
private[snapshot] final class UnfinishedRun(
    state: StateDirectory,
    val known: KnownRecord,
    val isDone: Boolean,
    present: PresentFiles) {
  private val record = known.record

  private def folder(change: FolderChange) = new RunFolder(state, record, change)

  /** The changes of the run, with the present paths of the folders. */
  lazy val changes: Seq[FolderChange] =
    if (isDone) known.changes else new RunPlaces(state, record, present.in).changes

  /** The present place of a new file, most often in the hidden directory of the run. */
  def onItsWay(change: FolderChange, added: Added): Option[FileStatus] = {
    val files = folder(change)
    present.in(files.own).get(added.staged).orElse(files.find(added))
  }

  /**
   * How far the run is in a folder.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_FOLDER_IN_DOUBT when the token is gone and
   *   replaced files are hidden: then it is not known which files the folder holds
   */
  def folderState(change: FolderChange): FolderState = {
    val files = folder(change)
    files.folderState match {
      case FolderState.Overwritten => overwritten(files, change)
      case FolderState.Committed | FolderState.Publishing => underWay(files, change)
      case ended => ended
    }
  }

  private def overwritten(files: RunFolder, change: FolderChange): FolderState =
    if (!isDone && files.isInDoubt) throw files.doubt
    // RECOVER LAYOUT .. ABANDON may have written a token meanwhile, so look once more
    else if (!isDone && files.folderState != FolderState.Overwritten) folderState(change)
    else FolderState.Overwritten

  private def underWay(files: RunFolder, change: FolderChange): FolderState = {
    // The directories are listed in the order in which files move. Even so, a listing may miss a file that
    // is renamed meanwhile, and then `find` looks for the single file.
    val hidden = present.in(files.own)
    val here = present.in(files.folder)
    def isHidden(a: Added) = hidden.contains(a.staged)
    def isHere(a: Added) = here.contains(a.name)
    val isMissing = change.added.exists(a => !isHidden(a) && !isHere(a) && files.find(a).isEmpty)
    // A new file becomes visible only after all replaced files are hidden. From then on, the publisher
    // continues even if another program has removed a new file.
    if (change.added.exists(a => isHere(a) && !isHidden(a))) FolderState.Publishing
    else if (isMissing) lookAgain(files, change)
    // an undo cannot bring back a file whose name another program has taken
    else if (files.takenName.isDefined) FolderState.Conflict
    else if (change.replaced.forall(r =>
        hidden.get(r.retained).exists(r.is) || here.get(r.name).exists(r.is) ||
          files.find(r).exists(r.is))) FolderState.Publishing
    else FolderState.Conflict
  }

  private def lookAgain(files: RunFolder, change: FolderChange): FolderState =
    files.folderState match {
      case FolderState.Published => FolderState.Published
      case FolderState.Overwritten => overwritten(files, change)
      case _ => FolderState.Conflict
    }

  /**
   * By name, the replaced files of a folder that has a conflict or was overwritten. There the run does not
   * hold, so its replaced files are files of the table again.
   *
   * @param hidden whether a replaced file is read even where it is still hidden
   */
  def comingBack(
      change: FolderChange,
      hidden: Replaced => Boolean): Map[String, FileStatus] = {
    val files = folder(change)
    val here = present.in(files.folder)
    change.replaced.flatMap { r =>
      val seen = here.get(r.name).filter(r.is)
      seen.orElse(if (hidden(r)) files.find(r) else files.visible(r)).map(r.name -> _)
    }.toMap
  }

  /**
   * By name, the new files of a done run that are visible in the folder: the run was published there, or
   * another program has moved the files.
   */
  def staying(change: FolderChange): Map[String, FileStatus] = {
    val here = present.in(folder(change).folder)
    change.added.flatMap(a =>
      here.get(a.name).filter(_.getLen == a.length).map(a.name -> _)).toMap
  }
}

/**
 * Present listings of the directories of a table. Each directory is listed once, when it is first asked
 * for.
 */
private[snapshot] final class PresentFiles(state: StateDirectory) {
  private val listings = new ConcurrentHashMap[Path, Map[String, FileStatus]]

  /** True when a directory was listed. Then the reader combines listings of several moments. */
  def used: Boolean = !listings.isEmpty

  /** Files of a directory by name, empty when it is not there. */
  def in(directory: Path): Map[String, FileStatus] =
    listings.computeIfAbsent(directory, state.byName(_))
}
