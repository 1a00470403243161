package io.sparkzorder.log

import java.io.FileNotFoundException

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}

/**
 * Directories of a table as they are now, each listed once and only when it is asked for.
 *
 * Publishing moves files from the staging directory to their folder, and from there to the retained
 * ones. Who lists in that order meets every file at least once, since no move goes back.
 */
private[sparkzorder] final class PresentFiles(state: StateDirectory) {
  private val listings = mutable.Map.empty[Path, Map[String, FileStatus]]

  /** True when a directory was listed, so that what is known is of several moments. */
  def used: Boolean = listings.nonEmpty

  def in(directory: Path): Map[String, FileStatus] =
    listings.getOrElseUpdate(directory, PresentFiles.list(state, directory))

  def at(path: Path): Option[FileStatus] = in(path.getParent).get(path.getName)
}

private[sparkzorder] object PresentFiles {

  /** Files of a directory by name, empty when it is not there. */
  def list(state: StateDirectory, directory: Path): Map[String, FileStatus] =
    try state.fs.listStatus(directory).filter(_.isFile).map(s => s.getPath.getName -> s).toMap
    catch { case _: FileNotFoundException => Map.empty }
}
