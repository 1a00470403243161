package io.sparkzorder.log

import java.nio.file.{Files, Path => LocalPath, Paths => LocalPaths}

import org.apache.hadoop.fs.{FileSystem, Path}

import io.sparkzorder.errors.ZOrderErrors

/**
 * Symbolic links on local disk: whoever may write in a table could lead us through one to a directory
 * that only we may change. No directory of ours is a link, nor is anything in it, nor a folder of a
 * record.
 *
 * @param root the table's directory, which may be reached through links
 */
private[sparkzorder] final class OwnPaths(fs: FileSystem, root: Path) {
  // Hadoop's other file systems here have no links
  private val isLocal = OwnPaths.LocalSchemes(fs.getUri.getScheme)
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

  /** Requires it of whatever lies in a directory. */
  def requireIn(directory: Path): Unit =
    if (isLocal) {
      require(directory)
      val names = Option(local(directory).toFile.list()).toSeq.flatten
      names.foreach(n => requireNoLink(local(directory).resolve(n)))
    }

  private def requireNoLink(path: LocalPath): Unit =
    if (Files.isSymbolicLink(path)) {
      throw ZOrderErrors.stateUnreadable(path.toString, "it is a symbolic link")
    }

  private def local(path: Path): LocalPath = LocalPaths.get(path.toUri.getPath)
}

private object OwnPaths {

  /** The scheme of the local disk, and the one under which tests make it fail. */
  val LocalSchemes: Set[String] = Set("file", "faulty")
}
