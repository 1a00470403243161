// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import org.apache.hadoop.fs.Path

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.{ChangeCopy, Intents, RunFolder, StateDirectory, TableLog}
import io.sparkzorder.table.{TableFiles, TokenFile}
import io.sparkzorder.util.{ManyFiles, ObjectStore, Paths}

/**
 * Finds half-published folders, in which some files are hidden, and whose run nobody will publish any more. Either the
 * run has no record: a person has removed the record, or has moved the folder here from another table. Or the run is
 * done: the folder and the records come from copies of different times, or the folder was elsewhere when the run ended.
 */
private[sparkzorder] final class LostRecords(state: StateDirectory) {

  /**
   * Refuses a statement that touches such a folder. Folders that the statement does not touch are not looked at, and
   * a folder that is a table of its own is not refused.
   *
   * @param tokens the tokens that the listing has found beside the data
   * @param chosen the folders that the statement touches
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_RECORD_LOST
   */
  def check(tokens: Seq[Path], chosen: TableFiles): Unit =
    find(tokens, chosen, isWhole = false).foreach(refuse)

  /**
   * Refuses a table with such a folder. Also finds a run whose record and intent are both gone; for that, each folder
   * is listed once more.
   *
   * @param listed the listing of the whole table
   */
  def checkAll(listed: TableFiles): Unit =
    find(listed.tokens, listed, isWhole = true).foreach(refuse)

  /** What [[checkAll]] finds, as a text. */
  def warning(listed: TableFiles): Option[String] =
    find(listed.tokens, listed, isWhole = true).map(_.warning)

  private def refuse(lost: Lost): Nothing = throw ZOrderErrors.recordLost(
    lost.folder.toString,
    lost.token,
    state.commits.toString,
    lost.hidden.toString,
    lost.missing,
    lost.isDone)

  private def find(tokens: Seq[Path], chosen: TableFiles, isWhole: Boolean): Option[Lost] = {
    val folders = chosen.folders.map(_.path)
    publishing(tokens, folders.toSet).orElse(ending(folders, isWhole))
  }

  /** A folder that was being published: its token is visible. */
  private def publishing(tokens: Seq[Path], folders: Set[Path]): Option[Lost] =
    if (tokens.isEmpty) None
    else {
      // read after the listing: a run has a record before it has a token
      val log = TableLog.read(state)
      val open = log.unfinished.map(_._2.run).toSet
      tokens.find { t =>
        // a run that is done has no token any more when its mark appears
        folders(t.getParent) && !open(TokenFile.runOf(t.getName)) &&
        state.status(t).isDefined && !isOfOther(t.getParent)
      }.map { t =>
        val run = TokenFile.runOf(t.getName)
        val relative = Paths.relative(state.root, t.getParent)
        val own = state.own(relative, run)
        Lost(
          t.getParent,
          t.getName,
          own,
          if (Seq(own, state.closed(relative, run)).exists(state.status(_).isDefined)) None
          else Some(missing(log, run, relative)),
          isDone = log.commitOf(run).isDefined)
      }
    }

  /** The files that a run added to a folder, as far as the records tell, and that are not there. */
  private def missing(log: TableLog, run: String, folder: String): Seq[String] = for {
    (_, record) <- log.all if record.run == run
    change <- record.changes if change.folder == folder
    file <- change.added
    if state.status(Paths.child(state.folder(folder), file.name)).isEmpty
  } yield file.name

  /**
   * A folder in which a conflict was being ended: its token is hidden, and so are replaced files. On a store
   * no run hides a replaced file.
   */
  private def ending(folders: Seq[Path], isWhole: Boolean): Option[Lost] =
    if (ObjectStore.isOne(state.fs)) None else endingOnDisk(folders, isWhole)

  private def endingOnDisk(folders: Seq[Path], isWhole: Boolean): Option[Lost] = {
    val before = TableLog.read(state)
    val found = ManyFiles.map(candidates(before, folders, isWhole)) { case (folder, run) =>
      if (before.commitOf(run).isDefined) None else hiddenIn(folder, run).map(run -> _)
    }.flatten.filterNot(l => isOfOther(l._2.folder))
    // a run may have committed and met its conflict since the records were read
    lazy val now = TableLog.read(state)
    found.find(l => now.commitOf(l._1).isEmpty).map(_._2)
  }

  /**
   * Pairs of a folder and a run that may have hidden files there. The intents of the table tell the runs. If the
   * table has no record at all, its whole state may have been removed, so the folders are searched for
   * directories of runs.
   *
   * @param isWhole true to search all folders in any case, also folders without a visible file
   */
  private def candidates(
      log: TableLog,
      folders: Seq[Path],
      isWhole: Boolean): Seq[(Path, String)] = {
    val unfinished = new Intents(state).runs().filter(log.commitOf(_).isEmpty).toSet
    val listed =
      if (isWhole) state.runDirectories().map { case (run, folder, _) =>
        state.folder(folder) -> run
      }
      else if (log.last > 0 && unfinished.isEmpty) Nil
      else {
        // one listing for each folder, however many runs have died
        ManyFiles.map(folders)(f =>
          state.files(f).filter(_.isDirectory).map(d => f -> RunFolder.runOf(d.getPath.getName)))
          .flatten.collect { case (f, Some(run)) if log.last == 0 || unfinished(run) => f -> run }
      }
    listed.distinct
  }

  /**
   * The directory in which replaced files of a run are still hidden, although a conflict has ended the run in this
   * folder. The token of the conflict tells that. So these files belong to the folder, and are missing there. None if
   * no such file is hidden.
   */
  private def hiddenIn(folder: Path, run: String): Option[Lost] = {
    val relative = Paths.relative(state.root, folder)
    val seen = Seq(state.own(relative, run), state.closed(relative, run))
      .map(d => d -> state.openByName(d).keySet)
    for {
      (marked, _) <- seen.find(_._2(RunFolder.Conflict))
      (hidden, _) <- seen.find { case (_, names) =>
        names.exists(n => n.startsWith(RunFolder.Retained) && !isGivenBack(folder, run, seen, n))
      }
    } yield Lost(folder, s"${marked.getName}/${RunFolder.Conflict}", hidden, None)
  }

  /**
   * True if a hidden file is not missing in the folder: the folder has a file of its name, or the copy of the
   * change says that the run has not replaced such a file. False without a copy.
   */
  private def isGivenBack(
      folder: Path,
      run: String,
      seen: Seq[(Path, Set[String])],
      hidden: String): Boolean = {
    val copies = seen.flatMap { case (d, names) => ChangeCopy.of(run, names).map(new Path(d, _)) }
    copies.headOption.flatMap(ChangeCopy.read(state, _)).exists { copy =>
      copy.changes.head.replaced.filter(_.retained == hidden)
        .forall(r => state.status(Paths.child(folder, r.name)).isDefined)
    }
  }

  private def isOfOther(folder: Path): Boolean = Iterator.iterate(folder)(_.getParent)
    .takeWhile(d => d != null && d != state.root)
    .exists(d => state.status(new Path(d, StateDirectory.Name)).isDefined)
}

/**
 * A half-published folder that stays so.
 *
 * @param token the token of the run, as a message names it
 * @param hidden where files of the run may be hidden
 * @param missing if the run has no directory in the folder: its new files that are not in the folder
 * @param isDone false for a run without a record
 */
private final case class Lost(
    folder: Path,
    token: String,
    hidden: Path,
    missing: Option[Seq[String]],
    isDone: Boolean = false) {

  /** The text in SHOW LAYOUT. */
  def warning: String = {
    val run = if (isDone) "is done" else "has no record"
    s"$folder has $token of a run that $run, so rows may be hidden in $hidden; " +
      "RECOVER LAYOUT tells what to do"
  }
}
