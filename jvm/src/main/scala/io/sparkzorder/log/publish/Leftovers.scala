// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import java.io.FileNotFoundException

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.log._
import io.sparkzorder.util.{Directories, ManyFiles}

/**
 * Finds the files that runs keep only for a while, and decides whether they may be removed. This class changes
 * nothing.
 *
 * @param isReadable true if the footer of a data file can be read
 */
private[sparkzorder] final class Leftovers(
    state: StateDirectory,
    nowMs: Long,
    isReadable: FileStatus => Boolean) {
  def this(state: StateDirectory, nowMs: Long) = this(state, nowMs, Evidence.hasFooter(state))

  private lazy val log = TableLog.read(state)
  private lazy val evidence = new Evidence(state, log, isReadable)

  private val intentStore = new Intents(state)
  private lazy val intents: Seq[(FileStatus, Intent)] = intentStore.all()

  // the runs whose files an unfinished UNDO has claimed; these files must not be removed
  private lazy val claimed: Set[String] =
    intents.map(_._2).filter(i => log.commitOf(i.run).isEmpty).flatMap(_.undone).toSet

  // Committed runs that have an intent, without those whose files an UNDO has claimed. A table may have thousands of
  // them, so nothing is looked up here.
  private lazy val committed: Seq[RetainingRun] = for {
    (file, intent) <- intents if !claimed(intent.run)
    n <- log.commitOf(intent.run).toSeq
    record <- log.record(n).filter(_.exchangesFiles).toSeq
  } yield RetainingRun(n, record, file, intent, record.createdMs)

  /** The run with the time from which its retention counts; None if the run is not published. */
  private def published(run: RetainingRun): Option[RetainingRun] =
    state.replacedSince(run.number, run.record).map(since => run.copy(sinceMs = since))
      .filter(_ => state.isDone(run.number))

  /**
   * Replaced files whose retention is over. A run yields up to two leftovers: one with the files whose rows are
   * proven to be in other files, and one with the other files.
   *
   * @param asked a retention in milliseconds, in place of the retention of each run. With 0, no time counts: a clock
   *   may be, or may have been, ahead of the clock of this driver, and then files would stay for as long
   */
  def expired(asked: Option[Long]): Seq[Leftover] = {
    def isExpired(run: RetainingRun) =
      asked.contains(0L) || isOver(run.sinceMs, asked.getOrElse(run.record.retainMs))
    // the time of the record first: most runs are younger, and then no file of theirs is looked at
    val runs = ManyFiles.map(committed.filter(isExpired)) { run =>
      published(run).filter(r => isExpired(r) && !state.hasConflict(r.number))
        .map(r => r -> openDirectories(Leftover.Retained, r.intent))
    }.flatten
    runs.flatMap { case (run, own) =>
      val open =
        own.flatten.flatten.map(d => d -> ifOpen(isProven(d._1, d._2.path, run.record, run.number)))
      val proven = open.collect { case (d, Some(true)) => d }
      val unproven = open.collect { case (d, Some(false)) => d }
      // a directory that this user may not enter is left to another user, and the intent stays for that user
      val isWhole = unproven.isEmpty && own.forall(_.isDefined) && open.forall(_._2.isDefined)
      def together(kind: Leftover.Kind, parts: Seq[(String, Leftover)]) =
        of(kind, run.file, run.intent, parts.map(_._2), isWhole).copy(sinceMs = run.sinceMs)
      // a run that keeps no file yields a leftover, too, by which its intent is removed
      val retained =
        if (proven.isEmpty && !isWhole) None
        else Some(together(Leftover.Retained, proven))
      val rest = if (unproven.isEmpty) None else Some(together(Leftover.Unproven, unproven))
      retained ++ rest
    }
  }

  /** The files that runs with a conflict replaced; they are kept until a user deletes them. */
  def conflicts: Seq[Leftover] = {
    val hasConflict = state.conflicts()
    ManyFiles.map(committed.filter(run => hasConflict(run.number)))(published).flatten.map { run =>
      val own = directories(Leftover.Conflict, run.intent).map(_._2)
      of(Leftover.Conflict, run.file, run.intent, own).copy(sinceMs = run.sinceMs)
    }.filter(_.directories.nonEmpty)
  }

  /**
   * Hidden files of runs without a record. Such a run is still working, or has died. If replaced files of the run
   * are there, it was committed, and its record was removed later. Then all its files are unproven, also the new
   * files.
   */
  lazy val uncommitted: Seq[Leftover] =
    ManyFiles.map(intents.filter(i => log.commitOf(i._2.run).isEmpty)) { case (file, intent) =>
      val own = directories(Leftover.Staged, intent).map(_._2)
      val kind =
        if (intentStore.hasReplaced(intent)) Leftover.Unproven else Leftover.Staged
      of(kind, file, intent, own)
    }

  /**
   * Hidden directories of runs that no intent names, because their folder was renamed or moved, or because
   * the intent was deleted. This method lists every folder of the table.
   */
  def unreferenced: Seq[Leftover] = {
    val found = state.runDirectories()
    // A run writes its intent before it makes a directory. So these are the runs that have begun since this object has
    // read the intents, and an UNDO among them may have claimed the files of an earlier run.
    val known = intents.map(_._2.run).toSet
    val now = intentStore.all().map(_._2)
    val begun = now.filterNot(i => known(i.run))
    val isBusy = begun.flatMap(i => i.undone.toSeq :+ i.run).toSet ++ committedSince
    // a run that commits from here on needs its intent for that, so its directories need an abort before they go
    val mayCommit = known ++ now.map(_.run)
    val named = intents.flatMap { case (_, i) => i.folders.map(i.run -> _) }.toSet
    val unfinished = log.unfinished.map(_._2.run).toSet
    // a shadow may be in force although somebody has removed its intent
    def mayBeInForce(run: String, folder: String) =
      log.shadows.folders.get(folder).exists(_.exists(_.known.record.run == run))
    def isOfOther(run: String, folder: String) =
      named(run -> folder) || isBusy(run) || claimed(run) || mayBeInForce(run, folder)
    found.filterNot { case (run, folder, _) =>
      unfinished(run) || isOfOther(run, folder)
    }.flatMap { case (run, folder, path) =>
      kindOf(run, folder, path, mayCommit(run)).flatMap(directory(_, path, run))
    }
  }

  /** The runs that have committed since this object has read the records. They may be moving files now. */
  private def committedSince: Set[String] =
    TableLog.read(state).all.map(_._2).filter(_.commitsRun).map(_.run)
      .filter(log.commitOf(_).isEmpty).toSet

  /**
   * None for files that nobody needs but a run that may still commit, such as an UNDO: they are no leftover before an
   * abort has ended the run. Nobody may be told that they are the only copy of rows.
   */
  private def kindOf(
      run: String,
      folder: String,
      path: Path,
      mayCommit: Boolean): Option[Leftover.Kind] = {
    val number = log.commitOf(run)
    def isProven = copyIn(path, run).exists(r =>
      evidence.holds(folder, r.changes.head, number.getOrElse(0L)))
    if (number.exists(state.hasConflict)) Some(Leftover.Conflict)
    else if (number.flatMap(log.record).exists(_.makesShadow)) Some(Leftover.Shadow)
    else if (isProven) Some(Leftover.Retained).filterNot(_ => number.isEmpty && mayCommit)
    else if (number.isEmpty && !hasOld(path)) Some(Leftover.Staged)
    else Some(Leftover.Unproven)
  }

  /** True if the files that a run replaced in a folder may be removed. */
  private def isProven(folder: String, path: Path, record: Record, number: Long): Boolean = {
    val copies = ChangeCopy.of(record.run, state.byName(path).keys).toSeq
    val isItsOwn = copies.isEmpty || copies.contains(ChangeCopy.name(record.run, folder))
    val change =
      // if two folders were exchanged, the directory has the copy of the other folder's change
      if (isItsOwn) record.changes.find(_.folder == folder)
      else copyIn(path, record.run).map(_.changes.head)
    // if neither the record nor a copy has the change, no replaced file of the directory can be proven
    change.fold(!hasOld(path))(evidence.holds(folder, _, number))
  }

  private def hasOld(directory: Path): Boolean =
    state.openByName(directory).keys.exists(_.startsWith(RunFolder.Retained))

  private def copyIn(path: Path, run: String): Option[Record] =
    ChangeCopy.of(run, state.openByName(path).keys).headOption
      .flatMap(n => ChangeCopy.read(state, new Path(path, n)))

  /** The existing hidden directories of a run that this user may enter, each with its folder. */
  private def directories(kind: Leftover.Kind, intent: Intent): Seq[(String, Leftover)] =
    openDirectories(kind, intent).flatten.flatten

  /** For each folder of a run, its existing hidden directories; None for a folder that this user may not enter. */
  private def openDirectories(
      kind: Leftover.Kind,
      intent: Intent): Seq[Option[Seq[(String, Leftover)]]] =
    ManyFiles.map(intent.folders) { f =>
      if (state.isClosed(f)) None
      else ifOpen(state.hidden(f, intent.run).flatMap(directory(kind, _, intent.run)).map(f -> _))
    }

  private def ifOpen[T](look: => T): Option[T] =
    try Some(look)
    catch { case e if Directories.isDenied(e) => None }

  /** @param file the file of the intent */
  private def of(
      kind: Leftover.Kind,
      file: FileStatus,
      intent: Intent,
      parts: Seq[Leftover],
      isWhole: Boolean = true): Leftover =
    Leftover(
      kind,
      if (parts.size == 1) parts.head.path else file.getPath,
      intent.run,
      parts.map(_.files).sum,
      parts.map(_.bytes).sum,
      (file.getModificationTime +: parts.map(_.sinceMs)).max,
      parts.map(_.path),
      if (isWhole) Some(intent) else None)

  /** Temporary files of records that are being created, or whose creation failed. */
  def temporary: Seq[Leftover] = state.temporary().map { s =>
    Leftover(
      Leftover.Temporary,
      s.getPath,
      s.getPath.getName,
      1L,
      s.getLen,
      s.getModificationTime,
      Seq(s.getPath))
  }

  /**
   * @param retainMs the least age in milliseconds since the files were replaced or written; with
   *   Long.MaxValue they are kept for ever
   */
  def isOver(leftover: Leftover, retainMs: Long): Boolean = isOver(leftover.sinceMs, retainMs)

  private def isOver(sinceMs: Long, retainMs: Long): Boolean = nowMs - sinceMs > retainMs

  private[sparkzorder] def directory(
      kind: Leftover.Kind,
      path: Path,
      run: String): Option[Leftover] =
    try {
      val all = below(path)
      val files = all.filter(s => s.isFile && !RunFolder.isMetadata(s.getPath.getName))
      // the time of the directory counts, too: it changes when a file is created, moved or removed
      val newest = (state.fs.getFileStatus(path) +: all).map(_.getModificationTime).max
      Some(Leftover(
        kind,
        path,
        run,
        files.size.toLong,
        files.map(_.getLen).sum,
        newest,
        Seq(path)))
    } catch { case _: FileNotFoundException => None } // another process removes the directory

  private def below(directory: Path): Seq[FileStatus] =
    state.readableFiles(directory).flatMap(s =>
      if (s.isDirectory) s +: below(s.getPath) else Seq(s))
}

/** A published run that keeps the files that it replaced. `file` is the file of its intent. */
private final case class RetainingRun(
    number: Long,
    record: Record,
    file: FileStatus,
    intent: Intent,
    sinceMs: Long)

/**
 * Files in the directory of the table that are temporary or kept for a while.
 *
 * @param path a directory or file; for a run with several directories, the file of its intent
 * @param run the id of the run that owns the files; for a temporary file, the name of the file
 * @param files the number of data files in the directories; 1 for a temporary file
 * @param sinceMs when the files were replaced, or when the newest file was written, in milliseconds
 * @param directories the directories or the file to remove
 * @param intent the intent of the run, which is removed with the last of its directories; None if the intent must
 *   stay, or is not known
 */
private[sparkzorder] final case class Leftover(
    kind: Leftover.Kind,
    path: Path,
    run: String,
    files: Long,
    bytes: Long,
    sinceMs: Long,
    directories: Seq[Path],
    intent: Option[Intent] = None)

private[sparkzorder] object Leftover {

  /** @param stays true for files that only a user may remove */
  sealed abstract class Kind(val name: String, val stays: Boolean)

  /** Files that a published run replaced. */
  case object Retained extends Kind("retained", stays = false)

  /**
   * Replaced files that may be the only copy of rows, because a file that took their place is missing or damaged.
   * Also all files of a run that has replaced files and has no record any more.
   */
  case object Unproven extends Kind("unproven", stays = true)

  /** Files that a run with a conflict replaced; they, too, may be the only copy of rows. */
  case object Conflict extends Kind("conflict", stays = true)

  /** Files of a shadow that no reader reads any more: the visible files have their rows, too. */
  case object Shadow extends Kind("shadow", stays = false)

  /** Files of a run without a record of its commit. */
  case object Staged extends Kind("staged", stays = false)

  /** A file that was written under a temporary name and never got its final name. */
  case object Temporary extends Kind("temporary", stays = false)
}
