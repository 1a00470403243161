// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import scala.util.Try

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log._
import io.sparkzorder.table.{DataFile, Folder, TableFiles, TokenFile}
import io.sparkzorder.util.{ManyFiles, ObjectStore}

/** Whether a listing takes hidden files of shadows in the place of visible ones. */
private[sparkzorder] sealed trait ShadowUse
private[sparkzorder] object ShadowUse {

  /** The visible files, as other engines see them. */
  case object Off extends ShadowUse

  /** Shadows, by what the records say. A hidden file that somebody has deleted is an error of the reader. */
  case object ByRecords extends ShadowUse

  /** Shadows, all of whose files are looked for. */
  case object Checked extends ShadowUse

  /** A look costs a request for each folder on an object store, and next to nothing elsewhere. */
  def of(state: StateDirectory): ShadowUse =
    if (ObjectStore.isOne(state.fs)) ByRecords else Checked
}

/**
 * What a reader takes the folders of a table to hold: a listing with the records of the table laid over it.
 * Queries, OPTIMIZE, SHOW LAYOUT and the index ask here.
 */
private[sparkzorder] object Snapshot {

  /**
   * What the folders of a listing hold, where that is not what was listed; by the final names of the
   * files, as a file that is still hidden lies elsewhere. The listing may be of any age. It is made
   * before the records are read, and they are read here.
   *
   * @param upTo number of the newest record whose run may bring rows that were not listed: a later run
   *   counts only if all files that it replaced are there. None for all runs
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE when a run is committed and
   *   not published, and its record cannot be read: what the table holds is not known then
   */
  def of(
      state: StateDirectory,
      listing: FolderListing,
      shadows: ShadowUse,
      upTo: Option[Long] = None): FolderListing.Files =
    new Overlay(state, shadows, upTo).over(listing)

  /**
   * A listing of a table as the records have it: replaced files out, new ones in, wherever they are.
   *
   * @param whole false when only the folders of `listed` were listed
   */
  def of(state: StateDirectory, listed: TableFiles, whole: Boolean): TableFiles =
    of(state, listed, whole, ShadowUse.of(state))

  def of(
      state: StateDirectory,
      listed: TableFiles,
      whole: Boolean,
      shadows: ShadowUse): TableFiles = {
    val folders = listed.folders.map(f => f.path -> f).toMap
    val byFolder = listed.files.groupBy(_.folder.path)
      .map { case (folder, own) => folder -> own.map(f => f.path.getName -> f.status).toMap }
    val changed = of(
      state,
      new FolderListing {
        override def files(folder: Path) =
          if (whole || folders.contains(folder)) Some(byFolder.getOrElse(folder, Map.empty))
          else None
      },
      shadows)
    if (changed.isEmpty) listed
    else {
      // a folder whose files are all hidden is no folder to Spark
      def known(path: Path) = folders.getOrElse(path, new Folder(path, InternalRow.empty))
      val others = listed.files.filterNot(f => changed.contains(f.folder.path))
      val now = changed.toSeq.sortBy(_._1.toString).flatMap { case (path, own) =>
        val folder = known(path)
        own.toSeq.sortBy(_._1).map { case (_, s) => DataFile(folder, s) }
      }
      listed.copy(
        folders = listed.folders ++
          now.map(_.folder).distinct.filterNot(f => folders.contains(f.path)),
        files = others ++ now)
    }
  }
}

/**
 * What readers with the extension see: a listing with the committed runs of a table laid over it, so
 * that each run's old files count until its commit and its new files from then on, however far the
 * renames are. Never writes.
 *
 * The listing is made first, and the records are read afterwards. A run that is not among the records
 * was committed after the listing, so the listing holds the files from before the run. Files are looked up
 * later, at several moments. If the records have changed by the end, all is done again. [[FolderOverlay]]
 * has the argument for one folder.
 */
private[snapshot] final class Overlay(
    state: StateDirectory,
    shadows: ShadowUse,
    upTo: Option[Long] = None)
    extends Logging {
  private val reader = new CommitLogReader(state)

  /**
   * Folders whose listed files are not the ones to read, with those that are by their final names:
   * a file that is still hidden lies elsewhere.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE when a run is committed and
   *   not published, and its record cannot be read: what the table holds is not known then;
   *   ZORDER_LISTING_INCOMPLETE when the listing lacks the files of a folder that was moved since
   */
  def over(listing: FolderListing): FolderListing.Files = {
    var tries = 0
    var result = attempt(listing)
    while (result.isEmpty) {
      tries += 1
      if (tries > Overlay.MaxTries) {
        throw ZOrderErrors.stateUnreadable(state.commits.toString, "it changes all the time")
      }
      result = attempt(listing)
    }
    result.get
  }

  /** None when the records changed meanwhile, or a folder of a run under way was moved. */
  private def attempt(listing: FolderListing): Option[FolderListing.Files] = {
    val log = reader.read()
    val present = new PresentFiles(state)
    val moves = new MovedFolders(state, listing, present)
    val open = underWay(log.pending, listing, present)
    val byFolder = open.groupBy(_.change.folder)
    val settled = log.history.folders.toSeq.filterNot(f => byFolder.contains(f._1))
      .flatMap { case (_, history) => settledFolder(history, listing, present, moves).toSeq }
    val changed = byFolder.toSeq.flatMap { case (folder, changes) =>
      val done = log.history.folders.get(folder).toSeq.flatMap(_.steps)
      val (lost, others) = changes.partition(_.isLost)
      val steps = done ++ others.map(c =>
        Step(c.run.known, c.change, underWay = c.state == FolderState.Publishing))
      val listed = listing.files(path(folder)).getOrElse(Map.empty)
      // first what a lost run gives back, because a later run may replace it
      val kept = withoutLost(listed, lost, steps, moves)
      val files =
        lay(
          path(folder),
          steps.sortBy(_.known.number).toIndexedSeq,
          others.map(c => c.run.known -> c.run).toMap,
          kept,
          present,
          moves).getOrElse(kept)
      Some(path(folder) -> files).filter(_ => paths(files) != paths(listed))
    }
    val moved = Try(moves.haveMoved)
    val visible = (settled ++ changed).toMap
    val shadowed = if (shadows == ShadowUse.Off) Nil
    else {
      val covered = log.shadows.folders.toSeq.flatMap { case (folder, steps) =>
        visible.get(path(folder)).orElse(listing.files(path(folder))).map((folder, steps, _))
      }
      ManyFiles.map(covered) { case (folder, steps, now) =>
        shadowedFolder(log.shadows, folder, steps, now, present).map(path(folder) -> _)
      }.flatten
    }
    if ((open.nonEmpty || present.used) && reader.ids() != log.ids || moved.get) None
    else Some(visible ++ shadowed)
  }

  /** The files of a folder by the names that records know, where a shadow stands for some of them. */
  private def shadowedFolder(
      known: Shadows,
      folder: String,
      steps: IndexedSeq[Step],
      visible: Map[String, FileStatus],
      present: PresentFiles): Option[Map[String, FileStatus]] = {
    val looks = shadows == ShadowUse.Checked
    val data = visible.filterNot(f => TokenFile.isOne(f._1))
    val isThere = Shadowed.isThere(known, state, folder, present, looks) _
    new FolderShadow(steps, isThere).over(data)
      .filterNot(result => looks && isOfOtherFiles(data -- result.keys, present.in(path(folder))))
      .map(_.map { case (name, f) =>
        name -> f.status.getOrElse {
          val (step, a) = f.shadow.get
          hidden(new Path(state.own(folder, step.known.record.run), a.staged), a)
        }
      })
  }

  /**
   * True if another program has removed or replaced files since Spark listed them. Without the extension a reader
   * of such a listing fails, and does not read the rows that were removed.
   */
  private def isOfOtherFiles(
      listed: Map[String, FileStatus],
      now: Map[String, FileStatus]): Boolean = listed.exists { case (name, s) =>
    !now.get(name).exists(n =>
      n.getLen == s.getLen && n.getModificationTime == s.getModificationTime)
  }

  private def hidden(path: Path, a: Added): FileStatus =
    new FileStatus(a.length, false, 1, state.fs.getDefaultBlockSize(path), a.modified, path)

  /**
   * A listing without what lost runs have done to the folder. While such a run is being ended, what it has
   * hidden is read wherever it is, and its new files are not. Once it is done, the folder has what it
   * keeps, and whatever is beside that came or went by another program. A listed file that is nowhere stays
   * in the listing: Spark says then that it is missing.
   */
  private def withoutLost(
      listed: Map[String, FileStatus],
      lost: Seq[OpenChange],
      steps: Seq[Step],
      moves: MovedFolders): Map[String, FileStatus] =
    if (lost.isEmpty) listed
    else {
      val files = listed.filterNot(f => TokenFile.isOne(f._1))
      val returning = lost.flatMap(c =>
        c.run.comingBack(
          c.change,
          r => files.get(r.name).exists(r.is) || !c.run.isDone && c.state == FolderState.Conflict))
        .toMap
      val staying = lost.filter(_.run.isDone).map(c => c -> c.run.staying(c.change)).toMap
      // where another program took the run's directory away, what it has left is the folder
      val leaving = for {
        c <- lost if c.run.isDone || c.state == FolderState.Conflict
        a <- c.change.added
        s <- files.get(a.name) if s.getLen == a.length && a.modified <= 0 ||
          s.getModificationTime == a.modified
      } yield a.name
      def isReplaced(c: OpenChange, name: String) = steps.exists(s =>
        s.known.number > c.run.known.number && s.change.replaced.exists(_.name == name))
      def isPublished(c: OpenChange) = staying.get(c).exists(_.nonEmpty) ||
        c.change.added.exists(a => isReplaced(c, a.name))
      val gone = for {
        c <- lost
        r <- c.change.replaced if files.get(r.name).exists(r.is)
        if returning.contains(r.name) || isPublished(c)
      } yield r.name
      for {
        c <- lost if !isPublished(c)
        r <- c.change.replaced if !files.contains(r.name) && !returning.contains(r.name)
        if !isReplaced(c, r.name)
      } moves.missed(c.run, c.change, r)
      // a file that has such a name and is another one is another program's
      val others = files -- leaving -- gone
      returning ++ staying.values.flatten ++ others
    }

  private def paths(files: Map[String, FileStatus]) = files.values.map(_.getPath).toSet

  private case class OpenChange(run: UnfinishedRun, change: FolderChange, state: FolderState) {
    def isLost: Boolean = state == FolderState.Conflict || state == FolderState.Overwritten
  }

  private def underWay(
      pending: Seq[OpenRecord],
      listing: FolderListing,
      present: PresentFiles): Seq[OpenChange] = for {
    record <- pending
    run = new UnfinishedRun(state, record.known, record.isDone, present)
    change <- run.changes if listing.files(path(change.folder)).isDefined
  } yield OpenChange(run, change, run.folderState(change))

  /**
   * A folder without a run under way: most often a look at the names is enough, and when the listing is
   * the one of the last query, not even that.
   */
  private def settledFolder(
      history: FolderHistory,
      listing: FolderListing,
      present: PresentFiles,
      moves: MovedFolders): Option[(Path, Map[String, FileStatus])] = {
    val folder = history.path
    if (listing.inOrder(folder).exists(history.hasExplained)) None
    else listing.files(folder).flatMap { listed =>
      warnOf(history, listed, present)
      if (history.explains(listed)) {
        listing.inOrder(folder).foreach(history.rememberExplained)
        None
      } else lay(folder, history.steps, Map.empty, listed, present, moves).map(folder -> _)
    }
  }

  /** A returned file that is not there any more was seen by a listing that took long, or is an old one. */
  private def warnOf(
      history: FolderHistory,
      listed: Map[String, FileStatus],
      present: PresentFiles): Unit =
    history.disagreements(listed)
      .filter(d => d.names.exists(present.in(history.path).contains) && history.isNews(d, listed))
      .foreach(d => logWarning(d.warning))

  private def lay(
      folder: Path,
      steps: IndexedSeq[Step],
      open: Map[KnownRecord, UnfinishedRun],
      listed: Map[String, FileStatus],
      present: PresentFiles,
      moves: MovedFolders): Option[Map[String, FileStatus]] = {
    def now(step: Step, added: Added): Option[FileStatus] =
      if (step.known.isGone(step.change.folder, added.name)) None
      else {
        val there = present.in(folder).get(added.name)
        open.get(step.known).filter(_ => step.underWay) match {
          case Some(run) =>
            val found = there.orElse(run.onItsWay(step.change, added))
            if (found.isEmpty) moves.missed(run, step.change)
            found
          case None =>
            if (there.isEmpty) moves.missed(step.known, step.change, added)
            there
        }
      }
    val files = new FolderOverlay(steps, listed, now, upTo).result()
    files.foreach(f =>
      logInfo(s"reading ${f.size} files of $folder instead of ${listed.size} listed ones"))
    files
  }

  private def path(folder: String): Path = state.folder(folder)
}

private object Overlay {

  // each further one means that a run was committed or published in between
  private val MaxTries = 1000
}
