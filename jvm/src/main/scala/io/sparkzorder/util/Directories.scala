// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.io.{FileNotFoundException, IOException}
import java.nio.file.{
  AccessDeniedException,
  DirectoryNotEmptyException,
  FileAlreadyExistsException => NioFileExists,
  Files,
  LinkOption,
  NoSuchFileException
}
import java.nio.file.attribute.{PosixFileAttributes, PosixFileAttributeView, PosixFilePermissions}

import scala.annotation.tailrec
import scala.util.{Failure, Success, Try}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{
  FileAlreadyExistsException,
  FileContext,
  FileStatus,
  FileSystem,
  ParentNotDirectoryException,
  Path
}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.security.AccessControlException

import org.apache.spark.internal.Logging

/**
 * Operations on directories that are safe while other processes change the directories, too. Hadoop's local
 * file system does some of these operations in several steps, which are not safe.
 */
private[sparkzorder] object Directories extends Logging {
  private val Retries = 3

  // `drain` fails after more than this many successive rounds that move no file. A single such round is no
  // failure, because another process may have moved the files first.
  private val MaxIdleRounds = 100

  // the rights of owner, group and others, without the sticky bit
  private val AllBits = 0x1ff

  /**
   * Deletes a file or directory. False if it stays, for example because the process may not remove it. (Hadoop's
   * `delete` also returns false if another process has removed it first.)
   */
  def remove(fs: FileSystem, path: Path, recursive: Boolean): Boolean =
    fs.delete(path, recursive) || !fs.exists(path)

  /**
   * Makes a directory, unless it exists. Makes nothing if the parent is missing, except on an object store, where a
   * directory is only the beginning of names.
   */
  def make(fs: FileSystem, directory: Path, conf: Configuration): Unit = {
    val _ = isMade(fs, directory, conf)
  }

  /** Like [[make]]; a superuser also gives a new directory to the owner of its parent. */
  def makeOwned(fs: FileSystem, directory: Path, conf: Configuration): Unit =
    if (isMade(fs, directory, conf)) giveToOwnerOf(fs, directory.getParent, directory)

  /** Makes a directory; false if it exists or if its parent is missing. On an object store always true. */
  private def isMade(fs: FileSystem, directory: Path, conf: Configuration): Boolean =
    try {
      if (ObjectStore.isOne(fs)) fs.mkdirs(directory)
      else if (RawFiles.isLocal(fs)) Files.createDirectory(RawFiles.local(directory))
      else {
        FileContext.getFileContext(directory.toUri, conf)
          .mkdir(directory, FsPermission.getDirDefault, false)
      }
      true
    } catch {
      case _: NioFileExists | _: FileAlreadyExistsException => false
      case _: NoSuchFileException | _: FileNotFoundException | _: ParentNotDirectoryException =>
        false
    }

  /** True for the error of an operation for which the user has no permission. */
  def isDenied(e: Throwable): Boolean = e match {
    // Hadoop's class, and that of local disk
    case _: AccessControlException | _: AccessDeniedException => true
    // the client of GCS has no class for it
    case e: IOException => StoreAnswer.isDenial(e)
    case _ => false
  }

  /**
   * Gives a directory the owner and the group of `model`, if this user may; as a rule only a superuser may. Does
   * nothing on an object store, which has no owners of directories.
   */
  def giveToOwnerOf(fs: FileSystem, model: Path, directory: Path): Unit =
    if (!ObjectStore.isOne(fs))
      try {
        if (RawFiles.isLocal(fs)) {
          val (from, to) = (RawFiles.local(model), RawFiles.local(directory))
          val wanted = Files.readAttributes(from, classOf[PosixFileAttributes])
          // a user may have put a link there, and must not get the target of the link
          val view = Files.getFileAttributeView(
            to,
            classOf[PosixFileAttributeView],
            LinkOption.NOFOLLOW_LINKS)
          view.setGroup(wanted.group)
          view.setOwner(wanted.owner)
        } else {
          val wanted = fs.getFileStatus(model)
          fs.setOwner(directory, wanted.getOwner, wanted.getGroup)
        }
      } catch { case _: IOException | _: UnsupportedOperationException => () }

  /** Makes a directory with the permissions of its parent, unless it exists. The parent is not made. */
  def makeLikeParent(fs: FileSystem, directory: Path, conf: Configuration): Unit =
    if (!fs.exists(directory)) {
      makeOwned(fs, directory, conf)
      // this fails if another user has created the directory first: only its owner may change the bits
      try copyBits(fs, directory.getParent, directory)
      catch { case _: IOException => () }
    }

  /**
   * Moves all files of the directory `from` into the directory `to`, and removes `from`. Other processes may move
   * files into `from` until it is removed, but not afterwards: their renames fail then. If another process removes
   * `to`, this method stops. On local disk, a moved file replaces a file of the same name in `to`.
   *
   * @throws java.io.IOException when a file cannot be moved, for example because its name is taken on HDFS, or
   *   when `to` belongs to another user and more users may list it than `from`
   */
  def drain(fs: FileSystem, from: Path, to: Path, conf: Configuration): Unit = {
    var left = list(fs, from)
    if (left.exists(_.isEmpty) && removeEmpty(fs, from)) left = None
    if (left.isDefined) {
      make(fs, to, conf)
      // only if `to` exists now
      list(fs, to).foreach { _ =>
        try copyBits(fs, from, to)
        catch {
          // only the owner of `to` may change its bits: the process of another user has made it
          case e: IOException if isNotMoreOpen(fs, to, from) =>
            logWarning(s"$to keeps its permissions, because it belongs to another user: $e")
        }
      }
    }
    var idle = 0
    while (left.isDefined) {
      val moved = ManyFiles.map(left.get)(s =>
        FileMove.rename(fs, s.getPath, new Path(to, s.getPath.getName)))
      if (removeEmpty(fs, from) || !fs.exists(to)) left = None
      else {
        // another process may empty the directory at the same time
        idle = if (moved.contains(true)) 0 else idle + 1
        left = list(fs, from)
        if (idle > MaxIdleRounds) left.flatMap(_.headOption).foreach { s =>
          throw new IOException(s"cannot move ${s.getPath} to $to")
        }
      }
    }
  }

  /**
   * Removes a directory if it is empty. Hadoop's local delete is not used: it first checks that the directory is
   * empty, and then deletes the directory with all files that have come meanwhile.
   *
   * @return true if the directory does not exist any more, or did not exist before; false if it is not empty
   */
  def removeEmpty(fs: FileSystem, directory: Path): Boolean =
    try {
      if (RawFiles.isLocal(fs)) Files.deleteIfExists(RawFiles.local(directory))
      else fs.delete(directory, false)
      true
    } catch {
      case _: DirectoryNotEmptyException => false
      case e: IOException =>
        if (list(fs, directory).exists(_.nonEmpty)) false else throw e
    }

  /**
   * The entries of a directory; None when it does not exist. Hadoop's local file system first looks whether the
   * directory exists and then lists it, so the listing fails if another process removes the directory in between.
   */
  def list(fs: FileSystem, directory: Path): Option[Seq[FileStatus]] = {
    def listed(): Option[Seq[FileStatus]] =
      try Some(fs.listStatus(directory).toSeq)
      catch { case _: FileNotFoundException | _: ParentNotDirectoryException => None }
    // other processes may create and remove the directory again between two attempts
    @tailrec def attempt(left: Int): Option[Seq[FileStatus]] = Try(listed()) match {
      case Success(found) => found
      case Failure(_: IOException) if !fs.exists(directory) => None
      case Failure(_: IOException) if left > 0 => attempt(left - 1)
      case Failure(e) => throw e
    }
    attempt(Retries)
  }

  /**
   * Copies the permission bits. Uses `java.nio` on local disk, because Hadoop's local file system starts another
   * process to read and to set the bits.
   */
  private def copyBits(fs: FileSystem, from: Path, to: Path): Unit =
    try {
      if (RawFiles.isLocal(fs)) {
        val bits = Files.getPosixFilePermissions(RawFiles.local(from))
        Files.setPosixFilePermissions(RawFiles.local(to), bits)
      } else fs.setPermission(to, bits(fs, from))
    } catch {
      case _: UnsupportedOperationException | _: FileNotFoundException => ()
      case _: NoSuchFileException => () // another process has removed one of the directories
    }

  /** True if `directory` gives no user a right that `other` does not give, or if one of them is gone. */
  private def isNotMoreOpen(fs: FileSystem, directory: Path, other: Path): Boolean =
    Try(bits(fs, directory).toShort & ~bits(fs, other).toShort & AllBits).toOption.forall(_ == 0)

  private def bits(fs: FileSystem, path: Path): FsPermission =
    if (RawFiles.isLocal(fs)) {
      val posix = Files.getPosixFilePermissions(RawFiles.local(path))
      FsPermission.valueOf(s"-${PosixFilePermissions.toString(posix)}")
    } else new FsPermission(fs.getFileStatus(path).getPermission.toShort)
}
