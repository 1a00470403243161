// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import scala.collection.mutable

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log._
import io.sparkzorder.util.Paths

/**
 * Folders that another program has moved. A listing shows the files of such a folder in the other place, or
 * is older than the move. In the second case the listing may have been made in the middle of the publish, or
 * of a conflict, when neither the replaced files nor the new ones were visible; then it shows the rows in no
 * place.
 *
 * First the files are noted that a reader has found nowhere, and then all are looked for at once, because
 * that lists every folder of the table. A file that is in none is remembered.
 */
private[snapshot] final class MovedFolders(
    state: StateDirectory,
    listing: FolderListing,
    present: PresentFiles) {

  /** @param isOfRun true for a file that the run made, which lies where the copy of the change lies */
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

  /** Notes a file that a lost run replaced. Where the run gave it back, nothing but the file tells it. */
  def missed(run: UnfinishedRun, change: FolderChange, replaced: Replaced): Unit = {
    missed(run, change)
    if (!run.known.isGone(change.folder, replaced.name)) {
      files += Missing(run.known, change, replaced.name, replaced.is, isOfRun = false)
    }
  }

  /** Notes a folder in which a file of a run is missing. */
  def missed(run: UnfinishedRun, change: FolderChange): Unit =
    if (!run.isDone) underWay((run, change.folder)) = change

  /**
   * True when a folder of a run under way was moved after it was found: then all is to be done again.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_LISTING_INCOMPLETE when a file is in a folder that
   *   the listing covers, and the listing lacks the file
   */
  def haveMoved: Boolean =
    // first what is hidden, because it may come back elsewhere meanwhile
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

  // a folder that is renamed while others are listed is found the second time
  private lazy val copies: Map[String, String] = {
    def seen = RunPlaces.copies(state, present.in)
    seen ++ seen
  }

  /** The files of the table that have the name of a replaced one, with their folders. */
  private lazy val byName: Map[String, Seq[(String, FileStatus)]] = {
    val names = files.filterNot(_.isOfRun).map(_.name).toSet
    val seen = for {
      (folder, there) <- state.walk()
      file <- there if file.isFile && names(file.getPath.getName)
    } yield Paths.relative(state.root, folder) -> file
    seen.groupBy(_._2.getPath.getName)
  }
}
