// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log.publish

import scala.collection.mutable
import scala.util.control.TailCalls.{done, tailcall, TailRec}

import org.apache.hadoop.fs.FileStatus

import io.sparkzorder.log._
import io.sparkzorder.table.{DataFile, DataFormat}
import io.sparkzorder.table.stats.FooterReader
import io.sparkzorder.util.{ManyFiles, Paths}
import io.sparkzorder.util.DeepRecursion.forall

/**
 * Finds out whether the rows of replaced files are in other files. Each file that the run added must be in its
 * folder with the recorded length and a readable footer. Otherwise a later run must have replaced the file, and the
 * same must hold for the files of that run. The reason: a power failure, a cleaning program or `rm` may have removed
 * new files long after the run, and then the replaced files are the only copy.
 *
 * @param isReadable true if the footer of a data file can be read
 */
private[log] final class Evidence(
    state: StateDirectory,
    log: TableLog,
    isReadable: FileStatus => Boolean) {

  /**
   * The published runs that replaced a file, by folder, name and length of the file. The length matters: a program that
   * uses fixed names writes other files under the same name.
   */
  private lazy val replacedBy: Map[(String, String, Long), Seq[(Long, FolderChange)]] = {
    val all = for {
      (n, c) <- log.settledChanges
      f <- c.replaced
    } yield (c.folder, f.name, f.length) -> (n -> c)
    all.groupBy(_._1).map { case (file, runs) => file -> runs.map(_._2) }
  }

  private val seen = mutable.HashMap.empty[(String, String, Added, Long), Boolean]

  /**
   * True if every file that the change added is in its folder and readable, or was replaced by files for which the
   * same holds.
   *
   * @param folder the folder in which the files of the change are now
   * @param number the number of the record of the run: only later records count as replacements. 0 if the
   *   number is not known, so that all records count
   */
  def holds(folder: String, change: FolderChange, number: Long): Boolean = {
    // several files at once, because each costs a status and a footer
    val files = change.added.map(folder -> _).filterNot(there.contains)
    there ++= files.zip(ManyFiles.map(files) { case (folder, a) => look(folder, a) })
    forall(change.added.toList)(isProven(folder, change.folder, _, number)).result
  }

  /**
   * The recursion ends, because each call asks only about later runs. A chain may have thousands of runs
   * ([[io.sparkzorder.util.DeepRecursion]]).
   *
   * @param recorded the folder of the file in the records, which may have been moved to `folder`
   */
  private def isProven(
      folder: String,
      recorded: String,
      a: Added,
      number: Long): TailRec[Boolean] = {
    val key = (folder, recorded, a, number)
    // A checkpoint lists a replaced file under every run whose files now have some of its rows, so the
    // files of all these runs must be proven.
    def isReplaced = {
      def laterIn(folder: String) =
        replacedBy.getOrElse((folder, a.name, a.length), Nil).filter(_._1 > number)
      // a run that came after a move of the folder has recorded the new name of the folder
      val later = laterIn(recorded) match {
        case Seq() if Evidence.isUnique(a.name) => laterIn(folder)
        case known => known
      }
      val files = for {
        (n, change) <- later.toList
        file <- change.added
      } yield (change.folder, file, n)
      if (later.isEmpty) done(false)
      else forall(files) { case (in, file, n) => isProven(folder, in, file, n) }
    }
    seen.get(key) match {
      case Some(known) => done(known)
      case None =>
        tailcall(if (isThere(folder, a)) done(true) else isReplaced).map { proven =>
          seen(key) = proven
          proven
        }
    }
  }

  private val there = mutable.HashMap.empty[(String, Added), Boolean]

  private def isThere(folder: String, a: Added): Boolean =
    there.getOrElseUpdate((folder, a), look(folder, a))

  private def look(folder: String, a: Added): Boolean =
    state.status(Paths.child(state.folder(folder), a.name))
      .exists(s => s.isFile && s.getLen == a.length && isReadable(s))
}

private[log] object Evidence {
  private val Id = Paths.Uuid.r

  /**
   * True for a name with the id of a run or of a job of Spark. Other names, such as `data.parquet`, may be written
   * again and again, in any folder.
   */
  private def isUnique(name: String): Boolean = Id.findFirstIn(name).isDefined

  /** True if the footer of a file can be read. If the name does not tell the format, all formats are tried. */
  def hasFooter(state: StateDirectory)(file: FileStatus): Boolean = {
    val format = DataFormat.all.find(f => file.getPath.getName.endsWith("." + f.name))
    // the file may have been written by any program, under any name: an UNDO puts such files back
    format.map(Seq(_)).getOrElse(DataFormat.all).exists(f =>
      FooterReader.tryRead(Seq(DataFile.alone(file)), state.conf, f).forall(_.isSuccess))
  }
}
