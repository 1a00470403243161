package io.sparkzorder.log

import java.io.{FileNotFoundException, IOException}

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.util.{FileMove, ManyFiles, Paths, RawFiles}

/**
 * The files of a committed run in one folder, each in one of three places.
 *
 * New files: staged under `_zorder/`, then waiting in the folder under a hidden name, then visible.
 * Replaced files: in the folder, then retained under `_zorder/`. All new files wait in the folder
 * before the first replaced file leaves it. So whoever overwrites or drops the folder takes the
 * waiting files away with everything else, and the rename that would make one visible finds nothing:
 * no row comes back into an overwritten folder, however late a publisher is.
 *
 * @param change what the run does to the folder
 */
private[sparkzorder] final class FolderFiles(
    state: StateDirectory,
    record: Record,
    change: FolderChange) {
  private val fs = state.fs

  val folder: Path = state.folder(change.folder)
  private val retention = state.retained(record.run)

  private def staged(a: Added) = new Path(state.staging(record.run), a.staged)

  /** Where a new file waits in its folder; hidden, and taken away by whoever overwrites the folder. */
  private def waiting(a: Added) = Paths.child(folder, FolderFiles.waitingName(record, a))

  private def visible(a: Added) = Paths.child(folder, a.name)
  private def original(r: Replaced) = Paths.child(folder, r.name)
  private def retained(r: Replaced) = new Path(retention, r.retained)

  /** Where a replaced file stops on its way back; hidden, and taken away like one that waits. */
  private def back(r: Replaced) =
    Paths.child(folder, s"${FolderFiles.prefix(record)}_back${r.retained}")

  /** Where a new file is now; None when somebody took it away, or a later run has replaced it. */
  def find(a: Added): Option[FileStatus] =
    // in the order in which publishers move it, so that none is missed on its way
    status(staged(a)).orElse(status(waiting(a))).orElse(status(visible(a)))

  /** True when every new file is visible. */
  def isPublished: Boolean = change.added.nonEmpty && all(change.added)(isIn)

  /** True when a new file is visible: then all replaced ones were out before. */
  def isComingIn: Boolean = !all(change.added)(a => !isIn(a))

  // somebody else may have written a file under the name of one that is still to come
  private def isIn(a: Added) =
    exists(visible(a)) && !exists(waiting(a)) && !exists(staged(a))

  def canRetain: Boolean = exists(retention)

  /** What somebody did to a replaced file since the commit, if anything. */
  def changedInput: Option[String] =
    first(change.replaced) { r =>
      val now = status(original(r))
      if (now.exists(isSame(_, r))) None else whereIs(r, now)
    }

  /** A name to come that somebody's file has: only an undo brings back names that others know. */
  def takenName: Option[String] =
    // in this order: ours, once it is visible, is neither staged nor waiting any more
    first(change.added) { a =>
      val isTaken =
        isRetained(a) && exists(visible(a)) && (exists(staged(a)) || exists(waiting(a)))
      if (isTaken) Some(taken(a)) else None
    }

  /** Moves the staged files to where they wait. */
  def enter(): Option[String] =
    first(change.added) { a =>
      if (move(staged(a), waiting(a)) || exists(folder)) None else Some("it was dropped")
    }

  /** A new file that is neither waiting nor visible: somebody took it away. */
  def missingNew: Option[String] =
    // in this order, since another publisher moves them in this order
    first(change.added)(a =>
      if (exists(waiting(a)) || exists(visible(a))) None else Some(overwritten))

  /** Moves the replaced files to where they are retained. */
  def takeOut(): Option[String] =
    first(change.replaced) { r =>
      val before = status(original(r))
      if (before.exists(isSame(_, r))) move(original(r), retained(r))
      RawFiles.sweepChecksum(fs, original(r))
      whereIs(r, before)
    }

  /** Gives the waiting files their names. */
  def bringIn(): Option[String] =
    first(change.added) { a =>
      // both at once: only an undo brings back names that somebody may have used since
      if (isRetained(a) && exists(waiting(a)) && exists(visible(a)) && exists(waiting(a))) {
        Some(taken(a))
      } else if (move(waiting(a), visible(a)) || exists(visible(a))) None
      else Some(overwritten)
    }

  /**
   * Gives the replaced files that are out their names again, after somebody changed another one: no row
   * is hidden by a conflict that nobody else removed.
   *
   * Whoever overwrote the folder took the waiting files away. So the replaced ones come into the folder
   * under hidden names first, and only when all new files still wait there do they get their names: one
   * that comes later takes them away as well, and the last rename finds nothing. What does not come
   * back, because of that or because its name is taken, stays retained.
   */
  def putBack(): Unit = {
    if (allWait) ManyFiles.map(change.replaced)(r => move(retained(r), back(r)))
    if (allWait) {
      ManyFiles.map(change.replaced)(r => if (!exists(original(r))) move(back(r), original(r)))
    }
    ManyFiles.map(change.replaced)(r => move(back(r), retained(r)))
    ()
  }

  /**
   * Replaced files that are out and that [[putBack]] gives their names, as it stands: where they are now
   * by their names. For readers of a folder that met a conflict.
   */
  def comingBack: Map[String, FileStatus] =
    if (isComingIn || !allWait) Map.empty
    else {
      // in the order in which they are moved
      change.replaced.flatMap { r =>
        val now = status(retained(r)).orElse(status(back(r))).orElse(status(original(r)))
        now.filter(isSame(_, r)).map(r.name -> _)
      }.toMap
    }

  private def allWait: Boolean = all(change.added)(a => exists(waiting(a)))

  /** Removes the new files that are not visible; those of an undo first go back from the folder. */
  def discardNew(): Unit = {
    ManyFiles.map(change.added) { a =>
      // in this order: a publisher that is still at work moves them in this order
      if (isRetained(a)) move(waiting(a), staged(a))
      else {
        fs.delete(staged(a), false)
        fs.delete(waiting(a), false)
      }
    }
    ()
  }

  /**
   * None when a replaced file is retained, else what became of it.
   *
   * @param before its status in the folder, taken before this call: another publisher moves it from
   *   there to where it is retained
   */
  private def whereIs(r: Replaced, before: Option[FileStatus]): Option[String] =
    status(retained(r)) match {
      case Some(s) if isSame(s, r) => None
      case Some(_) =>
        // written over the old name between our look and our rename: it is somebody else's
        if (!exists(original(r))) move(retained(r), original(r))
        Some(s"the file ${r.name} was overwritten")
      case None =>
        Some(s"the file ${r.name} was ${if (before.isDefined) "overwritten" else "removed"}")
    }

  /**
   * Renames a file, which fails where the directory is missing.
   *
   * @return false when `from` is not there, or the directory of `to`
   */
  private def move(from: Path, to: Path): Boolean = {
    val moved = FileMove.rename(fs, from, to)
    if (!moved && exists(from) && exists(to.getParent)) {
      throw new IOException(s"cannot rename $from to $to")
    }
    moved
  }

  /** True for a file of an undo: it lies in a directory of its own below the staging directory. */
  private def isRetained(a: Added): Boolean = a.staged.contains('/')

  /** The first problem; no further file is begun after it. */
  private def first[A](files: Seq[A])(problem: A => Option[String]): Option[String] =
    ManyFiles.firstProblem(files)(problem)

  private def all[A](files: Seq[A])(holds: A => Boolean): Boolean =
    first(files)(f => if (holds(f)) None else Some("")).isEmpty

  private def isSame(s: FileStatus, r: Replaced): Boolean =
    s.getLen == r.length && s.getModificationTime == r.modified

  private def exists(path: Path): Boolean = status(path).isDefined

  private def status(path: Path): Option[FileStatus] =
    try Some(fs.getFileStatus(path))
    catch { case _: FileNotFoundException => None }

  private def taken(a: Added) = s"a file ${a.name} was written there"

  private def overwritten = "it was overwritten or dropped while it was being published"
}

private[sparkzorder] object FolderFiles {

  /** Name under which a new file waits in its folder. */
  def waitingName(record: Record, added: Added): String =
    s"${prefix(record)}${added.staged.split('/').last}"

  private def prefix(record: Record): String = s"_zorder_${record.run}"
}
