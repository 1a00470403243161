package io.sparkzorder.log

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.util.{ManyFiles, Paths}

/**
 * Folders of ended runs that another program has moved. A listing shows the files of such a folder in
 * the other place, or is older than the move. In the second case the listing may have been made in the
 * middle of the publish, or of a conflict, when neither the replaced files nor the new ones were visible;
 * then it shows the rows in no place.
 */
private[log] final class MovedFolders(
    state: StateDirectory,
    listing: FolderListing,
    present: PresentFiles) {

  /**
   * Remembers that a new file of a published run is gone, if it is.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_LISTING_INCOMPLETE when the file is in a folder that
   *   the listing covers, and the listing lacks the file
   */
  def require(known: KnownRecord, change: FolderChange, added: Added): Unit = {
    def moved =
      new RunPlaces(state, known.record.copy(changes = Seq(change)), present.in)
        .changes.map(_.folder).find(_ != change.folder)
    require(known, change.folder, added.name, _.getLen == added.length)(moved)
  }

  /** The same for a file that a lost run gave back: nothing but the file itself tells where it is. */
  def require(run: UnfinishedRun, change: FolderChange, replaced: Replaced): Unit = {
    def moved = ManyFiles.map(state.tree())(f => f -> present.in(f).get(replaced.name))
      .collectFirst { case (f, Some(s)) if replaced.is(s) => Paths.relative(state.root, f) }
    // first whether what is hidden is elsewhere, because the file may come back there meanwhile
    look(run, change)
    if (!haveMoved) require(run.known, change.folder, replaced.name, replaced.is)(moved)
  }

  private def require(
      known: KnownRecord,
      folder: String,
      name: String,
      is: FileStatus => Boolean)(search: => Option[String]): Unit =
    if (!known.isGone(folder, name)) {
      def isListed(to: String) = listing.files(path(to)).forall(_.contains(name))
      def isThere(to: String) = isListed(to) || present.in(path(to)).get(name).exists(is)
      val place = known.movedTo(folder).filter(isThere).orElse(search.filter(isThere))
      place match {
        case None => known.markGone(folder, name)
        case Some(to) =>
          known.markMoved(folder, to)
          if (!isListed(to)) {
            throw ZOrderErrors.listingIncomplete(
              path(to).toString,
              s"that directory was ${path(folder)} then")
          }
      }
    }

  private var isOld = false

  /** True when a folder of a run under way was moved after it was found: then all is to be done again. */
  def haveMoved: Boolean = isOld

  /** Looks for a folder of a run under way again, because a file was not found there. */
  def look(run: UnfinishedRun, change: FolderChange): Unit =
    if (!isOld && !run.isDone && !new RunFolder(state, run.known.record, change).isThere) {
      val now = new RunPlaces(state, run.known.record, new PresentFiles(state).in)
      isOld = now.changes.map(_.folder) != run.changes.map(_.folder)
    }

  private def path(folder: String): Path = state.folder(folder)
}
