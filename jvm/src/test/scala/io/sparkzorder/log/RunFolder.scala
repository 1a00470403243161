package io.sparkzorder.log

import java.io.{File, FileNotFoundException, IOException}
import java.nio.file.{
  DirectoryNotEmptyException,
  FileAlreadyExistsException => NioFileExists,
  Files,
  NoSuchFileException
}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, FileContext, FileStatus, FileSystem, Path}
import org.apache.hadoop.fs.permission.FsPermission

import io.sparkzorder.util.{FileMove, ManyFiles, Paths, RawFiles}

/** How far a committed run is in one folder: where its token lies. */
private[sparkzorder] sealed trait Stage
private[sparkzorder] object Stage {

  /** Committed, and nothing of it is visible. */
  case object Waiting extends Stage

  /** The folder is being published. */
  case object Publishing extends Stage

  /** Every new file is visible. */
  case object Finished extends Stage

  /** The old files count: in conflict with another program, or abandoned. */
  case object Conflict extends Stage

  /** There is no token: the folder was overwritten by a program that spares hidden names, or dropped. */
  case object Gone extends Stage
}

/**
 * What a committed run does in one folder. All that it has there lies in a hidden directory of the
 * folder, `_zorder_<run>`: new files until they are visible, replaced ones until they expire, and the
 * token, an empty data file. Every rename goes into that directory or out of it. Whoever overwrites or
 * drops the folder takes the directory away, and whoever ends a conflict removes it: then no late
 * publisher can rename anything any more.
 *
 * Each method may be repeated, and several processes may be in it at once.
 *
 * @param change what the run does to the folder
 * @param suffix of data files, such as `.parquet`
 */
private[sparkzorder] final class RunFolder(
    state: StateDirectory,
    run: String,
    change: FolderChange,
    suffix: String,
    conf: Configuration) {
  private val fs = state.fs

  val folder: Path = state.folder(change.folder)
  private val own = Paths.child(folder, RunFolder.directory(run))
  private val closed = Paths.child(folder, s"${RunFolder.directory(run)}_closed")
  private val token = Paths.child(folder, RunFolder.tokenName(run, suffix))

  private def original(r: Replaced) = Paths.child(folder, r.name)
  private def visible(a: Added) = Paths.child(folder, a.name)

  /** Where the token is. It moves in this order, and so it is looked for: none is missed on its way. */
  def stage: Stage =
    if (exists(new Path(own, RunFolder.Waiting))) Stage.Waiting
    else if (exists(token)) Stage.Publishing
    else if (exists(new Path(own, RunFolder.Finished))) Stage.Finished
    else if (Seq(own, closed).exists(d => exists(new Path(d, RunFolder.Conflict)))) Stage.Conflict
    else Stage.Gone

  /** What another program did to an input since the commit, if anything. */
  def changedInput: Option[String] = first(change.replaced) { r =>
    val now = status(original(r))
    if (now.exists(isSame(_, r))) None else whereIs(r, now)
  }

  /** A new file that is neither in the run's directory nor visible. */
  def missingNew: Option[String] = first(change.added)(a =>
    if (exists(new Path(own, a.staged)) || exists(visible(a))) None
    else Some(s"the new file ${a.name} was removed"))

  /** True when a new file is visible; then all replaced ones were hidden before. */
  def isRevealing: Boolean =
    first(change.added)(a => if (exists(visible(a))) Some(a.name) else None).isDefined

  /** Shows the token: a program that overwrites what it sees takes it away. */
  def showToken(): Unit = {
    val _ = move(new Path(own, RunFolder.Waiting), token)
  }

  /** Hides the replaced files, and looks at each where it arrives. */
  def retain(): Option[String] = first(change.replaced) { r =>
    val before = status(original(r))
    if (before.exists(isSame(_, r))) move(original(r), new Path(own, r.retained))
    RawFiles.sweepChecksum(fs, original(r))
    whereIs(r, before)
  }

  /** Gives the new files their names, as long as the token is beside them. */
  def reveal(): Option[String] = first(change.added) { a =>
    if (!exists(token)) Some(overwritten)
    else {
      move(new Path(own, a.staged), visible(a))
      if (exists(token)) None else Some(overwritten)
    }
  }

  /**
   * True when another program removed a new file that was visible, or was about to be. The others stay:
   * old files that came back would double what that program wrote instead.
   */
  def lacksNew: Boolean =
    first(change.added)(a => if (exists(visible(a))) None else Some(a.name)).isDefined

  /** Ends the folder as published. False when the token is not beside the data any more. */
  def finish(): Boolean = move(token, new Path(own, RunFolder.Finished))

  /** Takes the token for a conflict. After that no process can finish the folder. */
  def decideConflict(): Unit = {
    val to = new Path(own, RunFolder.Conflict)
    val _ = move(new Path(own, RunFolder.Waiting), to) || move(token, to)
  }

  /**
   * Ends the folder in a conflict.
   *
   * A local disk looks a directory up first and renames a file in it afterwards: a late publisher may
   * hold the run's directory although its name has changed. So the directory is emptied and removed,
   * and nothing can be renamed in one that is removed. Only then is anything given back.
   *
   * @param restore whether the replaced files get their names again: nobody has overwritten the folder
   */
  def resolve(restore: Boolean): Unit = {
    DirectoryDrain.move(fs, own, closed, conf)
    ManyFiles.map(change.added) { a =>
      if (status(visible(a)).exists(isOurs(_, a))) move(visible(a), new Path(closed, a.staged))
    }
    if (restore) {
      ManyFiles.map(change.replaced) { r =>
        if (!exists(original(r))) move(new Path(closed, r.retained), original(r))
      }
    }
    ManyFiles.map(change.added)(a => fs.delete(new Path(closed, a.staged), false))
    // of a folder whose overwriter has failed half way: it took our directory, and not this
    fs.delete(token, false)
    if (state.files(closed).forall(restore && _.getPath.getName == RunFolder.Conflict)) {
      fs.delete(new Path(closed, RunFolder.Conflict), false)
      DirectoryDrain.removeEmpty(fs, closed)
    }
    ()
  }

  /** None when a replaced file is hidden, else what became of it. */
  private def whereIs(r: Replaced, before: Option[FileStatus]): Option[String] =
    status(new Path(own, r.retained)) match {
      case Some(s) if isSame(s, r) => None
      case Some(_) =>
        // written over the old name between our look and our rename: another program's
        if (!exists(original(r))) move(new Path(own, r.retained), original(r))
        Some(s"the file ${r.name} was overwritten")
      case None =>
        Some(s"the file ${r.name} was ${if (before.isDefined) "overwritten" else "removed"}")
    }

  /** @return false when `from` is not there, or the directory of `to` */
  private def move(from: Path, to: Path): Boolean = {
    val moved = FileMove.rename(fs, from, to)
    if (!moved && exists(from) && exists(to.getParent)) {
      throw new IOException(s"cannot rename $from to $to")
    }
    moved
  }

  private def first[A](files: Seq[A])(problem: A => Option[String]): Option[String] =
    ManyFiles.firstProblem(files)(problem)

  private def isSame(s: FileStatus, r: Replaced): Boolean =
    s.getLen == r.length && s.getModificationTime == r.modified

  private def isOurs(s: FileStatus, a: Added): Boolean = s.getLen == a.length

  private def exists(path: Path): Boolean = status(path).isDefined

  private def status(path: Path): Option[FileStatus] =
    try Some(fs.getFileStatus(path))
    catch { case _: FileNotFoundException => None }

  private def overwritten = "it was overwritten or dropped while it was being published"
}

private[sparkzorder] object RunFolder {
  val Waiting = "_canary"
  val Finished = "_finished"
  val Conflict = "_conflict"

  /** Directory of a run in a folder. */
  def directory(run: String): String = s"_zorder_$run"

  /** Name of the token while it is beside the data. */
  def tokenName(run: String, suffix: String): String = s"part-zorder-$run$suffix"
}

private object DirectoryDrain {

  /**
   * Moves whatever is in a directory into another one and removes it. Others may put files into it
   * until it is removed, and none after that, not even one whose rename has found it already.
   */
  def move(fs: FileSystem, from: Path, to: Path, conf: Configuration): Unit = {
    var left = list(fs, from)
    if (left.isDefined) make(fs, to, conf)
    while (left.isDefined) {
      ManyFiles.map(left.get)(s => FileMove.rename(fs, s.getPath, new Path(to, s.getPath.getName)))
      if (left.get.isEmpty && !fs.exists(to)) left = None
      else left = if (removeEmpty(fs, from)) None else list(fs, from)
    }
  }

  /**
   * Hadoop's local delete looks whether a directory is empty, and then deletes what is in it by then.
   *
   * @return false when something is in it
   */
  def removeEmpty(fs: FileSystem, directory: Path): Boolean =
    try {
      if (RawFiles.isLocal(fs)) {
        val _ = Files.deleteIfExists(new File(directory.toUri.getPath).toPath)
      } else fs.delete(directory, false)
      true
    } catch {
      case _: DirectoryNotEmptyException => false
      case e: IOException => if (list(fs, directory).exists(_.nonEmpty)) false else throw e
    }

  /** Makes a directory where its parent is there. */
  private def make(fs: FileSystem, directory: Path, conf: Configuration): Unit =
    try {
      if (RawFiles.isLocal(fs)) {
        val _ = Files.createDirectory(new File(directory.toUri.getPath).toPath)
      } else {
        FileContext.getFileContext(directory.toUri, conf)
          .mkdir(directory, FsPermission.getDirDefault, false)
      }
    } catch {
      case _: NioFileExists | _: FileAlreadyExistsException => ()
      case _: NoSuchFileException | _: FileNotFoundException => ()
    }

  /** None when it is not there. */
  private def list(fs: FileSystem, directory: Path): Option[Seq[FileStatus]] =
    try Some(fs.listStatus(directory).toSeq)
    catch { case _: FileNotFoundException => None }
}
