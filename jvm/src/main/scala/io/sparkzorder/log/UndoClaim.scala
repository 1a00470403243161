package io.sparkzorder.log

import scala.util.Try

import org.apache.hadoop.fs.Path

import io.sparkzorder.util.FileMove

/**
 * Takes the files that a run had replaced from `_retained/_<undone>` to the staging directory of its
 * undo, by one rename. From then on no retention can delete some of them; they are staged files like
 * any other; and the directory is gone to which a publisher of the undone run, waking up late, would
 * move them once more.
 *
 * @param undone the run that is undone
 * @param run the undo
 */
final class UndoClaim(state: StateDirectory, undone: String, run: String, user: String) {
  private val folder = UndoClaim.folder(undone)

  /** Where the files are when they are claimed. */
  val place: Path = new Path(state.staging(run), folder)

  /** Path of a claimed file below the staging directory. */
  def staged(retained: String): String = s"$folder/$retained"

  /**
   * Claims the files, also from another undo that has not committed: that one cannot commit any more.
   *
   * @return false when they are gone, or when the other undo was quicker
   */
  def take(): Boolean = {
    // before the commit, as every run: a publisher that comes late must make no directory
    state.fs.mkdirs(state.staging(run))
    state.fs.mkdirs(state.retained(run))
    // an undo that fails meanwhile gives them back to where we have just looked
    val taken = (1 to UndoClaim.Attempts).exists { _ =>
      UndoClaim.holder(state, undone) match {
        case Some(other) => new DeadRuns(state, user).abort(other) && takeFrom(other)
        case None => rename(state.retained(undone), place)
      }
    }
    if (taken) protectRetained()
    taken
  }

  /** What the undo will replace is kept from the same people as what it brings back. */
  private def protectRetained(): Unit = {
    val (kept, own) = (state.fs.getFileStatus(place), state.fs.getFileStatus(state.retained(run)))
    if (own.getPermission != kept.getPermission) {
      state.fs.setPermission(own.getPath, kept.getPermission)
    }
  }

  private def takeFrom(other: String): Boolean = {
    val taken = rename(new Path(state.staging(other), folder), place)
    if (taken) clear(other)
    taken
  }

  /** Gives the files back after a failure; what another undo has taken meanwhile stays there. */
  def giveBack(): Unit = {
    if (!state.fs.exists(state.retained(undone))) rename(place, state.retained(undone))
    clear(run)
  }

  /** Removes the directories of an undo that did not commit. */
  private def clear(run: String): Unit = {
    state.deleteIfEmpty(state.staging(run))
    state.deleteIfEmpty(state.retained(run))
  }

  private def rename(from: Path, to: Path): Boolean =
    Try(FileMove.rename(state.fs, from, to)).getOrElse(false)
}

object UndoClaim {
  private val Attempts = 5

  /** Directory of the claimed files, below the staging directory of the undo. */
  def folder(undone: String): String = s"_undo_$undone"

  /** The undo that has claimed the files of a run and is not published, if there is one. */
  private def holder(state: StateDirectory, undone: String): Option[String] =
    state.staged().map(_.getPath)
      .find(p => state.fs.exists(new Path(p, folder(undone))))
      .map(_.getName.stripPrefix("_"))

  /** Where the files are that a run replaced. */
  def kept(state: StateDirectory, undone: String): Path =
    holder(state, undone)
      .map(run => new Path(state.staging(run), folder(undone)))
      .getOrElse(state.retained(undone))
}
