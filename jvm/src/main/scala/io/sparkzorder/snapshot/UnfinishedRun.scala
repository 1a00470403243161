package io.sparkzorder.log

import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.fs.{FileStatus, Path}

/** Where the publish of one folder stands, as a reader sees it. */
private[log] sealed trait Progress
private[log] object Progress {

  /** Every new file was visible. */
  case object Over extends Progress

  /** The new files count. */
  case object UnderWay extends Progress

  /** The run's files do not count: another program changed the folder, or the run is abandoned. */
  case object Conflict extends Progress

  /** Another program has overwritten the folder: what the run has hidden does not come back. */
  case object Overwritten extends Progress
}

/**
 * A committed run that is not published, or that met a conflict, as a reader sees it: where its files
 * are, and whether another program has taken a folder over. What `Publisher` would find when it goes
 * on decides, by the same looks of [[RunFolder]].
 *
 * @param isDone true of a run that met a conflict and is ended: none of its files moves any more
 */
private[log] final class UnfinishedRun(
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
  def progress(change: FolderChange): Progress = {
    val files = folder(change)
    files.stage match {
      case Stage.Gone => overwritten(files, change)
      case Stage.Finished => Progress.Over
      case Stage.Conflict => Progress.Conflict
      case _ => underWay(files, change)
    }
  }

  private def overwritten(files: RunFolder, change: FolderChange): Progress =
    if (!isDone && files.isInDoubt) throw files.doubt
    // ABANDON has made a token meanwhile
    else if (!isDone && files.stage != Stage.Gone) progress(change)
    else Progress.Overwritten

  private def underWay(files: RunFolder, change: FolderChange): Progress = {
    // in the order in which files move; a listing may miss one that is renamed meanwhile
    val hidden = present.in(files.own)
    val here = present.in(files.folder)
    def isHidden(a: Added) = hidden.contains(a.staged)
    def isHere(a: Added) = here.contains(a.name)
    val isMissing = change.added.exists(a => !isHidden(a) && !isHere(a) && files.find(a).isEmpty)
    // once a new file is visible, the replaced ones were all hidden; so the publisher goes on without a new
    // file that somebody has removed
    if (change.added.exists(a => isHere(a) && !isHidden(a))) Progress.UnderWay
    else if (isMissing) lookAgain(files, change)
    // the old name of a file that an undo brings back, used by another program meanwhile
    else if (files.takenName.isDefined) Progress.Conflict
    else if (change.replaced.forall(r =>
        hidden.get(r.retained).exists(r.is) || here.get(r.name).exists(r.is) ||
          files.find(r).exists(r.is))) Progress.UnderWay
    else Progress.Conflict
  }

  private def lookAgain(files: RunFolder, change: FolderChange): Progress = files.stage match {
    case Stage.Finished => Progress.Over
    case Stage.Gone => overwritten(files, change)
    case _ => Progress.Conflict
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

  /** New files of a done run that are in the folder: it was published there, or somebody moved them. */
  def staying(change: FolderChange): Map[String, FileStatus] = {
    val here = present.in(folder(change).folder)
    change.added.flatMap(a =>
      here.get(a.name).filter(_.getLen == a.length).map(a.name -> _)).toMap
  }
}

/** Directories of a table as they are now, each listed once and only when it is asked for. */
private[log] final class PresentFiles(state: StateDirectory) {
  private val listings = new ConcurrentHashMap[Path, Map[String, FileStatus]]

  /** True when a directory was listed, so that what is known is of several moments. */
  def used: Boolean = !listings.isEmpty

  /** Files of a directory by name, empty when it is not there. */
  def in(directory: Path): Map[String, FileStatus] =
    listings.computeIfAbsent(directory, state.byName(_))
}
