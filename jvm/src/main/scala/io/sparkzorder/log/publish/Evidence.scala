// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import scala.collection.mutable

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.log.{Added, FolderChange, StateDirectory, TableLog}
import io.sparkzorder.table.{DataFile, DataFormat}
import io.sparkzorder.table.stats.FooterReader
import io.sparkzorder.util.Paths

/**
 * Tells whether the rows of replaced files are in other files. Each file that a run added must lie in
 * its folder with its length and a readable footer, or must have been replaced by a later run for which
 * the same holds. A power failure, a cleaner or a person with `rm` may have taken new files away long
 * after the run; the replaced files are the only copy then.
 *
 * @param isReadable whether the footer of a data file can be read
 */
private[log] final class Evidence(
    state: StateDirectory,
    log: TableLog,
    isReadable: FileStatus => Boolean) {

  /** The published runs that replaced a file, by folder and name of the file. */
  private lazy val replacedBy: Map[(String, String), Seq[(Long, FolderChange)]] = {
    val all = for {
      (n, c) <- log.settledChanges
      f <- c.replaced
    } yield (c.folder, f.name) -> (n -> c)
    all.groupBy(_._1).map { case (file, runs) => file -> runs.map(_._2) }
  }

  private val seen = mutable.HashMap.empty[(String, String, Long), Boolean]

  /**
   * @param folder where the files of the change are now
   * True if every file that the change added is readable, or was replaced by files that are proven in turn.
   *
   * @param number of the record of the run, as only later records count as replacements; 0 when it is not known,
   *   and all records count
   */
  def holds(folder: String, change: FolderChange, number: Long): Boolean =
    change.added.forall(isProven(folder, change.folder, _, number))

  /** @param recorded the folder by which records name the file */
  private def isProven(folder: String, recorded: String, a: Added, number: Long): Boolean =
    seen.getOrElseUpdate(
      (folder, a.name, number),
      isThere(folder, a) || {
        // A checkpoint names a replaced file with every run whose files now have some of its rows, so the files
        // of all these runs must be proven.
        val later = replacedBy.getOrElse(recorded -> a.name, Nil).filter(_._1 > number)
        later.nonEmpty && later.forall { case (n, change) =>
          change.added.forall(isProven(folder, recorded, _, n))
        }
      })

  private def isThere(folder: String, a: Added): Boolean =
    state.status(Paths.child(state.folder(folder), a.name))
      .exists(s => s.isFile && s.getLen == a.length && isReadable(s))
}

private[log] object Evidence {

  /** True if the footer of a file can be read. If the name does not tell the format, all formats are tried. */
  def hasFooter(state: StateDirectory)(file: FileStatus): Boolean = {
    val format = DataFormat.all.find(f => file.getPath.getName.endsWith("." + f.name))
    // a file that an undo has put back may have any name
    format.map(Seq(_)).getOrElse(DataFormat.all).exists(f =>
      FooterReader.tryRead(Seq(DataFile.alone(file)), state.conf, f).forall(_.isSuccess))
  }
}
