package io.sparkzorder.log

import java.io.FileNotFoundException

import org.apache.hadoop.fs.{FileStatus, Path}

/** Finds what lies below `_zorder/` for a while only, and when its time has come; changes nothing. */
final class Leftovers(state: StateDirectory, nowMs: Long) {
  private lazy val history = RunHistory.read(state)

  /** Published runs of which replaced files are retained, with when they were replaced. */
  private lazy val published: Seq[(Record, Leftover)] = {
    val there = state.retained().map(s => s.getPath.getName.stripPrefix("_")).toSet
    for {
      (n, r) <- history.records
      if r.exchangesFiles && there(r.run) && state.isDone(n)
      kind = if (state.hasConflict(n)) Leftover.Conflict else Leftover.Retained
      leftover <- directory(kind, state.retained(r.run), r.run)
    } yield r -> leftover.copy(sinceMs = state.doneSince(n))
  }

  /** @param retainMs instead of each run's own retention, in milliseconds */
  def expired(retainMs: Option[Long]): Seq[Leftover] =
    published.collect {
      case (r, l) if l.kind == Leftover.Retained && isOver(l, retainMs.getOrElse(r.retainMs)) => l
    }

  /** What is kept for ever, unless somebody deletes it. */
  def conflicts: Seq[Leftover] = published.map(_._2).filter(_.kind == Leftover.Conflict)

  /** Staging directories of runs that are at work, or died. */
  lazy val uncommitted: Seq[Leftover] = state.staged().flatMap { s =>
    directory(Leftover.Staged, s.getPath, s.getPath.getName.stripPrefix("_"))
  }.filter(l => history.commitOf(l.run).forall(state.isDone))

  /** Temporary files of records that are being created, or never were. */
  def temporary: Seq[Leftover] = state.temporary().map { s =>
    Leftover(
      Leftover.Temporary,
      s.getPath,
      s.getPath.getName,
      1L,
      s.getLen,
      s.getModificationTime)
  }

  /** @param retainMs milliseconds from when it was replaced or written */
  def isOver(leftover: Leftover, retainMs: Long): Boolean = leftover.sinceMs + retainMs < nowMs

  private def directory(kind: Leftover.Kind, path: Path, run: String): Option[Leftover] =
    try {
      val all = below(path)
      val files = all.filter(_.isFile)
      // a directory changes when a file comes or goes
      val newest = (state.fs.getFileStatus(path) +: all).map(_.getModificationTime).max
      Some(Leftover(kind, path, run, files.size.toLong, files.map(_.getLen).sum, newest))
    } catch { case _: FileNotFoundException => None } // somebody else removes it

  private def below(directory: Path): Seq[FileStatus] =
    state.readableFiles(directory).flatMap(s =>
      if (s.isDirectory) s +: below(s.getPath) else Seq(s))
}

/**
 * Something below `_zorder/` that was meant to be there for a while only.
 *
 * @param run whose it is; of a temporary file its name
 * @param files files in it, and itself when it is a file
 * @param sinceMs when the files were replaced, or when the newest was written, in milliseconds
 */
final case class Leftover(
    kind: Leftover.Kind,
    path: Path,
    run: String,
    files: Long,
    bytes: Long,
    sinceMs: Long)

object Leftover {
  sealed abstract class Kind(val name: String)

  /** Files that a published run replaced. */
  case object Retained extends Kind("retained")

  /** Files that a run replaced which met a conflict: they may be the only copy, and stay. */
  case object Conflict extends Kind("conflict")

  /** Files of a run that no record says has committed. */
  case object Staged extends Kind("staged")

  /** A record that was written and never got its number. */
  case object Temporary extends Kind("temporary")
}
