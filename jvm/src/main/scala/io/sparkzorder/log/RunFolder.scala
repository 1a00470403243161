// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.IOException

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.table.{DataFormat, TokenFile}
import io.sparkzorder.util.{Directories, Durable, FileMove, ManyFiles, Paths, RawFiles}

/** How far a committed run is in one folder. The place of the run's token in the folder shows the state. */
private[sparkzorder] sealed trait FolderState
private[sparkzorder] object FolderState {

  /** No file of the run has its final name yet. Readers with the extension read the new files already. */
  case object Committed extends FolderState

  /** The folder is being published. Readers read the new files. */
  case object Publishing extends FolderState

  /** Every new file is visible. */
  case object Published extends FolderState

  /** Another program changed the folder, or the run is abandoned. Readers read the old files. */
  case object Conflict extends FolderState

  /**
   * There is no token. As a rule another program has dropped or overwritten the folder. Or the run met a conflict
   * there, gave all files back and removed its token. If replaced files of the run are still hidden, see
   * [[RunFolder.isInDoubt]].
   */
  case object Overwritten extends FolderState
}

/**
 * What a committed run does in one folder. The run has a hidden directory there, `_zorder_<run>`, with the new
 * files until they are visible, the replaced files until they expire, and the token, an empty data file. Every
 * rename goes into that directory or out of it. A program that overwrites or drops the folder removes the
 * directory, and so does the end of a conflict. After that, no late publisher can rename anything.
 *
 * Each method may be repeated, and several processes may run it at once.
 *
 * @param change what the run does to the folder
 */
private[sparkzorder] final class RunFolder(
    state: StateDirectory,
    record: Record,
    val change: FolderChange) {
  private val fs = state.fs

  val folder: Path = state.folder(change.folder)
  val own: Path = state.own(change.folder, record.run)
  val closed: Path = state.closed(change.folder, record.run)
  private val token = Paths.child(folder, RunFolder.tokenName(record.run, record.suffix))

  private def original(r: Replaced) = Paths.child(folder, r.name)
  private def visible(a: Added) = Paths.child(folder, a.name)
  private def inFolder(files: Seq[Replaced]) = state.named(folder, files.map(_.name))
  private def hidden(a: Added) = new Path(own, a.staged)

  // an undo gives files their old names, and another program may have given such a name to a file of its own
  private val bringsBack = record.kind == Record.Undo

  /**
   * The state of the folder by the place of the token. The places are looked at in the order in which the token
   * moves, so a token that moves meanwhile is found at a later place.
   */
  def folderState: FolderState =
    if (exists(new Path(own, RunFolder.Waiting))) FolderState.Committed
    else if (exists(token)) FolderState.Publishing
    else if (exists(new Path(own, RunFolder.Finished))) FolderState.Published
    else if (Seq(own, closed).exists(d => exists(new Path(d, RunFolder.Conflict))))
      FolderState.Conflict
    else FolderState.Overwritten

  /**
   * True when the token is gone and a replaced file is hidden. Another program has either overwritten the visible
   * files of the folder, the token among them, or removed the token alone, because it is an empty file. No file
   * tells which of the two has happened, so a user has to decide.
   */
  def isInDoubt: Boolean =
    folderState == FolderState.Overwritten && hidingReplaced.nonEmpty &&
      folderState == FolderState.Overwritten

  // in this order, because the end of a conflict moves the files from the first directory to the second
  private def hidingReplaced: Seq[Path] = Seq(own, closed).filter { d =>
    val there = state.byName(d)
    change.replaced.exists(r => there.contains(r.retained))
  }

  /**
   * True when the token is gone and every replaced file still has its name. Then the folder was not overwritten,
   * and no new file was visible, because all replaced files are hidden before the first new file is visible.
   */
  def isUntouched: Boolean = folderState == FolderState.Overwritten && exists(own) && {
    val here = inFolder(change.replaced)
    change.replaced.nonEmpty && change.replaced.forall(r => here.get(r.name).exists(r.is))
  }

  def doubt: ZOrderException =
    ZOrderErrors.folderInDoubt(
      folder.toString,
      record.run,
      Some(hidingReplaced).filter(_.nonEmpty).getOrElse(Seq(own)).mkString(" and "))

  /** False when the run's directory was removed, or moved away with the folder. */
  def isThere: Boolean = exists(own) || exists(closed)

  /**
   * The present status of a new file. The places are looked at in the order of its moves: a new file is hidden,
   * then visible, and hidden again if its publisher finds the token gone.
   */
  def find(a: Added): Option[FileStatus] =
    status(hidden(a)).orElse(status(visible(a))).orElse(status(hidden(a)))

  /**
   * The present status of a replaced file. The places are looked at in the order of its moves: a late publisher may
   * hide the file, another publisher may move it to the closed directory, and then it may get its name again.
   */
  def find(r: Replaced): Option[FileStatus] =
    visible(r).orElse(status(new Path(own, r.retained)))
      .orElse(status(new Path(closed, r.retained))).orElse(visible(r))

  /** The status of a replaced file that has its name; None if another file has that name, or no file. */
  def visible(r: Replaced): Option[FileStatus] = status(original(r)).filter(r.is)

  /** What another program did to an input since the commit, if anything. */
  def changedInput: Option[String] = {
    val here = inFolder(change.replaced)
    first(change.replaced) { r =>
      if (here.get(r.name).exists(r.is)) None
      else {
        val now = status(original(r))
        if (now.exists(r.is)) None else whereIs(r, now.isDefined)
      }
    }
  }

  /** The problem if a file of another program has a name that the undo is about to bring back. */
  def occupiedName: Option[String] = if (bringsBack) first(change.added)(occupied) else None

  // The name is looked at before the hidden file, because another publisher may rename the hidden file between the
  // two looks. In the other order, that one file would be seen hidden and then visible, as if there were two files.
  private def occupied(a: Added): Option[String] =
    if (exists(visible(a)) && exists(hidden(a))) Some(s"a file ${a.name} was written there")
    else None

  /** A new file that is neither in the run's directory nor visible. */
  def missingNew: Option[String] = {
    val here = state.byName(own)
    first(change.added)(a =>
      if (here.contains(a.staged) || find(a).isDefined) None
      else Some(s"the new file ${a.name} was removed"))
  }

  /**
   * True when a new file is visible. Then all replaced files are hidden, so the publish must go on. In an undo, a
   * visible file counts only if its hidden file is gone: else another program may have written a file of that name.
   */
  def isRevealing: Boolean = {
    val here = state.named(folder, change.added.map(_.name))
    change.added.exists(a =>
      here.contains(a.name) && exists(visible(a)) && !(bringsBack && exists(hidden(a))))
  }

  /** Makes the token visible, so that a program which overwrites the visible files also removes the token. */
  def showToken(): Unit = {
    val _ = move(new Path(own, RunFolder.Waiting), token)
  }

  /** Hides the replaced files, and checks that each has arrived. */
  def retain(): Option[String] = {
    val here = inFolder(change.replaced)
    ManyFiles.map(change.replaced.filter(r => here.get(r.name).exists(r.is))) { r =>
      move(original(r), new Path(own, r.retained))
      RawFiles.sweepChecksum(fs, original(r))
    }
    val arrived = state.byName(own)
    first(change.replaced) { r =>
      if (arrived.get(r.retained).exists(r.is)) None else whereIs(r, here.contains(r.name))
    }
  }

  /**
   * Gives the new files their names while the token is beside them. Each thread looks at the token before its first
   * rename and after every rename, so there is a look right before and right after each rename.
   */
  def reveal(): Option[String] = {
    def gone = if (exists(token)) None else Some(overwritten)
    def revealed(a: Added): Option[String] = {
      val problem = if (bringsBack) occupied(a) else None
      if (problem.isEmpty) move(hidden(a), visible(a))
      problem.orElse(gone)
    }
    first(ManyFiles.shares(change.added))(share =>
      gone.orElse(share.iterator.flatMap(revealed(_)).take(1).toList.headOption))
  }

  /**
   * The problem if another program has removed a new file while the files became visible. The other new files stay
   * and the old files do not come back: the program may have written their rows anew, and then they would be there
   * twice.
   */
  def lostNew: Option[String] = {
    val here = state.named(folder, change.added.map(_.name))
    first(change.added)(a =>
      if (here.contains(a.name) || exists(visible(a))) None
      else Some(s"the new file ${a.name} was removed while it was being published"))
  }

  /** Marks the folder published. False when the token was not beside the data any more. */
  def finish(): Boolean = move(token, new Path(own, RunFolder.Finished))

  /** Renames the token to the token of a conflict. After that no process can finish the folder. */
  def decideConflict(): Unit = {
    val to = new Path(own, RunFolder.Conflict)
    val _ = move(new Path(own, RunFolder.Waiting), to) || move(token, to)
  }

  /** Moves the new files that are visible back into the run's directory. */
  def hideAgain(): Unit = {
    ManyFiles.map(change.added)(a =>
      if (status(visible(a)).exists(isOurs(_, a))) move(visible(a), hidden(a)))
    ()
  }

  /** Writes a token of a conflict into a folder that was not overwritten, but has lost its token. */
  def putConflict(): Unit = state.write(
    new Path(if (exists(own)) own else closed, RunFolder.Conflict),
    Array.emptyByteArray)

  /** Syncs the renames so far, because a disk may not keep their order in a power failure. */
  def sync(): Unit = Durable.directories(fs, Seq(folder, own))

  /**
   * Ends the folder in a conflict.
   *
   * The run's directory is emptied and removed first, because no late publisher can rename a file into a removed
   * directory. To rename the directory would not do: a local disk looks up both directories of a rename and then
   * renames, so a rename that was under way would still reach the directory under its new name. Only then do the
   * replaced files get their names again.
   *
   * @param restore true to give the replaced files their names again, because the folder was not overwritten
   * @param isHiding true if a replaced file that is found nowhere may have been removed while it was hidden. If
   *   there is such a file, the new files may have the only copy of its rows, and they stay
   * @return what became of the replaced files, as a sentence
   */
  def resolve(restore: Boolean, isHiding: Boolean): String = {
    Directories.drain(fs, own, closed, state.conf)
    ManyFiles.map(change.added) { a =>
      if (status(visible(a)).exists(isOurs(_, a))) move(visible(a), new Path(closed, a.staged))
    }
    if (restore) {
      ManyFiles.map(change.replaced) { r =>
        if (!exists(original(r))) move(new Path(closed, r.retained), original(r))
      }
    }
    val nowhere =
      if (!restore || !isHiding) Nil
      else {
        // a file that another program has written under this name replaces the rows of the old file
        change.replaced.filterNot(r => exists(original(r)) || exists(new Path(closed, r.retained)))
      }
    // the new files of an undo are the kept files of the undone run, perhaps the only copies, so they stay
    if (!bringsBack && nowhere.isEmpty) {
      ManyFiles.map(change.added)(a => delete(new Path(closed, a.staged)))
    }
    // a program that was killed while it overwrote the folder may have removed our directory and left the token
    delete(token)
    val left = state.byName(closed)
    if (left.keys.forall(n => restore && n == RunFolder.Conflict || ChangeCopy.isOne(n))) {
      // the token goes last: as long as it is there, readers read the old files wherever they are
      left.keys.toSeq.sortBy(_ == RunFolder.Conflict).foreach(n => delete(new Path(closed, n)))
      Directories.removeEmpty(fs, closed)
    }
    val fate =
      if (bringsBack) ""
      else if (nowhere.isEmpty) "The new files of the run for that directory were discarded. "
      else {
        s"${nowhere.size} of the files that the run replaced are nowhere: " +
          s"${ZOrderErrors.some(nowhere.map(_.name))}. The new files have their rows, and are kept in $closed. "
      }
    fate + outcome(change.replaced.filter(r => left.contains(r.retained)))
  }

  private def outcome(kept: Seq[Replaced]): String =
    if (change.replaced.isEmpty) ""
    else if (kept.isEmpty) {
      if (change.replaced.forall(visible(_).isDefined)) {
        "The files that the run replaced have their names again."
      } else "Of the files that the run replaced none is hidden."
    } else {
      s"${kept.size} of the ${change.replaced.size} files that the run replaced are kept in $closed: " +
        s"${ZOrderErrors.some(kept.map(_.name))}."
    }

  private def delete(file: Path): Unit = {
    val _ = fs.delete(file, false)
  }

  /** None when a replaced file is in the run's directory, else what another program did to the file. */
  private def whereIs(r: Replaced, wasThere: Boolean): Option[String] =
    status(new Path(own, r.retained)) match {
      case Some(s) if r.is(s) => None
      case Some(_) =>
        // another program wrote this file between our look and our rename, and we have hidden it
        if (!exists(original(r))) move(new Path(own, r.retained), original(r))
        Some(s"the file ${r.name} was overwritten")
      case None =>
        Some(s"the file ${r.name} was ${if (wasThere) "overwritten" else "removed"}")
    }

  /** @return false when `from`, or the directory of `to`, does not exist */
  private def move(from: Path, to: Path): Boolean = {
    val moved = FileMove.rename(fs, from, to)
    if (!moved && exists(from) && exists(to.getParent)) {
      throw new IOException(s"cannot rename $from to $to")
    }
    moved
  }

  private def first[A](files: Seq[A])(problem: A => Option[String]): Option[String] =
    ManyFiles.firstProblem(files)(problem)

  /**
   * True if a visible file with the name of a new file is this new file. For most runs the length is enough,
   * because the name has the id of the run. An undo brings old names back, so the time is compared, too. In a copy
   * of the table the file may have another time. Then it is the file of the undo if the undo does not hide that
   * file any more.
   */
  private def isOurs(s: FileStatus, a: Added): Boolean =
    s.getLen == a.length &&
      (!bringsBack || a.modified <= 0 || s.getModificationTime == a.modified ||
        !Seq(own, closed).exists(d => exists(new Path(d, a.staged))))

  private def exists(path: Path): Boolean = status(path).isDefined

  private def status(path: Path): Option[FileStatus] = state.status(path)

  private def overwritten = "it was overwritten or dropped while it was being published"
}

private[sparkzorder] object RunFolder {
  val Waiting = "_waiting"
  val Finished = "_finished"
  val Conflict = "_conflict"
  def directory(run: String): String = s"_zorder_$run"

  private val Directory = s"${directory("([0-9a-f-]{36})")}(?:_closed)?".r

  /** The run to which a directory of a folder belongs, by its name. */
  def runOf(name: String): Option[String] = name match {
    case Directory(run) if RecordCheck.isRun(run) => Some(run)
    case _ => None
  }

  /** True for the token of a run in its directory. */
  def isToken(name: String): Boolean = name == Waiting || name == Finished || name == Conflict

  /** True for a token and for the copy of a change: files in a run's directory that hold no rows. */
  def isMetadata(name: String): Boolean = isToken(name) || ChangeCopy.isOne(name)

  val Retained = "_old_"

  /** The hidden name of a replaced file, by the number of the file in its folder. */
  def retainedName(i: Int): String = s"$Retained$i"

  /**
   * The prefix of the hidden names of files that an undo replaces. It differs from [[Retained]] because the files
   * that the undo brings back lie in the same directory, under the names of [[retainedName]].
   */
  val RetainedByUndo = s"${Retained}u"

  val New = "_new_"

  /** The hidden name of a new file until it is visible. */
  def newName(file: Int, attempt: Int): String = s"$New${file}_$attempt"

  /** Name of the token while it is beside the data. */
  def tokenName(run: String, suffix: String): String = s"${TokenFile.Prefix}$run$suffix"

  /** The names that [[tokenName]] may give to the token of a run. */
  def tokenNames(run: String): Seq[String] =
    DataFormat.all.map(f => tokenName(run, s".${f.name}"))
}
