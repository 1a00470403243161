// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import scala.collection.mutable

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log._
import io.sparkzorder.util.Paths

/**
 * Finds folders that another program has moved since a run was committed. Either the listing shows the
 * files of such a folder under the new path, or the listing is older than the move. An old listing may have
 * been made in the middle of a publish or of a conflict, when neither the replaced files nor the new files
 * were visible. Such a listing lacks rows, so the read must fail.
 *
 * The reader first notes each file that it has found nowhere. Then one search looks for all noted files,
 * because a search lists every folder of the table. A file that the search does not find is remembered, so
 * that later reads do not search for it again.
 */
private[snapshot] final class MovedFolders(
    state: StateDirectory,
    listing: FolderListing,
    present: PresentFiles) {

  /**
   * @param isOfRun true for a file that the run wrote: it lies in the folder that has the copy of the
   *   change. False for a file that the run replaced: only its name, length and time identify it
   */
  private case class Missing(
      known: KnownRecord,
      change: FolderChange,
      name: String,
      is: FileStatus => Boolean,
      isOfRun: Boolean)

  private val files = mutable.ArrayBuffer.empty[Missing]
  private val underWay = mutable.HashMap.empty[(UnfinishedRun, String), FolderChange]

  /** Notes a new file of a published run. */
  def missed(known: KnownRecord, change: FolderChange, added: Added): Unit =
    files += Missing(known, change, added.name, _.getLen == added.length, isOfRun = true)

  /**
   * Notes a replaced file of a folder that has a conflict or was overwritten. If the run has given the file
   * back, no copy of the change may lead to the file any more, so the search is by the name of the file.
   */
  def missed(run: UnfinishedRun, change: FolderChange, replaced: Replaced): Unit = {
    missed(run, change)
    if (!run.known.isGone(change.folder, replaced.name)) {
      files += Missing(run.known, change, replaced.name, replaced.is, isOfRun = false)
    }
  }

  /** Notes a folder in which a file of a run is missing, unless the run is done. */
  def missed(run: UnfinishedRun, change: FolderChange): Unit =
    if (!run.isDone) underWay((run, change.folder)) = change

  /**
   * Searches for the noted files. True when a folder of an unfinished run was moved after the reader had
   * found it: then the reader must start again.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_LISTING_INCOMPLETE when the listing covers the
   *   folder in which a noted file lies now, and lacks the file
   */
  def haveMoved: Boolean =
    // Unfinished runs come first. Meanwhile a hidden file may become visible in the moved folder, and the
    // search for files, which comes later, finds it there.
    underWay.groupBy(_._1._1).exists { case (run, changes) =>
      isElsewhere(run, changes.values)
    } || {
      files.foreach(find)
      false
    }

  private def isElsewhere(run: UnfinishedRun, changes: Iterable[FolderChange]): Boolean =
    changes.exists(c => !new RunFolder(state, run.known.record, c).isThere) && {
      val now = new RunPlaces(state, run.known.record, new PresentFiles(state).in)
      now.changes.map(_.folder) != run.changes.map(_.folder)
    }

  private def find(m: Missing): Unit = {
    val (known, folder) = (m.known, m.change.folder)
    def isListed(to: String) = listing.files(state.folder(to)).forall(_.contains(m.name))
    def isThere(to: String) =
      isListed(to) || present.in(state.folder(to)).get(m.name).exists(m.is)
    def found = if (m.isOfRun) ofCopy(m)
    else byName.getOrElse(m.name, Nil).collectFirst {
      case (to, s) if m.is(s) => to
    }
    known.movedTo(folder).filter(isThere).orElse(found.filter(isThere)) match {
      case None => known.markGone(folder, m.name)
      case Some(to) =>
        known.markMoved(folder, to)
        if (!isListed(to)) {
          throw ZOrderErrors.listingIncomplete(
            state.folder(to).toString,
            s"that directory was ${state.folder(folder)} then")
        }
    }
  }

  private def ofCopy(m: Missing): Option[String] =
    copies.get(ChangeCopy.name(m.known.record.run, m.change.folder)).filter(_ != m.change.folder)

  // two searches, because one may miss a folder that is renamed while other folders are listed
  private lazy val copies: Map[String, String] = {
    def seen = RunPlaces.copies(state, present.in)
    seen ++ seen
  }

  /** By name, all files of the table that have the name of a noted replaced file, with their folders. */
  private lazy val byName: Map[String, Seq[(String, FileStatus)]] = {
    val names = files.filterNot(_.isOfRun).map(_.name).toSet
    val seen = for {
      (folder, there) <- state.walk()
      file <- there if file.isFile && names(file.getPath.getName)
    } yield Paths.relative(state.root, folder) -> file
    seen.groupBy(_._2.getPath.getName)
  }
}
