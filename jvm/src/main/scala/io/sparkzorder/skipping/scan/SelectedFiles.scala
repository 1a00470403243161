// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.PathFilterFactory

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.{Replaced, StateDirectory, TableLog}
import io.sparkzorder.util.Paths

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
   * @param listed the files of the folder in the listing, by name
   * @param now the files that have the rows of the folder now, by their final names
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_LISTING_INCOMPLETE if the read selects a part
   */
  def of(
      state: StateDirectory,
      folder: Path,
      listed: Map[String, FileStatus],
      now: Map[String, FileStatus]): Map[String, FileStatus] = {
    def isSelected(name: String, length: Long, modified: Long) = accepts(
      new FileStatus(length, false, 1, 1L, modified, new Path(folder, new Path(null, null, name))))
    def origin = origins(state, folder, now.keySet -- listed.keySet)
    val (in, out) =
      if (isAll) (now, Map.empty[String, FileStatus])
      else {
        now.partition { case (n, f) =>
          listed.contains(n) || isSelected(n, f.getLen, f.getModificationTime)
        }
      }
    if (isAll || in.keySet == listed.keySet) in
    else if (out.isEmpty && origin.forall(r =>
        listed.contains(r.name) || isSelected(r.name, r.length, r.modified))) now
    else {
      throw ZOrderErrors.listingIncomplete(
        folder.toString,
        "the query selects files by their names or times, and OPTIMIZE has replaced some of the files")
    }
  }

  /** The files of no run that runs have replaced, one run after the other, by the files with these names. */
  private def origins(
      state: StateDirectory,
      folder: Path,
      names: Set[String]): Iterable[Replaced] = {
    val changes = TableLog.read(state).changesOf(Paths.relative(state.root, folder))
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
