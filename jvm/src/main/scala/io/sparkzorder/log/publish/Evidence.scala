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
 * Finds out whether the rows of replaced files are in other files. Each file that a run added must be in
 * its folder with the recorded length and a readable footer, or a later run must have replaced the file,
 * and the same must hold for the files of that run. A power failure, a cleaning program or `rm` may have
 * removed new files long after the run, and then the replaced files are the only copy.
 *
 * @param isReadable true if the footer of a data file can be read
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
   * True if every file that the change added is readable, or was replaced by files for which the same
   * holds.
   *
   * @param folder the folder in which the files of the change are now
   * @param number the number of the record of the run, because only later records count as replacements. If
   *   it is not known, 0, so that all records count
   */
  def holds(folder: String, change: FolderChange, number: Long): Boolean =
    change.added.forall(isProven(folder, change.folder, _, number))

  /** @param recorded the folder in which the records have the file */
  private def isProven(folder: String, recorded: String, a: Added, number: Long): Boolean =
    seen.getOrElseUpdate(
      (folder, a.name, number),
      isThere(folder, a) || {
        // A checkpoint lists a replaced file under every run whose files now have some of its rows, so the
        // files of all these runs must be proven.
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
    // a file that an UNDO has put back may have any name
    format.map(Seq(_)).getOrElse(DataFormat.all).exists(f =>
      FooterReader.tryRead(Seq(DataFile.alone(file)), state.conf, f).forall(_.isSuccess))
  }
}
