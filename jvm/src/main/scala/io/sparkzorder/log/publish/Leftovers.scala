package io.sparkzorder.log.publish

import java.io.FileNotFoundException

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.log.{Intent, Intents, Record, RunFolder, StateDirectory, TableLog}
import io.sparkzorder.util.ManyFiles

/** Finds what runs left for a while only, and when its time has come; changes nothing. */
final class Leftovers(state: StateDirectory, nowMs: Long) {
  private lazy val history = TableLog.read(state)

  private lazy val notes: Seq[(FileStatus, Intent)] = new Intents(state).all()

  /** What published runs replaced and keep, with when it was replaced. */
  private lazy val published: Seq[(Record, Leftover)] = {
    // while an undo works on them, the files of a run are not to be removed
    val taken = notes.map(_._2).filter(i => history.commitOf(i.run).isEmpty).flatMap(_.undone).toSet
    val noted = for {
      (note, intent) <- notes if !taken(intent.run)
      n <- history.commitOf(intent.run) if state.isDone(n)
      record <- history.records.collectFirst { case (`n`, r) => r }
      kind = if (state.hasConflict(n)) Leftover.Conflict else Leftover.Retained
      leftover = of(kind, note, intent)
      if kind == Leftover.Retained || leftover.directories.nonEmpty
      since <- state.doneSince(n)
    } yield record -> leftover.copy(sinceMs = since)
    noted ++ format1Published
  }

  private def format1Published: Seq[(Record, Leftover)] = {
    val old = state.ofFormat1("_retained").map(s => s.getPath.getName.stripPrefix("_")).toSet
    for {
      (n, r) <- history.records
      if r.version < 2 && r.exchangesFiles && old(r.run) && state.isDone(n)
      kind = if (state.hasConflict(n)) Leftover.Conflict else Leftover.Retained
      leftover <- directory(kind, new Path(state.home, s"_retained/_${r.run}"), r.run)
      since <- state.doneSince(n)
    } yield r -> leftover.copy(sinceMs = since)
  }

  /** @param retainMs instead of each run's own retention, in milliseconds */
  def expired(retainMs: Option[Long]): Seq[Leftover] =
    published.collect {
      case (r, l) if l.kind == Leftover.Retained && isOver(l, retainMs.getOrElse(r.retainMs)) => l
    }

  /** What is kept for ever, unless somebody deletes it. */
  def conflicts: Seq[Leftover] = published.map(_._2).filter(_.kind == Leftover.Conflict)

  /** Hidden files of runs that are at work, or died. */
  lazy val uncommitted: Seq[Leftover] = {
    val noted = ManyFiles.map(notes.filter(n => history.commitOf(n._2.run).isEmpty)) {
      case (note, intent) => of(Leftover.Staged, note, intent)
    }
    val old = state.ofFormat1("_staged").flatMap { s =>
      directory(Leftover.Staged, s.getPath, s.getPath.getName.stripPrefix("_"))
    }
    noted ++ old.filter(l => history.commitOf(l.run).forall(state.isDone))
  }

  /** The directories of a run together. */
  private def of(kind: Leftover.Kind, note: FileStatus, intent: Intent): Leftover = {
    val all = ManyFiles.map(intent.folders) { f =>
      Seq(state.own(f, intent.run), state.closed(f, intent.run))
        .flatMap(directory(kind, _, intent.run))
    }.flatten
    Leftover(
      kind,
      if (all.size == 1) all.head.path else note.getPath,
      intent.run,
      all.map(_.files).sum,
      all.map(_.bytes).sum,
      (note.getModificationTime +: all.map(_.sinceMs)).max,
      all.map(_.path),
      Some(intent))
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

  /** @param retainMs milliseconds from when it was replaced or written; the largest is for ever */
  def isOver(leftover: Leftover, retainMs: Long): Boolean = nowMs - leftover.sinceMs > retainMs

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
 * @param directories of the run, if it has a note
 * @param intent the note of the run
 */
final case class Leftover(
    kind: Leftover.Kind,
    path: Path,
    run: String,
    files: Long,
    bytes: Long,
    sinceMs: Long,
    directories: Seq[Path] = Nil,
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
