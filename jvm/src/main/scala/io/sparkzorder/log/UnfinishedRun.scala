package io.sparkzorder.log

import java.io.FileNotFoundException

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}

/** Where the publish of one folder stands. */
private[sparkzorder] sealed trait Progress
private[sparkzorder] object Progress {

  /** Nothing is left to do: every new file is visible. */
  case object Over extends Progress

  /** The new files count. */
  case object UnderWay extends Progress

  /** Somebody else changed the folder since the commit: the run's files do not count. */
  case object Conflict extends Progress

  /** It went on between two looks at it. */
  case object Moved extends Progress
}

/**
 * A committed run that is not marked done, as a reader sees it: where its new files are, and whether
 * somebody else has taken a folder over. What [[Publisher]] would find when it goes on decides: the
 * same conditions as in [[FolderFiles]], from listings instead of single looks. Whoever changes the
 * steps of a publish changes them here too, and nowhere else on the reader's side.
 */
private[sparkzorder] final class UnfinishedRun(
    state: StateDirectory,
    val known: KnownRecord,
    present: PresentFiles) {
  private val record = known.record

  /** The first look: what is staged. Publishing only takes away from it. */
  def lookAtStaged(changes: Seq[FolderChange]): Unit =
    changes.flatMap(_.added).foreach(staged)

  /** A new file that is not at its final place yet. */
  def onItsWay(change: FolderChange, added: Added): Option[FileStatus] =
    waiting(change, added).orElse(staged(added))

  private def staged(added: Added): Option[FileStatus] =
    present.at(state.staged(record.run, added))

  private def waiting(change: FolderChange, added: Added): Option[FileStatus] =
    inFolder(change).get(FolderFiles.waitingName(record, added))

  private def inFolder(change: FolderChange): Map[String, FileStatus] =
    present.in(state.folder(change.folder))

  /** To be asked after [[lookAtStaged]]. */
  def progress(change: FolderChange): Progress = {
    val files = inFolder(change)
    val (visible, hidden) = change.added.partition { a =>
      files.contains(a.name) && onItsWay(change, a).isEmpty
    }
    val missing = hidden.filter(a => !files.contains(a.name) && onItsWay(change, a).isEmpty)
    if (hidden.isEmpty) Progress.Over
    else if (missing.nonEmpty) lookAgain(change, missing)
    // once a new file is visible, the replaced ones were all out: what misses now was removed later
    else if (visible.nonEmpty) Progress.UnderWay
    // the old name of a file that an undo brings back, used by somebody else meanwhile
    else if (hidden.exists(a => files.contains(a.name))) Progress.Conflict
    else if (change.replaced.forall(isKept(change, _))) Progress.UnderWay
    else Progress.Conflict
  }

  /** What a folder with a conflict gets back, by name; see [[FolderFiles.comingBack]]. */
  def comingBack(change: FolderChange): Map[String, FileStatus] =
    new FolderFiles(state, record, change).comingBack

  private def isKept(change: FolderChange, r: Replaced): Boolean =
    present.in(state.retained(record.run)).contains(r.retained) ||
      inFolder(change).get(r.name).exists(s =>
        s.getLen == r.length && s.getModificationTime == r.modified)

  /** A listing can miss a file that is renamed within the directory meanwhile; a look at it cannot. */
  private def lookAgain(change: FolderChange, missing: Seq[Added]): Progress = {
    val files = new FolderFiles(state, record, change)
    if (missing.forall(files.find(_).isDefined)) Progress.Moved else Progress.Conflict
  }
}

/**
 * Directories of a table as they are now, each listed once and only when it is asked for.
 *
 * Publishing moves files from the staging directory to their folder, and from there to the retained
 * ones. Who lists in that order meets every file at least once, since no move goes back.
 */
private[sparkzorder] final class PresentFiles(state: StateDirectory) {
  private val listings = mutable.Map.empty[Path, Map[String, FileStatus]]

  /** True when a directory was listed, so that what is known is of several moments. */
  def used: Boolean = listings.nonEmpty

  def in(directory: Path): Map[String, FileStatus] =
    listings.getOrElseUpdate(directory, PresentFiles.list(state, directory))

  def at(path: Path): Option[FileStatus] = in(path.getParent).get(path.getName)
}

private[sparkzorder] object PresentFiles {

  /** Files of a directory by name, empty when it is not there. */
  def list(state: StateDirectory, directory: Path): Map[String, FileStatus] =
    try state.fs.listStatus(directory).filter(_.isFile).map(s => s.getPath.getName -> s).toMap
    catch { case _: FileNotFoundException => Map.empty }
}
