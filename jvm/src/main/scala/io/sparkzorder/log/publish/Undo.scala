// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.log.{Added, FolderChange, Record, Replaced, RunFolder, StateDirectory}
import io.sparkzorder.util.ManyFiles

/**
 * Undoing one run: what it added goes out, what it replaced comes back under its old names. That is a
 * change of the table like any other. Looks at the table and at the kept files as they are now, and
 * changes nothing.
 *
 * @param number of the record of the run
 * @param record the run to be undone
 * @param keepers runs in whose directories the kept files are: the run itself, or an undo of it
 */
private[sparkzorder] final class Undo(
    state: StateDirectory,
    number: Long,
    record: Record,
    keepers: Seq[String]) {

  private val inputs: Map[(String, String), FileStatus] =
    ManyFiles.map(record.changes) { c =>
      val directories =
        keepers.flatMap(k => Seq(state.own(c.folder, k), state.closed(c.folder, k)))
      directories.flatMap(state.byName).map { case (n, s) => (c.folder, n) -> s }
    }.flatten.toMap

  private val table: Map[String, Map[String, FileStatus]] =
    ManyFiles.map(record.changes)(c => c.folder -> state.byName(state.folder(c.folder))).toMap

  /** Why the run cannot be undone, as the end of a sentence; None when it can. */
  def obstacle: Option[String] =
    if (!state.isDone(number)) Some("it is not published yet")
    else if (state.hasConflict(number)) {
      Some(
        "it met a conflict when it was published; what it replaced and could not give back lies " +
          s"in directories ${RunFolder.directory(record.run)}_closed")
    } else {
      val gone = for {
        c <- record.changes
        r <- c.replaced if !inputs.get((c.folder, r.retained)).exists(r.is)
      } yield path(c, r.name)
      // a program that overwrites a folder takes away what is kept in it, so the missing file is reported second
      record.changes.flatMap(obstacleIn).headOption.orElse {
        if (gone.nonEmpty && gone.size == record.changes.map(_.replaced.size).sum) {
          Some("the files that it replaced are not retained any more")
        } else {
          gone.headOption.map(n =>
            s"$n, one of the files that it replaced, was removed or changed where it was kept")
        }
      }
    }

  private def path(c: FolderChange, name: String) =
    if (c.folder.isEmpty) name else s"${c.folder}/$name"

  private def obstacleIn(change: FolderChange): Option[String] = {
    val there = table(change.folder)
    val touched = change.added.flatMap { a =>
      there.get(a.name) match {
        case None => Some(s"${path(change, a.name)}, which it wrote, was removed since")
        case Some(s) if !isAsWritten(a, s) =>
          Some(s"${path(change, a.name)}, which it wrote, was changed since")
        case _ => None
      }
    }
    val taken = change.replaced.find(r => there.contains(r.name))
      .map(r =>
        s"a file ${path(change, r.name)} was written since, and it replaced one of that name")
    touched.headOption.orElse(taken)
  }

  // a record that does not say when its files were written: before they were published
  private def isAsWritten(a: Added, s: FileStatus): Boolean =
    s.getLen == a.length && (
      if (a.modified > 0) s.getModificationTime == a.modified
      else state.doneSince(number).exists(s.getModificationTime <= _)
    )

  /** The kept files with their folders and names. */
  def keptFiles: Seq[((String, String), FileStatus)] = for {
    c <- record.changes
    r <- c.replaced
    file <- inputs.get((c.folder, r.retained))
  } yield (c.folder, r.retained) -> file

  /**
   * The change that undoes the run; only when there is no obstacle.
   *
   * @param rows of a kept file by its folder and name
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

  /** Unlike the names of the files that an undo brings back, which are in the same directory. */
  def retainedName(i: Int): String = s"${RunFolder.Retained}u$i"

  /** Runs in whose directories the files are that a run replaced. */
  def keepers(state: StateDirectory, run: String): Seq[String] =
    run +: UndoClaim.holders(state, run)
}
