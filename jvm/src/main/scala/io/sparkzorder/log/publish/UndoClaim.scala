// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import scala.annotation.tailrec

import org.apache.hadoop.fs.Path

import io.sparkzorder.log.{ChangeCopy, Intent, Intents, RunFolder, StateDirectory}
import io.sparkzorder.util.{Directories, FileMove, ManyFiles}

/**
 * Moves the replaced files of a run from the directories of that run into the directories of its undo. After that,
 * clean-up cannot delete a part of them when their retention ends, and they are hidden like all files of a run. The
 * directories of the undone run are removed and never made again, so a delayed publisher of that run cannot move
 * the files a second time. If the undo fails, the files go into the closed directories of the undone run, to which
 * no publisher moves files.
 *
 * @param undone the run that is undone
 * @param run the undo
 */
private[sparkzorder] final class UndoClaim(
    state: StateDirectory,
    undone: String,
    run: String,
    user: String) {
  private val intents = new Intents(state)

  // A process whose undo was aborted may still be at work and move files later. The intent of its undo is kept
  // until this undo is published, so that such files are found.
  private var known = Set.empty[String]

  /**
   * Claims the files. If another undo that has not committed holds them, that undo is aborted first. If several
   * undos claim at once, exactly one survives, because an aborted undo may not abort others.
   *
   * @param isComplete whether all the kept files are there. An undo that was declared dead may still be
   *   taking some, or the token of a folder, and gives them back
   * @return false if another undo has won; else true, also if files are still missing after the last attempt, so
   *   the caller must look again before it commits
   */
  def take(folders: Seq[String], isComplete: () => Boolean): Boolean = {
    intents.write(Intent(run, folders, Some(undone)))
    val dead = new DeadRuns(state, user)
    def attempt(): Boolean = {
      known ++= UndoClaim.holders(state, undone).filter(_ != run)
      val others = known.toSeq
      val taken = others.forall(dead.abort(_, by = Some(run)))
      if (taken) {
        ManyFiles.map(folders) { f =>
          (kept(f) ++ others.map(state.own(f, _))).foreach(drain(_, state.own(f, run)))
          rename(f, RunFolder.Finished, RunFolder.Waiting)
        }
      }
      taken
    }
    def hasTokens =
      ManyFiles.firstProblem(folders)(f => if (isHere(f)) None else Some(f)).isEmpty
    @tailrec
    def claim(left: Int): Boolean =
      if (!attempt()) false
      else if (left == 0 || isComplete() && hasTokens) true
      else {
        Thread.sleep(UndoClaim.PauseMs)
        claim(left - 1)
      }
    claim(UndoClaim.Attempts)
  }

  /** Forgets the undos that were declared dead, when the files are published. */
  def settle(): Unit = known.foreach(intents.remove)

  /** Gives the files back after a failure; what another undo has taken meanwhile stays there. */
  def giveBack(folders: Seq[String]): Unit = {
    ManyFiles.map(folders)(giveBackIn)
    def isKept = folders.exists(kept(_).exists(state.fs.exists))
    // a dropped table is not made again
    if (state.fs.exists(state.commits) && isKept && !intents.holds(undone)) {
      intents.write(Intent(undone, folders))
    }
    intents.remove(run)
  }

  /** Where the files of the undone run are that no undo has taken. */
  private def kept(folder: String): Seq[Path] =
    Seq(state.own(folder, undone), state.closed(folder, undone))

  @tailrec
  private def giveBackIn(folder: String): Unit = {
    val (own, closed) = (state.own(folder, run), state.closed(folder, undone))
    state.fs.delete(new Path(own, ChangeCopy.name(run, folder)), false)
    rename(folder, RunFolder.Waiting, RunFolder.Finished)
    drain(own, closed)
    // another undo may empty and remove that directory at the same time
    Directories.removeEmpty(state.fs, closed)
    if (state.files(own).nonEmpty && state.fs.exists(state.folder(folder))) giveBackIn(folder)
  }

  private def drain(from: Path, to: Path): Unit =
    Directories.drain(state.fs, from, to, state.conf)

  private def isHere(folder: String): Boolean =
    state.status(new Path(state.own(folder, run), RunFolder.Waiting)).isDefined

  private def rename(folder: String, from: String, to: String): Unit = {
    val own = state.own(folder, run)
    val _ = FileMove.rename(state.fs, new Path(own, from), new Path(own, to))
  }
}

private[sparkzorder] object UndoClaim {
  private val Attempts = 20
  private val PauseMs = 50L

  /** Undos of a run that have taken its files, or are about to, and have not ended. */
  def holders(state: StateDirectory, undone: String): Seq[String] =
    new Intents(state).all().map(_._2).filter(_.undone.contains(undone)).map(_.run)
}
