// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.io.{FileNotFoundException, IOException}
import java.util.UUID

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.internal.Logging

import io.sparkzorder.log.StateDirectory
import io.sparkzorder.util.{Directories, ExclusiveFile}

/** The files `_zorder/_workload/_<day>_<random>` of a table: one for each driver and day. */
private[sparkzorder] final class WorkloadStore(state: StateDirectory, conf: Configuration)
    extends Logging {
  import WorkloadStore._

  private val directory = new Path(state.home, Name)

  /**
   * Writes a sketch. Readers see the whole file or none.
   *
   * @param before the file that the sketch replaces
   * @return the new file
   * @throws java.io.FileNotFoundException if `before` or the state of the table was removed
   */
  private[workload] def write(sketch: StoredSketch, before: Option[Path]): Path = {
    state.requireNoLinks()
    // a table that was overwritten or dropped gets no new state
    (state.home +: before.toSeq).find(!state.fs.exists(_))
      .foreach(p => throw new FileNotFoundException(p.toString))
    Directories.makeLikeParent(state.fs, directory, conf)
    val path = new Path(directory, s"_${sketch.day}_${UUID.randomUUID()}")
    val made = ExclusiveFile
      .create(state.fs, path, UUID.randomUUID().toString, SketchFormat.toBytes(sketch), conf)
    if (!made) throw new IOException(s"$path exists")
    before.foreach(state.fs.delete(_, false))
    path
  }

  /**
   * The sketches of the last [[WorkloadStore.KeptDays]] days. A file that cannot be read is ignored. Of two
   * files of one driver and day, only the file with more scans is used.
   */
  private[workload] def read(today: Long): Seq[StoredSketch] = {
    val recent = files().filter(f => dayOf(f).exists(d => today - d < KeptDays && d <= today + 1))
      .sortBy(f => (-dayOf(f).get, f.getPath.getName)).take(MaxFiles)
    recent.flatMap(sketchOf).groupBy(s => (s.id, s.day)).values.map(_.maxBy(_.count)).toSeq
      .sortBy(s => (s.day, s.id))
  }

  private def sketchOf(file: FileStatus): Option[StoredSketch] =
    try {
      if (file.getLen > SketchFormat.MaxBytes) throw new IOException(
        s"it has ${file.getLen} bytes, and at most ${SketchFormat.MaxBytes} are read")
      val bytes = new Array[Byte](file.getLen.toInt)
      val in = state.fs.open(file.getPath)
      try in.readFully(bytes)
      finally in.close()
      Some(SketchFormat.of(bytes)).filter(s => dayOf(file).contains(s.day))
    } catch {
      case _: FileNotFoundException => None
      case e: IOException =>
        logInfo(
          s"the scans in ${file.getPath} are ignored: ${e.getMessage}. VACUUM LAYOUT with RETAIN " +
            "0 HOURS removes all such files.")
        None
    }

  /**
   * The files that a clean-up removes: sketches that are older than [[WorkloadStore.KeptDays]] days, and
   * temporary files of earlier days, which a writer has left behind.
   *
   * @param all true to remove every file
   */
  def expired(today: Long, all: Boolean): Seq[FileStatus] =
    files(everything = true).filter { f =>
      val day = dayOf(f).getOrElse(f.getModificationTime / DayMs)
      all || today - day >= KeptDays || (dayOf(f).isEmpty && today > day)
    }

  /** @return false if the file could not be removed */
  def remove(file: FileStatus): Boolean =
    try state.fs.delete(file.getPath, false)
    catch { case _: IOException => false }

  private def files(everything: Boolean = false): Seq[FileStatus] = {
    state.requireNoLinks()
    state.readableFiles(directory).filter(f => f.isFile && (everything || dayOf(f).isDefined))
  }

  private def dayOf(file: FileStatus): Option[Long] = file.getPath.getName match {
    case FileName(day) => Try(day.toLong).toOption
    case _ => None
  }
}

private[sparkzorder] object WorkloadStore {
  val Name = "_workload"

  /** How many days a file is kept. */
  val KeptDays = 30
  private val MaxFiles = 5000
  private val DayMs = 24L * 3600 * 1000
  private val FileName = "_(\\d{1,7})_[0-9a-f-]{36}".r

  def today: Long = System.currentTimeMillis() / DayMs
}
