package io.sparkzorder.log

import java.io.FileNotFoundException

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.util.ManyFiles

/** Finds what runs left for a while only, and when its time has come; changes nothing. */
final class Leftovers(state: StateDirectory, nowMs: Long) {
  private lazy val history = RunHistory.read(state)

  /** Directories with files that published runs replaced, with when they were replaced. */
  private lazy val published: Seq[(Record, Leftover)] = {
    val old = state.ofFormat1("_retained").map(s => s.getPath.getName.stripPrefix("_")).toSet
    val taken = claims.flatMap(_._2.undone).toSet
    for {
      (n, r) <- history.records
      if r.exchangesFiles && state.isDone(n) && !taken(r.run)
      kind = if (state.hasConflict(n)) Leftover.Conflict else Leftover.Retained
      directory <- if (r.version < 2) Seq(new Path(state.home, s"_retained/_${r.run}"))
        .filter(_ => old(r.run))
      else r.changes.flatMap(c => Seq(state.own(c.folder, r.run), state.closed(c.folder, r.run)))
      leftover <- this.directory(kind, directory, r.run)
    } yield r -> leftover.copy(sinceMs = state.doneSince(n))
  }

  private lazy val claims: Seq[(FileStatus, Intent)] = new Intents(state).all()

  /** @param retainMs instead of each run's own retention, in milliseconds */
  def expired(retainMs: Option[Long]): Seq[Leftover] =
    published.collect {
      case (r, l) if l.kind == Leftover.Retained && isOver(l, retainMs.getOrElse(r.retainMs)) => l
    }

  /** What is kept for ever, unless somebody deletes it. */
  def conflicts: Seq[Leftover] = published.map(_._2).filter(_.kind == Leftover.Conflict)

  /** Hidden files of runs that are at work, or died. */
  lazy val uncommitted: Seq[Leftover] = {
    val noted = ManyFiles.map(claims) { case (note, intent) =>
      val own = intent.folders.map(state.own(_, intent.run))
      val all = own.flatMap(directory(Leftover.Staged, _, intent.run))
      Leftover(
        Leftover.Staged,
        if (own.size == 1 && all.nonEmpty) own.head else note.getPath,
        intent.run,
        all.map(_.files).sum,
        all.map(_.bytes).sum,
        (note.getModificationTime +: all.map(_.sinceMs)).max,
        Some(intent))
    }
    val old = state.ofFormat1("_staged").flatMap { s =>
      directory(Leftover.Staged, s.getPath, s.getPath.getName.stripPrefix("_"))
    }
    (noted ++ old).filter(l => history.commitOf(l.run).forall(state.isDone))
  }

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
      val files = all.filter(s => s.isFile && !RunFolder.isToken(s.getPath.getName))
      // a directory changes when a file comes or goes
      val newest = (state.fs.getFileStatus(path) +: all).map(_.getModificationTime).max
      Some(Leftover(kind, path, run, files.size.toLong, files.map(_.getLen).sum, newest))
    } catch { case _: FileNotFoundException => None } // somebody else removes it

  private def below(directory: Path): Seq[FileStatus] =
    state.readableFiles(directory).flatMap(s =>
      if (s.isDirectory) s +: below(s.getPath) else Seq(s))
}

/**
 * Something in the table's directory that was meant to be there for a while only.
 *
 * @param path a directory or file; the note of a run that has several directories
 * @param run whose it is; of a temporary file its name
 * @param files data files in it, and itself when it is a file
 * @param sinceMs when the files were replaced, or when the newest was written, in milliseconds
 * @param intent of a run that did not commit
 */
final case class Leftover(
    kind: Leftover.Kind,
    path: Path,
    run: String,
    files: Long,
    bytes: Long,
    sinceMs: Long,
    intent: Option[Intent] = None)

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
