package io.sparkzorder.rewrite

import org.apache.hadoop.fs.{FileStatus, Path}

/** Where the publish of one folder stands. */
private[rewrite] sealed trait Progress
private[rewrite] object Progress {

  /** Nothing is left to do: the new files are in, or were discarded. */
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
 * same conditions, from listings instead of single looks. Whoever changes the steps of a publish
 * changes them here too, and nowhere else on the reader's side.
 */
private[rewrite] final class UnfinishedRun(
    state: StateDirectory,
    val known: KnownRecord,
    present: PresentFiles) {
  private val run = known.record.run

  /** The first look: what is staged. Publishing only takes away from it. */
  def lookAtStaged(changes: Seq[FolderChange]): Unit =
    changes.flatMap(_.added).foreach(waiting)

  /** A new file that is not at its final place yet. */
  def waiting(added: Added): Option[FileStatus] = present.at(place(added))

  private def place(added: Added): Path = state.staged(run, added)

  /** To be asked after [[lookAtStaged]]. */
  def progress(change: FolderChange): Progress = {
    val folder = Publisher.folder(state.root, change.folder)
    val files = present.in(folder)
    val left = change.added.filter(a => waiting(a).isDefined && !files.contains(a.name))
    if (left.isEmpty) Progress.Over
    else {
      val kept = present.in(state.retained(run))
      val begun = change.replaced.exists(r => kept.contains(r.retained))
      val someIn = change.added.exists(a => files.contains(a.name))
      def isThere(r: Replaced) = kept.contains(r.retained) || files.get(r.name).exists(s =>
        s.getLen == r.length && s.getModificationTime == r.modified)
      if (begun && !files.contains(Publisher.marker(run))) lookAgain(folder, left)
      // once a new file is in, the replaced ones were all out: what misses now was removed later
      else if (someIn || change.replaced.forall(isThere)) Progress.UnderWay
      else Progress.Conflict
    }
  }

  /**
   * The marker was not there when the folder was listed, but a replaced file was out when the retained
   * ones were. Who finishes a publish takes the marker away when nothing is left; anybody else, when
   * the folder is overwritten.
   */
  private def lookAgain(folder: Path, left: Seq[Added]): Progress = {
    def exists(path: Path) = PresentFiles.list(state, path.getParent).contains(path.getName)
    if (exists(Publisher.child(folder, Publisher.marker(run)))) Progress.Moved
    else if (left.exists(a => exists(place(a)))) Progress.Conflict
    else Progress.Moved
  }
}
