// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import java.nio.file.{Files, LinkOption}

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.commons.io.FileUtils.byteCountToDisplaySize
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.hadoop.fs.permission.FsAction
import org.apache.hadoop.security.{AccessControlException, UserGroupInformation}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.StateDirectory
import io.sparkzorder.table.{DataFile, TargetChecks}
import io.sparkzorder.util.{ManyFiles, RawFiles}

/**
 * Checks, before anything is written, that this user may write in every directory that a run will change,
 * and that the file system has room for the new files. If a rename were denied only after the commit, the table
 * would stay half published until an administrator grants the permission.
 *
 * @param root the directory of the table, or the destination of INTO
 */
private[sparkzorder] final class DestinationCheck(target: String, fs: FileSystem, root: Path) {

  /**
   * Checks a run in place: the folders of the files that the run replaces, and the state directory or,
   * where that is missing, the root.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_DIRECTORY_NOT_WRITABLE, ZORDER_DIRECTORY_STICKY,
   *   or ZORDER_UNSUPPORTED_TABLE where a folder is a table of its own
   */
  def replaced(files: Seq[DataFile]): Unit = if (files.nonEmpty) {
    checkWritable(files)
    new StickyDirectories(fs, user).foreign(files).headOption.foreach { case (file, owner) =>
      throw ZOrderErrors.directorySticky(
        target,
        file.folder.path.toString,
        file.path.getName,
        owner,
        user)
    }
    checkNested(files)
  }

  /**
   * Checks a run that writes new files beside the old files and moves no old file.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_DIRECTORY_NOT_WRITABLE, or
   *   ZORDER_UNSUPPORTED_TABLE where a folder is a table of its own
   */
  def written(files: Seq[DataFile]): Unit = if (files.nonEmpty) {
    checkWritable(files)
    checkNested(files)
  }

  private def checkWritable(files: Seq[DataFile]): Unit = check(stateOrRoot +: foldersOf(files))

  private def checkNested(files: Seq[DataFile]): Unit =
    TargetChecks.checkNested(target, fs, root, foldersOf(files))

  private def foldersOf(files: Seq[DataFile]): Seq[Path] = files.map(_.folder.path).distinct

  private def stateOrRoot: Path = {
    val state = new Path(root, StateDirectory.Name)
    if (fs.exists(state)) state else root
  }

  /**
   * Checks the destination of INTO: the directory, or its nearest ancestor that exists.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_DIRECTORY_NOT_WRITABLE
   */
  def directory(): Unit = check(nearest.toSeq)

  /**
   * Checks that there is room for the new files. They are about as large as the old files, which stay for
   * the time of the retention and free no space.
   *
   * @param bytes the size of the old files
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_NOT_ENOUGH_SPACE
   */
  def space(bytes: Long): Unit =
    nearest.foreach { place =>
      val status = fs.getStatus(place)
      val needed = BigInt(bytes) * copies(place)
      // a store without a limit reports Long.MaxValue, and a store that does not know its limit reports 0
      if (status.getCapacity > 0 && needed > status.getRemaining) {
        throw ZOrderErrors.notEnoughSpace(
          target,
          root.toString,
          byteCountToDisplaySize(needed.bigInteger),
          byteCountToDisplaySize(status.getRemaining))
      }
    }

  /** On HDFS, `getRemaining` counts raw bytes, and each file needs its bytes once for each replica. */
  private def copies(place: Path): Int =
    if (fs.getFileStatus(place).isErasureCoded) 1
    else math.max(1, fs.getDefaultReplication(place).toInt)

  private def user: String = UserGroupInformation.getCurrentUser.getShortUserName

  private def nearest: Option[Path] =
    Iterator.iterate(root)(_.getParent).takeWhile(_ != null).find(fs.exists(_))

  private def check(directories: Seq[Path]): Unit =
    ManyFiles.map(directories)(d => d -> isWritable(d)).find(!_._2).foreach { case (d, _) =>
      throw ZOrderErrors.directoryNotWritable(target, d.toString, user)
    }

  // Hadoop's `access` checks local files by their permission bits alone, and so misses a read-only file
  // system
  private def isWritable(directory: Path): Boolean =
    if (RawFiles.isLocal(fs)) Files.isWritable(RawFiles.local(directory))
    else {
      try {
        fs.access(directory, FsAction.WRITE_EXECUTE)
        true
      } catch {
        case _: AccessControlException => false
        case NonFatal(_) =>
          true // the store cannot answer, and the write will fail if it is not allowed
      }
    }
}

/**
 * Finds files that a user may not rename although the user may write in their directory. In a directory
 * with the sticky bit, only the owner of a file, the owner of the directory and the superuser may rename
 * the file. The trial rename before the commit cannot show this, because the user owns the renamed file.
 */
private[plain] final class StickyDirectories(fs: FileSystem, user: String) {

  /** For each directory that has such a file, one such file and its owner. */
  def foreign(files: Seq[DataFile]): Seq[(DataFile, String)] = {
    // Files are grouped by their folder and not by their parent: the files of a run that is not published
    // yet lie in a directory inside the folder, and will move into the folder.
    val byFolder = files.groupBy(_.folder.path).toSeq.sortBy(_._1.toString)
    ManyFiles.map(byFolder) { case (directory, own) =>
      if (!isSticky(directory) || ownerOf(directory) == user) None
      else {
        val owners = ManyFiles.map(own)(f => f -> ownerOf(f.path))
        owners.find(_._2 != user).filterNot(_ => isSuperuser)
      }
    }.flatten
  }

  private def isSticky(directory: Path): Boolean =
    if (RawFiles.isLocal(fs)) {
      // a file system without POSIX permissions has no attribute "unix:mode"
      val mode = Try(Files.getAttribute(RawFiles.local(directory), "unix:mode").asInstanceOf[Int])
      mode.toOption.exists(m => (m & StickyDirectories.Sticky) != 0)
    } else status(directory).exists(_.getPermission.getStickyBit)

  // On HDFS, the superuser owns the root directory. Where this does not hold, a superuser is not recognised
  // and is refused without need, which is safe.
  private lazy val isSuperuser: Boolean = {
    val root = new Path(fs.getUri.toString + "/")
    if (RawFiles.isLocal(fs)) user == "root" else ownerOf(root) == user
  }

  private def ownerOf(path: Path): String =
    if (RawFiles.isLocal(fs)) {
      Try(Files.getOwner(RawFiles.local(path), LinkOption.NOFOLLOW_LINKS).getName).getOrElse(user)
    } else status(path).fold(user)(_.getOwner)

  /** None for a file that was deleted meanwhile; the check before the commit detects such a file. */
  private def status(path: Path): Option[FileStatus] =
    Try(fs.getFileStatus(path)).toOption
}

private object StickyDirectories {
  val Sticky = 512 // octal 1000
}
