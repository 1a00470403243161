// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import scala.annotation.tailrec

import org.apache.hadoop.fs.Path

import io.sparkzorder.log.{ChangeCopy, Intent, Intents, RunFolder, StateDirectory}
import io.sparkzorder.util.{Directories, FileMove, ManyFiles}

/**
 * Takes the files that a run had replaced from its directories to those of its undo. From then on no
 * retention can delete some of them, and they are hidden files of a run like any other. The directories
 * of the undone run are gone, to which a publisher of that run, waking up late, would move the files
 * once more. They are never made again: what is given back goes to its closed directories, to which no
 * publisher moves anything.
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

  // An undo that was declared dead may take files later. Its note stays until this one has published.
  private var known = Set.empty[String]

  /**
   * Claims the files, also from another undo that has not committed: that one cannot commit any more.
   * Of several that do so at once, one is left: an aborted undo must not abort others.
   *
   * @param isComplete whether all the kept files are there. An undo that was declared dead may still be
   *   taking some, or the token of a folder, and gives them back
   * @return false when another undo was quicker
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
