package io.sparkzorder.commands.optimize

import java.nio.file.{Files, Paths}

import scala.util.control.NonFatal

import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.hadoop.fs.permission.FsAction
import org.apache.hadoop.security.{AccessControlException, UserGroupInformation}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.util.RawFiles

/**
 * Asks, before anything is written, whether this user may change every directory that a run will
 * change. A rename that is denied after the commit would leave a table half published until somebody
 * gives the right.
 */
private[sparkzorder] object WriteAccess {

  /**
   * For a run in place: the folders of the files that it replaces, and where its own state lies.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_DIRECTORY_NOT_WRITABLE
   */
  def checkInPlace(target: String, fs: FileSystem, root: Path, batches: Seq[Batch]): Unit = {
    val folders = batches.flatMap(b => b.files.files.map(f => b.files.folders(f.folder).path))
    if (folders.nonEmpty) {
      val state = new Path(root, StateDirectory.Name)
      check(target, fs, (if (fs.exists(state)) state else root) +: folders.distinct)
    }
  }

  /** For INTO: the directory, or the nearest one above it that is there. */
  def checkInto(target: String, fs: FileSystem, directory: Path): Unit =
    check(
      target,
      fs,
      Iterator.iterate(directory)(_.getParent).takeWhile(_ != null).find(fs.exists(_)).toSeq)

  private def check(target: String, fs: FileSystem, directories: Seq[Path]): Unit =
    directories.find(!isWritable(fs, _)).foreach { d =>
      val user = UserGroupInformation.getCurrentUser.getShortUserName
      throw ZOrderErrors.directoryNotWritable(target, d.toString, user)
    }

  // Hadoop judges local files by their permission bits, which say nothing of a read-only disk
  private def isWritable(fs: FileSystem, directory: Path): Boolean =
    if (RawFiles.isLocal(fs)) Files.isWritable(Paths.get(directory.toUri.getPath))
    else {
      try {
        fs.access(directory, FsAction.WRITE_EXECUTE)
        true
      } catch {
        case _: AccessControlException => false
        case NonFatal(_) => true // a store that cannot tell; the write will
      }
    }
}
