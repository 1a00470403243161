package io.sparkzorder.log.snapshot

import java.io.FileNotFoundException

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.InternalRow

import io.sparkzorder.log.{FolderChange, FolderFiles, Record, Replaced, StateDirectory}
import io.sparkzorder.table.{DataFile, Folder, TableFiles}
import io.sparkzorder.util.Paths

/**
 * A listing as the records have it: replaced files out, new ones in wherever they are, also where the
 * renames of a committed run are not all done. It only looks.
 */
final class CommittedFiles(state: StateDirectory) {

  /** @param list lists the table; again, when a run was committed or published meanwhile */
  def list(list: () => TableFiles): TableFiles = {
    def attempt(left: Int): TableFiles = {
      val before = state.unfinished()
      val listed = list()
      val same = state.unfinished().map(_._1) == before.map(_._1)
      if (same || left == 0) before.foldLeft(listed) { case (files, (_, r)) => over(files, r) }
      else attempt(left - 1)
    }
    attempt(CommittedFiles.Attempts)
  }

  private def over(files: TableFiles, record: Record): TableFiles =
    record.changes.foldLeft(files) { (sofar, change) =>
      if (takenOver(record, change)) withReturning(sofar, record, change)
      else exchange(sofar, record, change)
    }

  /** What a conflict has taken out and gives back. */
  private def withReturning(files: TableFiles, record: Record, change: FolderChange): TableFiles = {
    val path = Paths.folder(files.root, change.folder)
    files.folders.find(_.path == path).fold(files) { folder =>
      val here = files.files.filter(_.folder == folder).map(_.path.getName).toSet
      val back = new FolderFiles(state, record, change).comingBack
        .collect { case (name, s) if !here(name) => DataFile(folder, s) }
      files.copy(files = files.files ++ back)
    }
  }

  private def exchange(files: TableFiles, record: Record, change: FolderChange): TableFiles = {
    val path = Paths.folder(files.root, change.folder)
    // a folder whose files are all out is no folder to Spark
    val known = files.folders.find(_.path == path)
    val folder = known.getOrElse(new Folder(path, InternalRow.empty))
    val replaced = change.replaced.map(r => r.name -> r).toMap
    val here = files.files.filter(_.folder == folder).map(_.path.getName).toSet
    val kept = files.files.filterNot { f =>
      f.folder == folder && replaced.get(f.path.getName).exists { r =>
        r.length == f.length && r.modified == f.modified
      }
    }
    val placed = new FolderFiles(state, record, change)
    val added = change.added.filterNot(a => here(a.name)).flatMap(a => placed.find(a))
      .map(DataFile(folder, _))
    files.copy(
      folders = if (known.isEmpty) files.folders :+ folder else files.folders,
      files = kept ++ added)
  }

  /** True when somebody changed the folder after the commit: publishing will discard our files. */
  private def takenOver(record: Record, change: FolderChange): Boolean = {
    val files = new FolderFiles(state, record, change)
    def isKnown(r: Replaced) =
      status(Paths.child(files.folder, r.name))
        .exists(s => s.getLen == r.length && s.getModificationTime == r.modified) ||
        status(new Path(state.retained(record.run), r.retained)).isDefined
    // once a new file is in, the replaced ones were all out
    change.added.exists(files.find(_).isEmpty) ||
    !files.isComingIn && !change.replaced.forall(isKnown)
  }

  private def status(path: Path): Option[FileStatus] =
    try Some(state.fs.getFileStatus(path))
    catch { case _: FileNotFoundException => None }
}

object CommittedFiles {
  private val Attempts = 5
}
