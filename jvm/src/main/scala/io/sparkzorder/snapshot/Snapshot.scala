// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import scala.annotation.tailrec
import scala.util.Try

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.internal.Logging

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log._
import io.sparkzorder.table.{DataFile, TableFiles, TokenFile}
import io.sparkzorder.util.{ManyFiles, ObjectStore}

/** Whether a listing takes hidden files of shadows in the place of visible ones. */
private[sparkzorder] sealed trait ShadowUse
private[sparkzorder] object ShadowUse {

  /** The visible files, as other engines see them. */
  case object Off extends ShadowUse

  /** The records alone decide. A reader fails on a hidden file that another program has deleted. */
  case object ByRecords extends ShadowUse

  /** Hidden files are looked up before they are used. A shadow with a missing hidden file is not used. */
  case object Checked extends ShadowUse

  /** On an object store, looking hidden files up costs a request for each folder. Elsewhere it costs little. */
  def of(state: StateDirectory): ShadowUse =
    if (ObjectStore.isOne(state.fs)) ByRecords else Checked
}

/**
 * The files that a reader reads in the folders of a table: a listing with the records of the table laid over
 * it. Queries, OPTIMIZE, SHOW LAYOUT and the index use this object.
 */
private[sparkzorder] object Snapshot {

  /**
   * The folders in which other files are read than the listing has, each with these files by final name. The path of
   * a file that is still hidden does not end with its final name. The listing may be of any age. It must be made
   * before this call, which reads the records.
   *
   * @param upTo the number of the newest record whose run may add rows that were not listed. A later run counts only
   *   if all files that it replaced are listed. None if all runs count in any case
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE when the record of an unpublished
   *   run cannot be read, because then the content of the table is not known
   */
  def of(
      state: StateDirectory,
      listing: FolderListing,
      shadows: ShadowUse,
      upTo: Option[Long] = None): FolderListing.Files =
    new Overlay(state, shadows, upTo).over(listing)

  /**
   * Where the files of a table, as they were listed, disagree with what its published runs did. A replaced file that
   * came back is called a copy only if readers leave the file out.
   */
  def disagreements(state: StateDirectory, listed: TableFiles): Seq[Disagreement] = {
    lazy val read = of(state, listed, whole = false, ShadowUse.Off).files.map(_.path).toSet
    TableLog.read(state).disagreements(listed, read(_))
  }

  /**
   * A listing of a table with the records laid over it: without replaced files, and with new files, wherever
   * they are.
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
      // Spark does not list a folder whose files are all hidden
      def known(path: Path) = folders.getOrElse(path, listed.unlisted(path))
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
 * What readers with the extension see: a listing with the committed runs of a table laid over it. A reader gets
 * the old files of a run until the commit of the run, and the new files from then on, no matter how many of the
 * files are renamed yet. This class never writes.
 *
 * The listing is made first, and the records are read afterwards. A run that is not among the records was
 * committed after the listing, so the listing has the files from before the run. Then single files are looked up, at
 * different times. If the records have changed by the end, everything is done again. [[FolderOverlay]] has the
 * argument for one folder.
 */
private[snapshot] final class Overlay(
    state: StateDirectory,
    shadows: ShadowUse,
    upTo: Option[Long] = None)
    extends Logging {
  private val reader = new CommitLogReader(state)
  // a folder whose files are not known (`FolderOverlay.isUndecided`); a further attempt may decide
  private var undecided = Option.empty[Path]

  /**
   * The folders whose listed files are not the files to read, each with its files to read, by final name.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE when the record of an unpublished
   *   run cannot be read, because then the content of the table is not known; ZORDER_LISTING_INCOMPLETE when
   *   the listing lacks the files of a folder that was moved since
   */
  @tailrec
  def over(listing: FolderListing, left: Int = Overlay.MaxTries): FolderListing.Files =
    attempt(listing) match {
      case Some(files) => files
      case None if left > 0 => over(listing, left - 1)
      case None =>
        throw ZOrderErrors.stateUnreadable(state.commits.toString, "it changes all the time")
    }

  /** None if the records have changed, or a folder of an unfinished run was moved, during the attempt. */
  private def attempt(listing: FolderListing): Option[FolderListing.Files] = {
    undecided = None
    val log = reader.read()
    val present = new PresentFiles(state)
    val moves = new MovedFolders(state, listing, present)
    val open = underWay(log.pending, listing, present)
    val byFolder = open.groupBy(_.change.folder)
    val settled = log.history.folders.toSeq.filterNot(f => byFolder.contains(f._1))
      .flatMap { case (_, history) => settledFolder(history, listing, present, moves).toSeq }
    val changed = byFolder.toSeq.flatMap { case (folder, changes) =>
      val listed = listing.files(path(folder)).getOrElse(Map.empty)
      val (done, half) = log.history.folders.get(folder)
        .map(UnfinishedRun.settledSteps(state, _, listed, present))
        .getOrElse((Nil, Map.empty[KnownRecord, UnfinishedRun]))
      val (lost, others) = changes.partition(_.isLost)
      val steps = done ++ others.map(c =>
        Step(c.run.known, c.change, underWay = c.state == FolderState.Publishing))
      // lost runs first, because a later run may replace the files that they give back
      val kept = withoutLost(listed, lost, steps, moves)
      val files =
        lay(
          path(folder),
          steps.sortBy(_.known.number).toIndexedSeq,
          half ++ others.map(c => c.run.known -> c.run),
          kept,
          present,
          moves).getOrElse(kept)
      Some(path(folder) -> files).filter(_ => paths(files) != paths(listed))
    }
    val moved = Try(moves.search())
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
    else {
      undecided.foreach { folder =>
        throw ZOrderErrors.listingIncomplete(
          folder.toString,
          "the query began at an earlier state of these files, and the records do not tell that state any more")
      }
      Some(visible ++ shadowed)
    }
  }

  /**
   * The files to read in a folder, by the names in the records: hidden files of shadows, and the visible files for
   * which no shadow stands. None if no shadow is used.
   */
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
   * True if another program has removed or replaced some of the listed files since Spark listed them. Then the listed
   * files are read without the shadow, and the query fails, as for a reader without the extension. With the shadow,
   * it would return the rows that were removed.
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
   * A listing without the changes of lost runs (`OpenChange.isLost`). While such a run is being ended, the files that
   * it has hidden are read wherever they are, and its new files are not read. Once the run is done, its files that
   * are visible in the folder count, replaced files and new files alike, and hidden files do not count. A listed file
   * that is found nowhere stays in the listing, and Spark reports that it is missing.
   */
  private def withoutLost(
      listed: Map[String, FileStatus],
      lost: Seq[OpenChange],
      steps: Seq[Step],
      moves: MovedFolders): Map[String, FileStatus] =
    if (lost.isEmpty) listed
    else {
      val files = listed.filterNot(f => TokenFile.isOne(f._1))
      val staying = lost.filter(_.run.isDone).map(c => c -> c.run.staying(c.change)).toMap
      def isReplaced(c: OpenChange, name: String, length: Long) = steps.exists(s =>
        s.known.number > c.run.known.number &&
          s.change.replaced.exists(r => r.name == name && r.length == length))
      // The run met its conflict in another folder. It was published in this folder, although the token is gone.
      def isPublished(c: OpenChange) = staying.get(c).exists(_.nonEmpty) ||
        c.change.added.exists(a => isReplaced(c, a.name, a.length))
      val returning = lost.flatMap { c =>
        def isRead(r: Replaced) = !isPublished(c) && (files.get(r.name).exists(r.is) ||
          !c.run.isDone && c.state == FolderState.Conflict)
        c.run.comingBack(c.change, isRead)
      }.toMap
      // In an overwritten folder of a run that is not done, no new file leaves the listing: another program has
      // removed the directory of the run, and what that program has left in the folder counts. A file that a later
      // run has replaced stays in the listing, so that the step of that run finds the file.
      val leaving = for {
        c <- lost if c.run.isDone || c.state == FolderState.Conflict
        a <- c.change.added if !isReplaced(c, a.name, a.length)
        s <- files.get(a.name)
        if s.getLen == a.length && (a.modified <= 0 || s.getModificationTime == a.modified)
      } yield a.name
      val gone = for {
        c <- lost
        r <- c.change.replaced if files.get(r.name).exists(r.is)
        if returning.contains(r.name) || isPublished(c)
      } yield r.name
      for {
        c <- lost if !isPublished(c)
        r <- c.change.replaced if !files.contains(r.name) && !returning.contains(r.name)
        if !isReplaced(c, r.name, r.length)
      } moves.add(c.run, c.change, r)
      // a file that only has the name of a new or replaced file belongs to another program, and stays
      val others = files -- leaving -- gone
      returning ++ staying.values.flatten ++ others
    }

  private def paths(files: Map[String, FileStatus]) = files.values.map(_.getPath).toSet

  private case class OpenChange(run: UnfinishedRun, change: FolderChange, state: FolderState) {

    /** True if the run has met a conflict in the folder, or the folder was overwritten. */
    def isLost: Boolean = state == FolderState.Conflict || state == FolderState.Overwritten
  }

  private def underWay(
      pending: Seq[OpenRecord],
      listing: FolderListing,
      present: PresentFiles): Seq[OpenChange] = {
    val covered = for {
      record <- pending
      run = new UnfinishedRun(state, record.known, record.isDone, present)
      change <- run.changes
      listed <- listing.files(path(change.folder))
    } yield (run, change, listed)
    ManyFiles.map(covered) { case (run, change, listed) =>
      OpenChange(run, change, run.folderState(change, listed.contains))
    }
  }

  /**
   * The files to read in a folder without a run under way; None if the listed files are right. As a rule a comparison
   * of the names tells this. If the last query used the same listing, not even the comparison is needed.
   */
  private def settledFolder(
      history: FolderHistory,
      listing: FolderListing,
      present: PresentFiles,
      moves: MovedFolders): Option[(Path, Map[String, FileStatus])] = {
    val folder = history.path
    if (listing.inOrder(folder).exists(history.hasExplained)) None
    else listing.files(folder).flatMap { listed =>
      if (history.explains(listed)) {
        warnOf(history, listed, listed, present)
        listing.inOrder(folder).foreach(history.rememberExplained)
        None
      } else {
        val (steps, half) = UnfinishedRun.settledSteps(state, history, listed, present)
        val files = lay(folder, steps, half, listed, present, moves)
        warnOf(history, listed, files.getOrElse(listed), present)
        files.map(folder -> _)
      }
    }
  }

  /**
   * Warns of files that another program has put under the names of replaced files. An old listing shows replaced
   * files, too, so the warning needs a file that is there now.
   *
   * @param read the files that are read, by name
   */
  private def warnOf(
      history: FolderHistory,
      listed: Map[String, FileStatus],
      read: Map[String, FileStatus],
      present: PresentFiles): Unit =
    history.disagreements(
      listed,
      isRead = n => read.get(n).exists(_.getPath == listed(n).getPath))
      .filter(d => d.names.exists(present.in(history.path).contains) && history.isNew(d, listed))
      .foreach(d => logWarning(d.warning))

  private def lay(
      folder: Path,
      steps: IndexedSeq[Step],
      open: Map[KnownRecord, UnfinishedRun],
      listed: Map[String, FileStatus],
      present: PresentFiles,
      moves: MovedFolders): Option[Map[String, FileStatus]] = {
    def now(step: Step, added: Added): Option[FileStatus] = {
      val there = present.in(folder).get(added.name)
      open.get(step.known).filter(_ => step.underWay) match {
        case Some(run) =>
          val found = there.orElse(run.onItsWay(step.change, added))
          if (found.isEmpty) moves.add(run, step.change)
          found
        case None =>
          // the folder of a file that was gone may be back at its place
          if (there.isEmpty && !step.known.isGone(step.change.folder, added.name)) {
            moves.add(step.known, step.change, added)
          }
          there
      }
    }
    val overlay = new FolderOverlay(steps, listed, now, upTo)
    val files = overlay.result()
    if (overlay.isUndecided) undecided = Some(folder)
    files.foreach(f =>
      logInfo(s"reading ${f.size} files of $folder instead of ${listed.size} listed ones"))
    files
  }

  private def path(folder: String): Path = state.folder(folder)
}

private object Overlay {

  // an attempt fails only if a run was committed or published meanwhile, or a folder was moved
  val MaxTries = 1000
}
