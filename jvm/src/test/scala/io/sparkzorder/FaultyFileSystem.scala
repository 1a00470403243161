// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import java.io.{File, FileNotFoundException, FileOutputStream}
import java.net.URI
import java.nio.file.{FileAlreadyExistsException => NioFileExists, Files, NoSuchFileException}
import java.nio.file.attribute.{PosixFileAttributes, PosixFilePermissions}
import java.nio.file.attribute.PosixFilePermission.OWNER_WRITE
import java.util.concurrent.atomic.AtomicInteger

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{
  DelegateToFileSystem,
  FileAlreadyExistsException,
  FileStatus,
  FSDataInputStream,
  FSDataOutputStream,
  FsStatus,
  Path
}
import org.apache.hadoop.fs.permission.{FsAction, FsPermission}
import org.apache.hadoop.security.AccessControlException
import org.apache.hadoop.util.Progressable

/**
 * The local disk under the scheme `faulty`. A hook runs before every change, listing and opening.
 */
class FaultyFileSystem extends RawLocalFiles {
  override def getUri: URI = FaultyFileSystem.uri
  override def getScheme: String = "faulty"

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable): FSDataOutputStream = {
    FaultyFileSystem.before("create", path)
    super.create(path, permission, overwrite, bufferSize, replication, blockSize, progress)
  }

  override def create(
      path: Path,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable): FSDataOutputStream = {
    FaultyFileSystem.before("create", path)
    super.create(path, overwrite, bufferSize, replication, blockSize, progress)
  }

  override def createNonRecursive(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable): FSDataOutputStream = {
    FaultyFileSystem.before("create", path)
    // which the local file system would make
    if (!pathToFile(path).getParentFile.isDirectory) {
      throw new FileNotFoundException(s"the directory of $path")
    }
    new FSDataOutputStream(new FileOutputStream(pathToFile(path)), null)
  }

  /** Like HDFS: returns false if the directory is missing, and never copies. */
  override def rename(from: Path, to: Path): Boolean = {
    FaultyFileSystem.before("rename", to)
    pathToFile(to).getParentFile.isDirectory && super.rename(from, to)
  }

  override def delete(path: Path, recursive: Boolean): Boolean = {
    FaultyFileSystem.before("delete", path)
    super.delete(path, recursive)
  }

  override def mkdirs(path: Path): Boolean = {
    FaultyFileSystem.before("mkdirs", path)
    super.mkdirs(path)
  }

  /** Checks the owner's permission bits, even if root runs the tests. */
  override def access(path: Path, mode: FsAction): Unit =
    if (mode.implies(FsAction.WRITE) &&
      !Files.getPosixFilePermissions(nio(path)).contains(OWNER_WRITE)) {
      throw new AccessControlException(path.toString)
    }

  override def open(path: Path, bufferSize: Int): FSDataInputStream = {
    FaultyFileSystem.before("open", path)
    super.open(path, bufferSize)
  }

  override def listStatus(path: Path): Array[FileStatus] = {
    FaultyFileSystem.before("list", path)
    // looks at each file by getFileStatus
    super.listStatus(path)
  }

  override def getFileStatus(path: Path): FileStatus =
    if (hasOwners) withAttributes(super.getFileStatus(path)) else super.getFileStatus(path)

  /** Asked at each rename; Hadoop's own method starts a program that finds no link of this scheme. */
  override def getFileLinkStatus(path: Path): FileStatus = getFileStatus(path)

  /** Whether files have owners and permissions, which cost several looks. */
  protected def hasOwners: Boolean = true

  /** Hadoop's own method starts a program, and only for the scheme `file`. */
  private def withAttributes(status: FileStatus): FileStatus =
    try {
      val own = Files.readAttributes(nio(status.getPath), classOf[PosixFileAttributes])
      new FileStatus(
        status.getLen,
        status.isDirectory,
        status.getReplication,
        status.getBlockSize,
        status.getModificationTime,
        status.getAccessTime,
        FsPermission.valueOf(s"-${PosixFilePermissions.toString(own.permissions)}"),
        own.owner.getName,
        own.group.getName,
        status.getPath)
    } catch {
      // a dangling link
      case _: NoSuchFileException => status
    }

  override def getStatus(path: Path): FsStatus =
    FaultyFileSystem.free.fold(super.getStatus(path))(new FsStatus(Long.MaxValue, 0L, _))

  private def nio(path: Path) = pathToFile(path).toPath
}

/**
 * The same for `AbstractFileSystem`, Hadoop's interface with the rename that does not overwrite.
 */
class FaultyAbstractFileSystem(uri: URI, conf: Configuration)
    extends DelegateToFileSystem(uri, new FaultyFileSystem, conf, "faulty", false) {

  /** Exclusive like HDFS: Hadoop looks whether the name is free before this call only. */
  override def renameInternal(from: Path, to: Path): Unit = {
    FaultyFileSystem.before("rename", to)
    def nio(path: Path) = new File(path.toUri.getPath).toPath
    try {
      val _ = Files.createLink(nio(to), nio(from))
      Files.delete(nio(from))
    } catch {
      case _: NioFileExists => throw new FileAlreadyExistsException(to.toString)
      case _: NoSuchFileException =>
        throw new FileNotFoundException(s"$from or the directory of $to")
    }
  }
}

object FaultyFileSystem {
  val uri: URI = URI.create("faulty:///")

  /** Session settings that register the scheme. */
  val settings: Map[String, String] = Map(
    "spark.hadoop.fs.faulty.impl" -> classOf[FaultyFileSystem].getName,
    "spark.hadoop.fs.AbstractFileSystem.faulty.impl" -> classOf[FaultyAbstractFileSystem].getName)

  class Injected(what: String) extends java.io.IOException(s"injected: $what")

  // bytes that are free, if a test says so
  @volatile private var free = Option.empty[Long]

  /** Runs `body` as if so many bytes were free. */
  def withFree[T](bytes: Long)(body: => T): T = {
    free = Some(bytes)
    try body
    finally free = None
  }

  @volatile private var hook: (String, Path) => Unit = (_, _) => ()

  private[sparkzorder] def before(operation: String, path: Path): Unit = hook(operation, path)

  /** Runs `body` with a hook that sees each operation and may let it fail or change files. */
  def withHook[T](h: (String, Path) => Unit)(body: => T): T = {
    hook = h
    try body
    finally hook = (_, _) => ()
  }

  /** Runs `body`, called by a hook, so that the hook does not see its operations. */
  def withoutHook[T](body: => T): T = {
    val outer = hook
    hook = (_, _) => ()
    try body
    finally hook = outer
  }

  /**
   * Lets the `k`-th operation (from 0) that `matches` fail; the Boolean says whether there was one.
   */
  def failing[T](k: Int)(matches: (String, Path) => Boolean)(body: => T): (T, Boolean) = {
    val seen = new AtomicInteger
    val result = withHook { (operation, path) =>
      if (matches(operation, path) && seen.getAndIncrement() == k) {
        throw new Injected(s"$operation $path")
      }
    }(body)
    (result, seen.get > k)
  }
}
