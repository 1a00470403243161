// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.nio.file.{Files, Path => LocalPath, Paths => LocalPaths}

import org.apache.hadoop.fs.{FileSystem, Path}

import io.sparkzorder.errors.ZOrderErrors

/**
 * Refuses symbolic links on local disk. A user who may write into a table could put a link there. If we followed
 * the link, we would change files with our rights that this user may not change. spark-zorder itself never makes a
 * link. So neither a directory of ours, nor anything in it, nor a folder that a record names may be a link.
 *
 * @param root the table's directory, which may be reached through links
 */
private[sparkzorder] final class OwnPaths(fs: FileSystem, root: Path) {
  // other file systems with tables of spark-zorder have no links; `faulty` is the local file system of the tests
  private val isLocal = Set("file", "faulty")(fs.getUri.getScheme)
  private val top: LocalPath = if (isLocal) local(root) else null

  /**
   * @param path below the table
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_STATE_UNREADABLE when the path leads through a
   *   link
   */
  def require(path: Path): Path = {
    if (isLocal) {
      var part = local(path)
      while (part != null && part != top) {
        if (Files.isSymbolicLink(part)) {
          throw ZOrderErrors.stateUnreadable(path.toString, s"$part is a symbolic link")
        }
        part = part.getParent
      }
    }
    path
  }

  /** Like [[require]], for a directory and for each entry of the directory. */
  def requireIn(directory: Path): Unit =
    if (isLocal) {
      require(directory)
      Option(local(directory).toFile.list()).toSeq.flatten.map(local(directory).resolve(_))
        .find(Files.isSymbolicLink(_)).foreach { link =>
          throw ZOrderErrors.stateUnreadable(link.toString, "it is a symbolic link")
        }
    }

  /** True for a path that is a symbolic link itself. */
  def isLink(path: Path): Boolean = isLocal && Files.isSymbolicLink(local(path))

  private def local(path: Path): LocalPath = LocalPaths.get(path.toUri.getPath)
}
