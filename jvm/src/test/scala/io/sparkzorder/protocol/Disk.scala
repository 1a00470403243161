// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.protocol

/** Content of a file in the model. */
trait Content

/** Rows of a data file; `modified` stands for length and modification time together. */
final case class Rows(rows: Seq[String], modified: Int = 0) extends Content

/** A small file whose text says whose it is. */
final case class Text(text: String) extends Content

/** What has happened, for the checks alone; no actor looks at it. */
sealed trait Event
final case class RunCommitted(number: Int, run: String) extends Event
final case class FolderCleared(folder: String) extends Event
final case class FolderWritten(folder: String, row: String) extends Event
final case class RowsAppended(folder: String) extends Event
final case class FileRewritten(folder: String) extends Event
final case class FolderMoved(from: String, to: String) extends Event
final case class OriginalsReturned(folder: String) extends Event

/**
 * A file system as the protocol needs it, in memory and immutable: a listing of one directory, a
 * rename, a deletion and a creation of a file are atomic; deletions of trees are not. Files cannot be
 * made in a directory that is not there.
 *
 * @param files by path
 * @param directories all paths that are directories
 * @param userDeleted rows of files that an overwriter deleted: they need not be anywhere any more
 * @param events what has happened, for the checks alone
 */
final case class Disk(
    files: Map[String, Content],
    directories: Set[String],
    userDeleted: Set[String] = Set.empty,
    events: Vector[Event] = Vector.empty) {

  // states are looked up millions of times, and most parts of a disk stay the same
  override lazy val hashCode: Int =
    ((files.hashCode * 31 + directories.hashCode) * 31 + userDeleted.hashCode) * 31 +
      events.hashCode

  /** Names in a directory, sorted; None when it is not there. */
  def list(directory: String): Option[Seq[String]] =
    if (!directories(directory)) None
    else {
      val prefix = directory + "/"
      Some((files.keysIterator ++ directories.iterator)
        .filter(p => p.startsWith(prefix) && p.indexOf('/', prefix.length) < 0)
        .map(_.substring(prefix.length)).toSeq.sorted)
    }

  def get(path: String): Option[Content] = files.get(path)

  def rows(path: String): Option[Rows] = files.get(path).collect { case r: Rows => r }

  /** None when the directory is not there; replaces what is there. */
  def put(path: String, content: Content): Option[Disk] =
    if (directories(Disk.parent(path))) Some(copy(files = files.updated(path, content))) else None

  /** As `rename` of a file: None when `from` or the directory of `to` is not there. */
  def rename(from: String, to: String): Option[Disk] =
    for (content <- files.get(from) if directories(Disk.parent(to)))
      yield copy(files = (files - from).updated(to, content))

  def delete(path: String): Disk = copy(files = files - path)

  /** Removes a whole tree of ours at once. */
  def deleteTree(path: String): Disk = copy(
    files = files.filterNot(_._1.startsWith(path + "/")),
    directories = directories.filterNot(d => d == path || d.startsWith(path + "/")))

  /** As `rename` of a directory: None when it is not there, or the name that it shall have is taken. */
  def renameDirectory(from: String, to: String): Option[Disk] =
    if (!directories(from) || directories(to) || !directories(Disk.parent(to))) None
    else {
      def moved(p: String) =
        if (p == from || p.startsWith(from + "/")) to + p.drop(from.length) else p
      Some(copy(
        files = files.map { case (p, c) => moved(p) -> c },
        directories = directories.map(moved)))
    }

  /** None when something is in it. */
  def removeDirectory(path: String): Option[Disk] =
    if (list(path).exists(_.nonEmpty)) None else Some(copy(directories = directories - path))

  def makeDirectories(path: String): Disk = {
    val all = Iterator.iterate(path)(Disk.parent).takeWhile(_.nonEmpty)
    copy(directories = directories ++ all)
  }

  def note(event: Event): Disk = copy(events = events :+ event)
}

object Disk {
  def parent(path: String): String = path.substring(0, math.max(path.lastIndexOf('/'), 0))
}
