package io.sparkzorder.log.publish

import scala.annotation.tailrec

import org.apache.hadoop.fs.Path

import io.sparkzorder.log.{Intent, Intents, RunFolder, StateDirectory}
import io.sparkzorder.util.{Directories, FileMove, ManyFiles}

/**
 * Takes the files that a run had replaced from its directories to those of its undo. From then on no
 * retention can delete some of them, and they are hidden files of a run like any other. The directories
 * of the undone run are gone, to which a publisher of that run, waking up late, would move the files
 * once more.
 *
 * @param undone the run that is undone
 * @param run the undo
 */
final class UndoClaim(state: StateDirectory, undone: String, run: String, user: String) {
  private val intents = new Intents(state)

  /**
   * Claims the files, also from another undo that has not committed: that one cannot commit any more.
   * Of several that do so at once, one is left: whoever was declared dead declares nobody dead.
   *
   * @param isComplete whether all the kept files are there. An undo that was declared dead may still be
   *   taking some, or the token of a folder, and gives them back
   * @return false when another undo was quicker
   */
  def take(folders: Seq[String], isComplete: () => Boolean): Boolean = {
    intents.write(Intent(run, folders, Some(undone)))
    val dead = new DeadRuns(state, user)
    // An undo that was declared dead may take files later: its note is gone then, its directories are not.
    var known = Set.empty[String]
    def attempt(): Boolean = {
      known ++= UndoClaim.holders(state, undone).filter(_ != run)
      val others = known.toSeq
      val taken = others.forall(dead.abort(_, by = Some(run)))
      if (taken) {
        ManyFiles.map(folders) { f =>
          (undone +: others).foreach(from => move(f, from, run))
          rename(f, run, RunFolder.Finished, RunFolder.Waiting)
        }
        others.foreach(intents.remove)
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

  /** Gives the files back after a failure; what another undo has taken meanwhile stays there. */
  def giveBack(folders: Seq[String]): Unit = {
    ManyFiles.map(folders) { f =>
      rename(f, run, RunFolder.Waiting, RunFolder.Finished)
      move(f, run, undone)
    }
    if (!intents.holds(undone)) intents.write(Intent(undone, folders))
    intents.remove(run)
  }

  private def move(folder: String, from: String, to: String): Unit =
    Directories.drain(state.fs, state.own(folder, from), state.own(folder, to), state.conf)

  private def isHere(folder: String): Boolean =
    state.status(new Path(state.own(folder, run), RunFolder.Waiting)).isDefined

  private def rename(folder: String, run: String, from: String, to: String): Unit = {
    val own = state.own(folder, run)
    val _ = FileMove.rename(state.fs, new Path(own, from), new Path(own, to))
  }
}

object UndoClaim {
  private val Attempts = 20
  private val PauseMs = 50L

  /** Undos of a run that have taken its files, or are about to, and have not ended. */
  def holders(state: StateDirectory, undone: String): Seq[String] =
    new Intents(state).all().map(_._2).filter(_.undone.contains(undone)).map(_.run)
}
