// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import scala.annotation.tailrec

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.log._
import io.sparkzorder.util.{Directories, FileMove, ManyFiles, Paths}

/**
 * Plans the undo of one run: the files that the run added go, and the files that it replaced come back under their
 * old names. An undo is committed and published like any other run. The constructor lists the table and the kept
 * files. This class changes nothing.
 *
 * @param number the number of the record of the run
 * @param record the record of the run to be undone
 * @param keepers the runs whose directories may hold the kept files: the run itself, and undos of this run
 */
private[sparkzorder] final class Undo(
    state: StateDirectory,
    number: Long,
    record: Record,
    keepers: Seq[String]) {

  private val inputs: Map[(String, String), FileStatus] =
    ManyFiles.map(record.changes) { c =>
      keepers.flatMap(state.hidden(c.folder, _)).flatMap(state.byName).map { case (n, s) =>
        (c.folder, n) -> s
      }
    }.flatten.toMap

  private val table: Map[String, Map[String, FileStatus]] =
    ManyFiles.map(record.changes)(c => c.folder -> state.byName(state.folder(c.folder))).toMap

  /** True if an earlier undo of the run was committed and then abandoned. */
  lazy val isAbandoned: Boolean = {
    val log = TableLog.read(state)
    log.records.exists { case (_, r) => r.undone.contains(record.run) && log.isAbandoned(r.run) }
  }

  /** Why the run cannot be undone, as the end of a sentence; None when it can. */
  def obstacle: Option[String] =
    if (!state.isDone(number)) Some("it is not published yet")
    else if (isAbandoned) {
      // another undo can take these files only from an undo without a commit
      Some("RECOVER LAYOUT has abandoned an UNDO of it, which had taken the files that it replaced")
    } else if (state.hasConflict(number)) {
      Some(
        "it met a conflict when it was published; what it replaced and could not give back lies " +
          s"in directories ${RunFolder.directory(record.run)}_closed")
    } else {
      val gone = for {
        c <- record.changes
        r <- c.replaced if !inputs.get((c.folder, r.retained)).exists(r.is)
      } yield c.path(r.name)
      // A program that overwrites a folder also removes the kept files there. The overwritten files are the cause, so
      // they are reported before the missing kept files.
      record.changes.flatMap(obstacleIn).headOption.orElse {
        if (gone.nonEmpty && gone.size == record.changes.map(_.replaced.size).sum) {
          Some(Undo.NotRetained)
        } else {
          gone.headOption.map(n =>
            s"$n, one of the files that it replaced, was removed or changed where it was kept")
        }
      }
    }

  private def obstacleIn(change: FolderChange): Option[String] = {
    val visible = table(change.folder)
    // The token beside the data shows that the folder is a copy, made while the run was being published. An UNDO would
    // remove the hidden directory to which this token belongs, so the UNDO is refused.
    val token = RunFolder.tokenName(record.run, record.suffix)
    val half =
      if (!visible.contains(token)) None
      else Some(s"${change.path(token)} tells that it is half published there")
    val touched = change.added.flatMap { a =>
      visible.get(a.name) match {
        case None => Some(s"${change.path(a.name)}, which it wrote, was removed since")
        case Some(s) if !isAsWritten(a, s) =>
          Some(s"${change.path(a.name)}, which it wrote, was changed since")
        case _ => None
      }
    }
    def occupied = change.replaced.find(r => visible.contains(r.name)).map(r =>
      s"a file ${change.path(r.name)} was written since, and it replaced one of that name")
    half.orElse(touched.headOption).orElse(occupied)
  }

  // a record of an older release has no modification time; then the file must not be newer than the mark of the run
  private def isAsWritten(a: Added, s: FileStatus): Boolean =
    s.getLen == a.length && (
      if (a.modified > 0) s.getModificationTime == a.modified
      else state.doneSince(number).exists(s.getModificationTime <= _)
    )

  /** The kept files, each with its folder and its hidden name. */
  def keptFiles: Seq[((String, String), FileStatus)] = for {
    c <- record.changes
    r <- c.replaced
    file <- inputs.get((c.folder, r.retained))
  } yield (c.folder, r.retained) -> file

  /**
   * The changes that undo the run. Call this method only if there is no obstacle.
   *
   * @param rows the number of rows of a kept file, by its folder and its hidden name
   */
  def changes(rows: ((String, String)) => Long): Seq[FolderChange] =
    record.changes.map { c =>
      FolderChange(
        c.folder,
        c.added.zipWithIndex.map { case (a, i) =>
          val modified = table(c.folder)(a.name).getModificationTime
          Replaced(a.name, a.length, modified, Undo.retainedName(i))
        },
        c.replaced.map { r =>
          Added(r.retained, r.name, r.length, rows((c.folder, r.retained)), r.modified)
        })
    }
}

private[sparkzorder] object Undo {

  /** Why a run cannot be undone whose replaced files were all removed, as the end of a sentence. */
  val NotRetained = "the files that it replaced are not retained any more"

  /** The hidden name of file number `i` that an undo replaces. */
  def retainedName(i: Int): String = s"${RunFolder.RetainedByUndo}$i"

  /** The runs whose directories may hold the files that `run` replaced: `run` itself, and undos of it. */
  def keepers(state: StateDirectory, run: String): Seq[String] =
    run +: UndoClaim.holders(state, run)
}

/**
 * Claims the replaced files of a run for its undo: moves them from the directories of that run into the directories
 * of the undo. There, clean-up does not delete any of them, even if their retention ends meanwhile, and they lie where
 * a publisher looks for the new files of a run. The directories of the undone run are removed and never made again, so
 * a delayed publisher of that run cannot move the files a second time. If the undo fails, the files go into the closed
 * directories of the undone run, because no publisher takes files from there.
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

  // Other undos, which this undo has aborted. Their processes may still be at work and move files. Their intents are
  // kept until this undo is published, so that such files are found.
  private var known = Set.empty[String]

  /**
   * Claims the files. Another undo that holds them and has not committed is aborted first. If several undos claim at
   * once, exactly one survives, because an aborted undo must not abort others.
   *
   * @param isComplete true when all kept files are there. A file or a token may be missing for a while, because an
   *   aborted undo may still be moving it, and then gives it back
   * @return false if another undo has won. If true, files may still be missing after the last attempt, so the
   *   caller must check again before it commits
   */
  def take(folders: Seq[String], isComplete: () => Boolean): Boolean = {
    intents.write(Intent(run, folders, Some(undone)))
    val dead = new DeadRuns(state, user)
    def attempt(): Boolean = {
      known ++= UndoClaim.holders(state, undone).filter(_ != run)
      val others = known.toSeq
      val areDead = others.forall(dead.abort(_, by = Some(run)))
      if (areDead) {
        ManyFiles.map(folders) { f =>
          (kept(f) ++ others.map(state.own(f, _))).foreach(drain(_, state.own(f, run)))
          rename(f, RunFolder.Finished, RunFolder.Waiting)
        }
      }
      areDead
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

  /** Removes the intents of the aborted undos. Called when the undo is published. */
  def settle(): Unit = known.foreach(intents.remove)

  /**
   * Gives the files back after a failure, apart from those that another undo has claimed meanwhile. The undo must not
   * have replaced a file ([[Cleanup.discard]] checks this).
   */
  def giveBack(folders: Seq[String]): Unit = {
    ManyFiles.map(folders)(giveBackIn)
    def isKept = folders.exists(kept(_).exists(state.fs.exists))
    // writing the intent must not create the directory of a dropped table again
    if (state.fs.exists(state.commits) && isKept && !intents.holds(undone)) {
      intents.write(Intent(undone, folders))
    }
    intents.remove(run)
  }

  /** The directories with the files of the undone run that no undo has claimed. */
  private def kept(folder: String): Seq[Path] = state.hidden(folder, undone)

  @tailrec
  private def giveBackIn(folder: String): Unit = {
    val (own, closed) = (state.own(folder, run), state.closed(folder, undone))
    state.fs.delete(new Path(own, ChangeCopy.name(run, folder)), false)
    rename(folder, RunFolder.Waiting, RunFolder.Finished)
    // the token is beside the data if another program has removed the record while the undo was being published
    RunFolder.tokenNames(run).foreach(token =>
      FileMove.rename(
        state.fs,
        Paths.child(state.folder(folder), token),
        new Path(own, RunFolder.Finished)))
    drain(own, closed)
    // Another undo may empty and remove `closed` at the same time, so that the move of some files fails. These files
    // are moved again.
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

  /** The undos of a run that have claimed its files, or are about to, and have not ended. */
  def holders(state: StateDirectory, undone: String): Seq[String] =
    new Intents(state).all().map(_._2).filter(_.undone.contains(undone)).map(_.run)
}
