// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.log._

/**
 * A committed run that is not published, or that met a conflict, as a reader sees it: where its files
 * are, and whether another program has taken a folder over. What `Publisher` would find when it goes
 * on decides, by the same looks of [[RunFolder]].
 *
 * @param isDone true of a run that met a conflict and is ended: none of its files moves any more
 */
private[snapshot] final class UnfinishedRun(
    state: StateDirectory,
    val known: KnownRecord,
    val isDone: Boolean,
    present: PresentFiles) {
  private val record = known.record

  private def folder(change: FolderChange) = new RunFolder(state, record, change)

  /** What the run does, by the folders where its files are now. */
  lazy val changes: Seq[FolderChange] =
    if (isDone) known.changes else new RunPlaces(state, record, present.in).changes

  /** A new file that is not visible yet. */
  def onItsWay(change: FolderChange, added: Added): Option[FileStatus] = {
    val files = folder(change)
    present.in(files.own).get(added.staged).orElse(files.find(added))
  }

  /**
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_FOLDER_IN_DOUBT when the token is gone and
   *   replaced files are hidden: which files count is not known
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
    // ABANDON has made a token meanwhile
    else if (!isDone && files.folderState != FolderState.Overwritten) folderState(change)
    else FolderState.Overwritten

  private def underWay(files: RunFolder, change: FolderChange): FolderState = {
    // in the order in which files move; a listing may miss one that is renamed meanwhile
    val hidden = present.in(files.own)
    val here = present.in(files.folder)
    def isHidden(a: Added) = hidden.contains(a.staged)
    def isHere(a: Added) = here.contains(a.name)
    val isMissing = change.added.exists(a => !isHidden(a) && !isHere(a) && files.find(a).isEmpty)
    // once a new file is visible, the replaced ones were all hidden; so the publisher goes on without a new
    // file that another program has removed
    if (change.added.exists(a => isHere(a) && !isHidden(a))) FolderState.Publishing
    else if (isMissing) lookAgain(files, change)
    // the old name of a file that an undo brings back, used by another program meanwhile
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
   * The replaced files of a folder in which the run's files do not count, by name.
   *
   * @param hidden whether a file counts that is hidden
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

  /** New files of a done run that are in the folder: the run was published there, or another program moved the files. */
  def staying(change: FolderChange): Map[String, FileStatus] = {
    val here = present.in(folder(change).folder)
    change.added.flatMap(a =>
      here.get(a.name).filter(_.getLen == a.length).map(a.name -> _)).toMap
  }
}

/** Directories of a table as they are now, each listed once and only when it is asked for. */
private[snapshot] final class PresentFiles(state: StateDirectory) {
  private val listings = new ConcurrentHashMap[Path, Map[String, FileStatus]]

  /** True when a directory was listed, so that what is known is of several moments. */
  def used: Boolean = !listings.isEmpty

  /** Files of a directory by name, empty when it is not there. */
  def in(directory: Path): Map[String, FileStatus] =
    listings.computeIfAbsent(directory, state.byName(_))
}
