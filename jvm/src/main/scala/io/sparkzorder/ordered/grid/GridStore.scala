// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered.grid

import java.io.FileNotFoundException

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging

import io.sparkzorder.log.StateDirectory
import io.sparkzorder.util.ExclusiveFile

/**
 * Where the grid of a table lies: `_zorder/_grid/_cells`. The grid only advises writes, so a grid
 * that is missing or damaged is never an error.
 *
 * @param root directory of the table
 */
private[sparkzorder] final class GridStore(root: Path, conf: Configuration) extends Logging {
  private lazy val state = new StateDirectory(root, conf)
  private lazy val directory = new Path(state.home, GridStore.Name)
  private lazy val file = new Path(directory, "_cells")

  /** The grid; None where there is none, or where it cannot be used. */
  def read(): Option[StoredGrid] =
    try {
      val status = state.fs.getFileStatus(file)
      if (status.getLen > GridCodec.MaxBytes) None
      else {
        state.requireNoLinks()
        val in = state.fs.open(file)
        try Some(GridCodec.read(org.apache.commons.io.IOUtils.toByteArray(in)))
        finally in.close()
      }
    } catch {
      case _: FileNotFoundException => None
      case NonFatal(e) =>
        logWarning(s"the grid $file is not used: ${e.getMessage}")
        None
    }

  /** Replaces the grid, unless `_zorder` has vanished with its table. */
  def write(grid: StoredGrid): Unit =
    try {
      state.requireNoLinks()
      for (bytes <- GridCodec.write(grid) if state.fs.exists(state.home)) {
        state.fs.mkdirs(directory)
        ExclusiveFile.write(state.fs, file, bytes)
      }
    } catch {
      case NonFatal(e) => logWarning(s"the grid $file was not written: ${e.getMessage}")
    }
}

private[sparkzorder] object GridStore {
  val Name = "_grid"
}
