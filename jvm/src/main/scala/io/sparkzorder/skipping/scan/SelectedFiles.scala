// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.PathFilterFactory

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.{FolderChange, Replaced}

/**
 * The files that a read selects by their names or times, with the options `pathGlobFilter`, `modifiedBefore` and
 * `modifiedAfter`.
 *
 * @param options the options of the read
 */
private[scan] final class SelectedFiles(options: CaseInsensitiveMap[String]) {
  private lazy val filters = PathFilterFactory.create(options)

  /** True for a read without such an option. */
  def isAll: Boolean = filters.isEmpty

  private def accepts(file: FileStatus): Boolean = filters.forall(_.accept(file))

  /**
   * What the read selects of the files that a folder has by the records. The rows of a part of the replaced files are
   * in no set of new files, so the read must select all replaced files and all new ones, or none of them.
   *
   * @param changes what runs have done to the folder, in the order of their records
   * @param listed the files of the folder in the listing, by name
   * @param now the files that have the rows of the folder now, by their final names
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_LISTING_INCOMPLETE if the read selects a part
   */
  def of(
      folder: Path,
      changes: => Seq[FolderChange],
      listed: Map[String, FileStatus],
      now: Map[String, FileStatus]): Map[String, FileStatus] =
    if (isAll) now
    else {
      def isSelected(name: String, length: Long, modified: Long) = accepts(new FileStatus(
        length,
        false,
        1,
        1L,
        modified,
        new Path(folder, new Path(null, null, name))))
      val (in, out) = now.partition { case (n, f) =>
        listed.contains(n) || isSelected(n, f.getLen, f.getModificationTime)
      }
      val added = now.keySet -- listed.keySet
      def isMade = changes.exists(_.added.exists(a => added(a.name)))
      // files that a run has given back are selected one by one, like all files that no run has made
      if (in.keySet == listed.keySet || !isMade) in
      else if (out.isEmpty && SelectedFiles.origins(changes, added).forall(r =>
          listed.contains(r.name) || isSelected(r.name, r.length, r.modified))) now
      else {
        throw ZOrderErrors.listingIncomplete(
          folder.toString,
          "the query selects files by their names or times, and OPTIMIZE has replaced or is replacing some of them. " +
            "If OPTIMIZE is not running, first run RECOVER LAYOUT")
      }
    }
}

private object SelectedFiles {

  /** The files of no run that runs have replaced, one run after the other, by the files with these names. */
  private def origins(changes: Seq[FolderChange], names: Set[String]): Iterable[Replaced] = {
    val (_, found) = changes.foldRight((names, Map.empty[String, Replaced])) {
      case (change, (wanted, found)) =>
        val added = change.added.map(_.name).toSet
        if (added.exists(wanted)) {
          val replaced = change.replaced.map(r => r.name -> r).toMap
          (wanted -- added ++ replaced.keySet, found -- added ++ replaced)
        } else (wanted, found)
    }
    found.values
  }
}
