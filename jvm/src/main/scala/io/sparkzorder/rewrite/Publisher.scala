package io.sparkzorder.rewrite

import java.io.{FileNotFoundException, IOException}

import scala.util.Try

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.internal.Logging

import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}

/**
 * Brings a committed run into the table, by renames only, folder by folder: the replaced files out,
 * then the new ones in. Every step may be repeated, and two may do it at once: a step that finds its
 * work done goes on.
 */
final class Publisher(state: StateDirectory) extends Logging {
  private val fs = state.fs

  /**
   * Publishes record `number`.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_LOST when the table was overwritten
   *   meanwhile; ZORDER_PUBLISH_CONFLICT when somebody changed a folder after the commit: the other
   *   folders are published, and ours for that one is discarded
   */
  def publish(number: Long, record: Record): Unit = {
    val conflicts = record.changes.flatMap { change =>
      if (!state.holds(number, record.run)) throw ZOrderErrors.stateLost(state.root.toString)
      publishFolder(record, change)
    }
    if (!state.holds(number, record.run)) throw ZOrderErrors.stateLost(state.root.toString)
    if (conflicts.nonEmpty) state.markConflict(number)
    state.markDone(number)
    fs.delete(state.staging(record.run), true)
    conflicts.headOption.foreach(throw _)
  }

  /** Publishes what earlier runs committed and did not finish, and tells which these were. */
  def rollForward(): Seq[Record] =
    state.unfinished().map { case (number, record) =>
      logWarning(s"run ${record.run} was committed but not published; rolling it forward")
      publish(number, record)
      record
    }

  private def publishFolder(record: Record, change: FolderChange): Option[ZOrderException] = {
    val folder = Publisher.folder(state.root, change.folder)
    val staging = state.staging(record.run)
    // hidden by its name; whoever overwrites or drops the folder takes it away
    val marker = Publisher.child(folder, s"_zorder_publishing_${record.run}")
    val left = change.added.filter(a => exists(new Path(staging, a.staged)))
    if (left.isEmpty) {
      fs.delete(marker, false)
      None
    } else {
      val problem = conflictIn(record, change, folder, marker)
      if (problem.isEmpty) exchange(record, change, folder, marker)
      else left.foreach(a => fs.delete(new Path(staging, a.staged), false))
      problem.map { p =>
        ZOrderErrors.publishConflict(
          folder.toString,
          record.run,
          p,
          state.retained(record.run).toString)
      }
    }
  }

  /** What somebody else did to the folder since the commit, if anything. */
  private def conflictIn(
      record: Record,
      change: FolderChange,
      folder: Path,
      marker: Path): Option[String] = {
    val retained = state.retained(record.run)
    val begun = change.replaced.exists(r => exists(new Path(retained, r.retained)))
    val someIn = change.added.exists(a => exists(Publisher.child(folder, a.name)))
    // another publisher takes the marker away too, but only when nothing is left to do
    def left = change.added.exists(a => exists(new Path(state.staging(record.run), a.staged)))
    if (begun && !exists(marker) && left) {
      Some("it was overwritten or dropped while it was being published")
    }
    // once a new file is in, the replaced ones were all out: what misses now was removed later
    else if (someIn) None
    else change.replaced.flatMap(r => changeOf(folder, retained, r)).headOption
  }

  private def exchange(
      record: Record,
      change: FolderChange,
      folder: Path,
      marker: Path): Unit = {
    val retained = state.retained(record.run)
    fs.mkdirs(retained)
    ExclusiveFile.write(fs, marker, Array.emptyByteArray)
    change.replaced.foreach { r =>
      val path = Publisher.child(folder, r.name)
      if (isSame(folder, r)) move(path, new Path(retained, r.retained))
      RawFiles.sweepChecksum(fs, path)
    }
    change.added.foreach { a =>
      move(new Path(state.staging(record.run), a.staged), Publisher.child(folder, a.name))
    }
    fs.delete(marker, false)
  }

  /** What somebody else did to a file that the run replaces, if anything. */
  private def changeOf(folder: Path, retained: Path, r: Replaced): Option[String] =
    if (isSame(folder, r) || exists(new Path(retained, r.retained))) None
    else if (exists(Publisher.child(folder, r.name))) Some(s"the file ${r.name} was overwritten")
    else Some(s"the file ${r.name} was removed")

  private def isSame(folder: Path, r: Replaced): Boolean =
    status(Publisher.child(folder, r.name)).exists(s =>
      s.getLen == r.length && s.getModificationTime == r.modified)

  /** Renames a file; fine when another publisher has done it already. */
  private def move(from: Path, to: Path): Unit =
    if (exists(from)) {
      val renamed = Try(fs.rename(from, to))
      if (!renamed.getOrElse(false) && !(exists(to) && !exists(from))) {
        throw new IOException(s"cannot rename $from to $to", renamed.failed.toOption.orNull)
      }
    }

  private def exists(path: Path): Boolean = status(path).isDefined

  private def status(path: Path): Option[FileStatus] =
    try Some(fs.getFileStatus(path))
    catch { case _: FileNotFoundException => None }
}

object Publisher {

  /** A folder of a record as a path. */
  def folder(root: Path, relative: String): Path =
    relative.split('/').filter(_.nonEmpty).foldLeft(root)(child)

  /** `name` in a directory; a name with a colon would be taken for a URI by Path itself. */
  def child(directory: Path, name: String): Path = new Path(directory, new Path(null, null, name))

  /** The counterpart: the part of `path` below `root`, empty for the root itself. */
  def relative(root: Path, path: Path): String =
    path.toString.stripPrefix(root.toString).stripPrefix("/")
}
