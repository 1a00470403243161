package io.sparkzorder.log.snapshot

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.InternalRow

import io.sparkzorder.log.StateDirectory
import io.sparkzorder.table.{DataFile, Folder, TableFiles}

/**
 * A listing of a table as the records have it, for statements that change nothing: replaced files out,
 * new ones in wherever they are. What counts is what a query reads, by the same [[Overlay]].
 */
final class CommittedFiles(state: StateDirectory) {

  /** @param whole false when only the folders of `files` were listed */
  def over(files: TableFiles, whole: Boolean = true): TableFiles = {
    val folders = files.folders.map(f => f.path -> f).toMap
    val listed = files.files.groupBy(_.folder.path)
      .map { case (folder, own) => folder -> own.map(f => f.path.getName -> f.status).toMap }
    val changed = new Overlay(state).over(new FolderListing {
      override def files(folder: Path): Option[Map[String, FileStatus]] =
        if (whole || folders.contains(folder)) Some(listed.getOrElse(folder, Map.empty)) else None
    })
    if (changed.isEmpty) files
    else {
      // a folder whose files are all hidden is no folder to Spark
      def known(path: Path) = folders.getOrElse(path, new Folder(path, InternalRow.empty))
      val others = files.files.filterNot(f => changed.contains(f.folder.path))
      val now = changed.toSeq.sortBy(_._1.toString).flatMap { case (path, own) =>
        val folder = known(path)
        own.toSeq.sortBy(_._1).map { case (_, s) => DataFile(folder, s) }
      }
      files.copy(
        folders = files.folders ++ now.map(_.folder).distinct.filterNot(f =>
          folders.contains(f.path)),
        files = others ++ now)
    }
  }
}
