// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.snapshot

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.InternalRow

import io.sparkzorder.log.{FolderListing, StateDirectory}
import io.sparkzorder.table.{DataFile, Folder, TableFiles}
import io.sparkzorder.util.ObjectStore

/** Whether a listing takes hidden files of shadows in the place of visible ones. */
private[sparkzorder] sealed trait ShadowUse
private[sparkzorder] object ShadowUse {

  /** The visible files, as other engines see them. */
  case object Off extends ShadowUse

  /** Shadows, by what the records say. A hidden file that somebody has deleted is an error of the reader. */
  case object ByRecords extends ShadowUse

  /** Shadows, all of whose files are looked for. */
  case object Checked extends ShadowUse

  /** A look costs a request for each folder on an object store, and next to nothing elsewhere. */
  def of(state: StateDirectory): ShadowUse =
    if (ObjectStore.isOne(state.fs)) ByRecords else Checked
}

/**
 * What a reader takes the folders of a table to hold: a listing with the records of the table laid over it.
 * Queries, OPTIMIZE, SHOW LAYOUT and the index ask here.
 */
private[sparkzorder] object Snapshot {

  /**
   * What the folders of a listing hold, where that is not what was listed; by the final names of the
   * files, as a file that is still hidden lies elsewhere. The listing may be of any age. It is made
   * before the records are read, and they are read here.
   *
   * @param upTo number of the newest record whose run may bring rows that were not listed: a later run
   *   counts only if all files that it replaced are there. None for all runs
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE when a run is committed and
   *   not published, and its record cannot be read: what the table holds is not known then
   */
  def of(
      state: StateDirectory,
      listing: FolderListing,
      shadows: ShadowUse,
      upTo: Option[Long] = None): FolderListing.Files =
    new Overlay(state, shadows, upTo).over(listing)

  /**
   * A listing of a table as the records have it: replaced files out, new ones in, wherever they are.
   *
   * @param whole false when only the folders of `listed` were listed
   */
  def of(state: StateDirectory, listed: TableFiles, whole: Boolean): TableFiles =
    of(state, listed, whole, ShadowUse.of(state))

  def of(
      state: StateDirectory,
      listed: TableFiles,
      whole: Boolean,
      shadows: ShadowUse): TableFiles = {
    val folders = listed.folders.map(f => f.path -> f).toMap
    val byFolder = listed.files.groupBy(_.folder.path)
      .map { case (folder, own) => folder -> own.map(f => f.path.getName -> f.status).toMap }
    val changed = of(
      state,
      new FolderListing {
        override def files(folder: Path) =
          if (whole || folders.contains(folder)) Some(byFolder.getOrElse(folder, Map.empty))
          else None
      },
      shadows)
    if (changed.isEmpty) listed
    else {
      // a folder whose files are all hidden is no folder to Spark
      def known(path: Path) = folders.getOrElse(path, new Folder(path, InternalRow.empty))
      val others = listed.files.filterNot(f => changed.contains(f.folder.path))
      val now = changed.toSeq.sortBy(_._1.toString).flatMap { case (path, own) =>
        val folder = known(path)
        own.toSeq.sortBy(_._1).map { case (_, s) => DataFile(folder, s) }
      }
      listed.copy(
        folders = listed.folders ++
          now.map(_.folder).distinct.filterNot(f => folders.contains(f.path)),
        files = others ++ now)
    }
  }
}
