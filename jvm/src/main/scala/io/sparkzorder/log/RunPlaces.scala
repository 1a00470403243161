// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import org.apache.hadoop.fs.{FileStatus, Path}

import io.sparkzorder.util.{Directories, ManyFiles}

/** Result of looking for the hidden directory of a run in the folder that the record names. */
private sealed trait Place

/** The directory is in the folder. */
private case object Here extends Place

/** The folder holds the run's directory of another folder: directories were renamed or exchanged. */
private case object Elsewhere extends Place

/** The folder has no directory of the run. */
private case object Absent extends Place

/**
 * Where the folders of a committed run are now. Other programs rename a partition, move its directory, or
 * exchange two partitions, and the hidden directory of the run moves with its folder. The directory holds a
 * [[ChangeCopy]], by which the folder is found again.
 *
 * @param list the files of a directory by name, empty when the directory does not exist. Several threads
 *   call this function
 * @param isReader true for a query. The query does not read a folder that its user may not list. Such a folder is taken
 *   to be where the record says
 */
private[sparkzorder] final class RunPlaces(
    state: StateDirectory,
    record: Record,
    list: Path => Map[String, FileStatus],
    isReader: Boolean = false) {

  private lazy val places: Seq[(FolderChange, Place)] = ManyFiles.map(record.changes) { c =>
    try c -> placeOf(c)
    catch { case e if isReader && Directories.isDenied(e) => c -> Here }
  }

  // The search lists every folder of the table, so it runs only if some folder is not at the path of the record.
  private lazy val elsewhere: Map[String, String] = {
    val missing = places.filter(_._2 != Here).map(p => ChangeCopy.name(record.run, p._1.folder))
    if (missing.isEmpty) Map.empty
    else {
      val found = search()
      // a search may miss a folder that is renamed while other folders are listed
      if (missing.forall(found.contains)) found else found ++ search()
    }
  }

  /**
   * Each change of the record, and the same change with the present path of its folder. A folder that is found
   * nowhere keeps the path of the record. None if it is found nowhere and another folder of the run lies at its path.
   */
  lazy val all: Seq[(FolderChange, Option[FolderChange])] = places.map { case (c, place) =>
    val folder =
      if (place == Here) Some(c.folder)
      else {
        elsewhere.get(ChangeCopy.name(record.run, c.folder))
          .orElse(if (place == Absent) Some(c.folder) else None)
      }
    c -> folder.map(f => if (f == c.folder) c else c.copy(folder = f))
  }

  /** The changes with the present paths of their folders. */
  def changes: Seq[FolderChange] = all.flatMap(_._2)

  private def placeOf(change: FolderChange): Place = {
    val own = list(state.own(change.folder, record.run)).keySet
    val copies = ChangeCopy.of(record.run, own)
    if (copies.nonEmpty) isOf(copies, change)
    else {
      // after a conflict, the files move from the run's directory to the closed directory
      val closed = list(state.closed(change.folder, record.run)).keySet
      val moved = ChangeCopy.of(record.run, closed)
      if (moved.nonEmpty) isOf(moved, change)
      else if (own.isEmpty && closed.isEmpty) Absent
      else Here // the directory has files of the run, but another program has removed the copy
    }
  }

  private def isOf(copies: Iterable[String], change: FolderChange): Place =
    if (copies.exists(_ == ChangeCopy.name(record.run, change.folder))) Here else Elsewhere

  private def search(): Map[String, String] =
    RunPlaces.copies(state, list, _ == record.run, e => if (!isReader) throw e)
}

private[sparkzorder] object RunPlaces {

  /**
   * Finds the copies of changes: for the name of each copy, the folder in which it lies. Lists every folder of the
   * table.
   *
   * @param isWanted true for a run whose copies are wanted
   * @param denied called with the error for each directory that this user may not list; may throw it
   */
  def copies(
      state: StateDirectory,
      list: Path => Map[String, FileStatus],
      isWanted: String => Boolean = _ => true,
      denied: Throwable => Unit = _ => ()): Map[String, String] = {
    def names(directory: Path) =
      try list(directory).keys
      catch {
        case e if Directories.isDenied(e) =>
          denied(e)
          Nil
      }
    val seen = state.runDirectories(denied).collect {
      case (run, folder, _) if isWanted(run) => run -> folder
    }.distinct
    ManyFiles.map(seen) { case (run, folder) =>
      // after a conflict, the copy moves from the run's directory to the closed directory
      state.hidden(folder, run).flatMap(d => ChangeCopy.of(run, names(d))).map(_ -> folder)
    }.flatten.toMap
  }
}

/**
 * A copy of the record, reduced to the change of one folder, in the run's hidden directory of that folder.
 * Another program may rename, move or exchange the folder. Then the path in the record does not lead to the
 * folder any more, and the copy identifies the folder.
 *
 * The name of the copy has the run and a hash of the folder's path. So a listing of the hidden directory
 * tells whether the directory is still in the folder for which it was made.
 */
private[sparkzorder] object ChangeCopy {
  private val Prefix = "_change_"
  private val HashBytes = 8

  def isOne(name: String): Boolean = name.startsWith(Prefix)

  /** @param folder relative to the table's root */
  def name(run: String, folder: String): String = s"$Prefix${run}_${hash(folder)}"

  /** The copies of a run among the names in a directory. */
  def of(run: String, names: Iterable[String]): Iterable[String] =
    names.filter(_.startsWith(s"$Prefix${run}_"))

  /** Writes the copy of one change. Must be called before the record is committed. */
  def write(state: StateDirectory, record: Record, change: FolderChange): Unit =
    state.write(
      new Path(state.own(change.folder, record.run), name(record.run, change.folder)),
      Record.toJson(record.copy(changes = Seq(change))))

  /**
   * The record of a copy, which has one change. None when the copy is gone.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE if the file is not such a copy
   */
  def read(state: StateDirectory, path: Path): Option[Record] =
    state.parsed(path) { json =>
      val record = Record.fromJson(json)
      if (record.changes.size != 1 ||
        path.getName != name(record.run, record.changes.head.folder)) {
        throw new IOException(
          "its name is not that of its run and folder, or it has several changes")
      }
      record
    }

  private def hash(folder: String): String =
    MessageDigest.getInstance("SHA-256").digest(folder.getBytes(UTF_8)).take(HashBytes)
      .map(b => f"$b%02x").mkString
}
