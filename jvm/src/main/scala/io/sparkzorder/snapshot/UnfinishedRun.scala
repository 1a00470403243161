// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log._
import io.sparkzorder.table.TokenFile
import io.sparkzorder.util.Paths

/**
 * A reader's view of a committed run that is not published, or that met a conflict: where the files of the run are,
 * and whether another program has overwritten a folder. The reader uses the checks of [[RunFolder]]. So it comes to
 * the result to which `Publisher` would come if it went on with the run now.
 *
 * @param isDone true if no file of the run moves any more: the run has ended, after a conflict. False for a run that
 *   goes on, and for the run of a folder from an old copy, in which the run has not ended
 *   ([[UnfinishedRun.settledSteps]])
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
    if (isDone) known.changes else new RunPlaces(state, record, present.in, isReader = true).changes

  /** The present status of a new file, as a rule in the hidden directory of the run. */
  def onItsWay(change: FolderChange, added: Added): Option[FileStatus] = {
    val files = folder(change)
    present.in(files.own).get(added.staged).orElse(files.find(added))
  }

  /**
   * How far the run is in a folder.
   *
   * After a conflict in one folder, readers need the record of the run for ever, also in the thousands of folders in
   * which the run was published. There the run is like any published run: nobody moves its token any more, and readers
   * look at the token only once. Readers look again in two kinds of folders. In a folder with a conflict, because
   * somebody may move the folder away and back. In a folder whose listing shows the token, because a backup may have
   * restored a state from the middle of the publish.
   *
   * @param isListed true for the name of a listed file
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_FOLDER_IN_DOUBT when the token is gone and
   *   replaced files are hidden: then it is not known which files the folder holds
   */
  def folderState(change: FolderChange, isListed: String => Boolean): FolderState = {
    def hasToken = isListed(RunFolder.tokenName(record.run, record.suffix))
    if (isDone && known.isPublishedIn(change.folder) && !hasToken) FolderState.Published
    else stateNow(change)
  }

  private def stateNow(change: FolderChange): FolderState = {
    val files = folder(change)
    files.folderState match {
      case FolderState.Overwritten => overwritten(files, change)
      case FolderState.Committed | FolderState.Publishing => underWay(files, change)
      case FolderState.Published if isDone =>
        known.markPublished(change.folder)
        FolderState.Published
      case ended => ended
    }
  }

  private def overwritten(files: RunFolder, change: FolderChange): FolderState =
    if (!isDone && files.isInDoubt) throw files.doubt
    // RECOVER LAYOUT .. ABANDON may have written a token meanwhile, so look once more
    else if (!isDone && files.folderState != FolderState.Overwritten) stateNow(change)
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
    else if (files.occupiedName.isDefined) FolderState.Conflict
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
   * The replaced files, by name, of a folder that has a conflict or was overwritten. The run is not in force there,
   * so its replaced files are files of the table again.
   *
   * @param hidden true for a replaced file that is read even if it is still hidden
   */
  def comingBack(
      change: FolderChange,
      hidden: Replaced => Boolean): Map[String, FileStatus] = {
    val files = folder(change)
    val here = present.in(files.folder)
    change.replaced.flatMap { r =>
      val seen = here.get(r.name).filter(r.is)
      // no file of a run that is done moves any more, so the listing of now is right
      def elsewhere = if (isDone) None else files.visible(r)
      seen.orElse(if (hidden(r)) files.find(r) else elsewhere).map(r.name -> _)
    }.toMap
  }

  /**
   * The new files, by name, of a done run that are visible in the folder: the run was published there, or another
   * program has moved the files there.
   */
  def staying(change: FolderChange): Map[String, FileStatus] = {
    val here = present.in(folder(change).folder)
    change.added.flatMap(a =>
      here.get(a.name).filter(_.getLen == a.length).map(a.name -> _)).toMap
  }
}

private[snapshot] object UnfinishedRun {

  /**
   * The changes of the done runs of a folder, and the runs that are only half published there. The folder then comes
   * from a copy that was made during the publish, and the records come from a later time. The token shows this. The
   * change of such a run is under way: its new files are read wherever they are. As a rule a listed token does not mean
   * this: the listing was made during the publish, and the token is gone by now.
   *
   * Without the hidden directory of the run, no new file is hidden. Then the run counts as published, because a missing
   * file of a published run is searched for once, and one of a run under way at every query.
   */
  def settledSteps(
      state: StateDirectory,
      history: FolderHistory,
      listed: Map[String, FileStatus],
      present: PresentFiles): (IndexedSeq[Step], Map[KnownRecord, UnfinishedRun]) = {
    val tokens = listed.keySet.filter(TokenFile.isOne)
    if (tokens.isEmpty) (history.steps, Map.empty)
    else {
      val runs = tokens.filter(present.in(history.path).contains).map(TokenFile.runOf)
      val half = history.steps.filter { s =>
        val run = s.known.record.run
        runs(run) && present.in(state.own(s.change.folder, run)).nonEmpty
      }.map(s => s.known -> new UnfinishedRun(state, s.known, isDone = false, present)).toMap
      (history.steps.map(s => s.copy(underWay = half.contains(s.known))), half)
    }
  }
}

/**
 * Listings of directories of a table, for one use. Each directory is listed once, when it is first asked for.
 */
private[snapshot] final class PresentFiles(state: StateDirectory) {
  private val listings = new ConcurrentHashMap[Path, Map[String, FileStatus]]

  /**
   * True when a directory was listed. Then the reader has combined listings of different times, and must check that
   * the records are still the same.
   */
  def used: Boolean = !listings.isEmpty

  /** The files of a directory by name; empty when the directory does not exist. */
  def in(directory: Path): Map[String, FileStatus] =
    listings.computeIfAbsent(directory, state.byName(_))
}

/**
 * Finds folders that another program has moved since a run was committed. If the listing is younger than the move,
 * it shows the files of the folder under the new path. A listing from before the move may have been made in the
 * middle of a publish or of a conflict, when neither the replaced files nor the new files were visible. Such a
 * listing lacks rows, so the read must fail.
 *
 * A search lists every folder of the table. So the reader first adds each file that it has not found, and then one
 * search looks for all of them. A file that the search does not find is remembered, so that later reads do not search
 * for it again.
 */
private[snapshot] final class MovedFolders(
    state: StateDirectory,
    listing: FolderListing,
    present: PresentFiles) {

  /**
   * @param isOfRun true for a file that the run added: it lies in the folder that has the copy of the change. False
   *   for a file that the run replaced: only its name, length and time identify it
   */
  private case class Missing(
      known: KnownRecord,
      change: FolderChange,
      name: String,
      is: FileStatus => Boolean,
      isOfRun: Boolean)

  private val files = mutable.ArrayBuffer.empty[Missing]
  // true when a search has left out a directory that this user may not list
  @volatile private var isPartial = false
  private val underWay = mutable.HashMap.empty[(UnfinishedRun, String), FolderChange]

  /** Adds a missing new file of a published run. */
  def add(known: KnownRecord, change: FolderChange, added: Added): Unit =
    files += Missing(known, change, added.name, _.getLen == added.length, isOfRun = true)

  /**
   * Adds a missing replaced file of a folder that has a conflict or was overwritten. The search is by the name of the
   * file: if the run has given the file back, there may be no copy of the change any more.
   */
  def add(run: UnfinishedRun, change: FolderChange, replaced: Replaced): Unit = {
    add(run, change)
    if (!run.known.isGone(change.folder, replaced.name)) {
      files += Missing(run.known, change, replaced.name, replaced.is, isOfRun = false)
    }
  }

  /** Adds a folder in which a file of a run is missing, unless the run is done. */
  def add(run: UnfinishedRun, change: FolderChange): Unit =
    if (!run.isDone) underWay((run, change.folder)) = change

  /**
   * Searches for the missing files. True when a folder of an unfinished run was moved after the reader had
   * found it. Then the reader must start again.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_LISTING_INCOMPLETE when a missing file lies in another
   *   folder now, which the listing covers, and the listing lacks the file there, too
   */
  def search(): Boolean =
    // Unfinished runs come first. A hidden file may become visible in the moved folder meanwhile, and then the later
    // search for files finds it there.
    underWay.groupBy(_._1._1).exists { case (run, changes) =>
      isElsewhere(run, changes.values)
    } || {
      files.foreach(find)
      false
    }

  private def isElsewhere(run: UnfinishedRun, changes: Iterable[FolderChange]): Boolean =
    changes.exists(c => !new RunFolder(state, run.known.record, c).isThere) && {
      val now = new RunPlaces(state, run.known.record, new PresentFiles(state).in, isReader = true)
      now.changes.map(_.folder) != run.changes.map(_.folder)
    }

  private def find(m: Missing): Unit = {
    val (known, folder) = (m.known, m.change.folder)
    def isListed(to: String) = listing.files(state.folder(to)).forall(_.contains(m.name))
    def isThere(to: String) =
      isListed(to) || present.in(state.folder(to)).get(m.name).exists(m.is)
    def found =
      if (m.isOfRun) ofCopy(m)
      else byName.getOrElse(m.name, Nil).collectFirst { case (to, s) if m.is(s) => to }
    known.movedTo(folder).filter(isThere).orElse(found.filter(isThere)) match {
      case None => known.markGone(folder, m.name, isPartial)
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

  // two searches, because a single search may miss a folder that is renamed while other folders are listed
  private lazy val copies: Map[String, String] = {
    def seen = RunPlaces.copies(state, present.in, denied = _ => isPartial = true)
    seen ++ seen
  }

  /** By name, all files of the table that have the name of a missing replaced file, with their folders. */
  private lazy val byName: Map[String, Seq[(String, FileStatus)]] = {
    val names = files.filterNot(_.isOfRun).map(_.name).toSet
    val seen = for {
      (folder, there) <- state.walk(_ => isPartial = true)
      file <- there if file.isFile && names(file.getPath.getName)
    } yield Paths.relative(state.root, folder) -> file
    seen.groupBy(_._2.getPath.getName)
  }
}
