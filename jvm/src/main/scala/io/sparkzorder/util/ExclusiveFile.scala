// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.io.IOException
import java.nio.file.{
  FileAlreadyExistsException => NioFileExists,
  Files,
  Path => LocalPath,
  StandardCopyOption,
  StandardOpenOption
}
import java.util.UUID

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{
  FileAlreadyExistsException,
  FileContext,
  FileSystem,
  Options,
  Path,
  StreamCapabilities
}

/**
 * Writes files that several processes may want to write. [[create]] and [[publish]] make a file appear at once with
 * all its content, and only if its name is free.
 *
 * On local disk a hard link does that, because Hadoop's local create and rename are not exclusive. On
 * object stores a conditional create does, if the client can send the condition. S3A before Hadoop 3.4.2 cannot, so
 * there two writers at the same moment may both succeed. Elsewhere a rename without overwrite does, as HDFS and ABFS
 * with hierarchical namespace provide it.
 */
private[sparkzorder] object ExclusiveFile {
  private val Attempts = 20
  private val PauseMs = 50L
  private val BufferBytes = 4096

  /** The prefix of the names of temporary files, in `_zorder` and in the directory of INTO. */
  val Temporary = "_tmp_"

  /** True if `name` is that of a temporary file from which [[create]] makes the file with the name `file`. */
  def isTemporaryOf(name: String, file: String): Boolean =
    name.startsWith(Temporary) && name.endsWith(s"_$file")

  /**
   * @param run a part of the name of the temporary file. Two processes must not pass the same text: on local disk the
   *   published file is a hard link to the temporary one, so the second process would truncate both
   * @return false when another process was first
   */
  def create(
      fs: FileSystem,
      path: Path,
      run: String,
      content: Array[Byte],
      conf: Configuration): Boolean =
    if (ObjectStore.isOne(fs)) ObjectStore.create(fs, path, content)
    else {
      val temporary = new Path(path.getParent, s"$Temporary${run}_${path.getName}")
      try {
        overwrite(fs, temporary, content)
        publish(fs, temporary, path, conf)
      } finally fs.delete(temporary, false)
    }

  /**
   * Gives a complete file its final name, unless that name is taken.
   *
   * @param temporary the file, in the same directory; it may still exist afterwards
   * @return false when another process was first
   */
  def publish(fs: FileSystem, temporary: Path, path: Path, conf: Configuration): Boolean =
    if (RawFiles.isLocal(fs)) link(temporary, path)
    else if (ObjectStore.createsOnCondition(fs, path)) ObjectStore.copy(fs, temporary, path)
    else rename(temporary, path, conf)

  /**
   * Writes a small file, without a checksum file on local disk. Several processes may write the same file at once
   * if they write the same content. Meanwhile, a reader may see a part of it.
   */
  def write(fs: FileSystem, path: Path, content: Array[Byte]): Unit =
    try overwrite(fs, path, content)
    catch {
      // HDFS revokes the file from a writer when a second writer creates it
      case e: IOException => if (!appears(fs, path, content.length.toLong)) throw e
    }

  /** Replaces a small file. Readers see either the old file or the complete new file. */
  def replace(fs: FileSystem, path: Path, content: Array[Byte], conf: Configuration): Unit =
    if (ObjectStore.isOne(fs)) ObjectStore.replace(fs, path, content)
    else {
      val temporary = new Path(path.getParent, s"$Temporary${UUID.randomUUID()}_${path.getName}")
      try {
        overwrite(fs, temporary, content)
        if (RawFiles.isLocal(fs)) {
          val (from, to) = (RawFiles.local(temporary), RawFiles.local(path))
          Files.move(from, to, StandardCopyOption.ATOMIC_MOVE)
        } else {
          FileContext.getFileContext(path.toUri, conf)
            .rename(temporary, path, Options.Rename.OVERWRITE)
        }
      } catch {
        case NonFatal(e) =>
          fs.delete(temporary, false)
          throw e
      }
    }

  private def overwrite(fs: FileSystem, path: Path, content: Array[Byte]): Unit =
    if (RawFiles.isLocal(fs)) {
      val file = RawFiles.local(path)
      Files.write(
        file,
        content,
        StandardOpenOption.CREATE,
        StandardOpenOption.TRUNCATE_EXISTING,
        StandardOpenOption.WRITE,
        StandardOpenOption.SYNC)
      openLikeDirectory(file)
    } else if (ObjectStore.isOne(fs)) ObjectStore.replace(fs, path, content)
    else {
      // plain `create` would recreate the directories of a table that was overwritten concurrently
      val out = fs.createNonRecursive(
        path,
        true,
        BufferBytes,
        fs.getDefaultReplication(path),
        fs.getDefaultBlockSize(path),
        null)
      try {
        out.write(content)
        // object stores flush nothing before the end
        if (out.hasCapability(StreamCapabilities.HSYNC)) out.hsync()
      } finally out.close()
    }

  /**
   * Lets those read and write a file who may read and write its directory, too. Hadoop makes directories by its own
   * umask, and a process with a stricter umask would put files into an open directory that nobody else can read. All
   * queries of other users would fail at such a record. No right is taken: the directory of a run is opened later.
   */
  private def openLikeDirectory(file: LocalPath): Unit =
    try {
      val own = Files.getPosixFilePermissions(file)
      val wanted = Files.getPosixFilePermissions(file.getParent)
      wanted.removeIf(_.name.endsWith("_EXECUTE"))
      wanted.addAll(own)
      if (own != wanted) { val _ = Files.setPosixFilePermissions(file, wanted) }
    } catch { case _: IOException | _: UnsupportedOperationException => () }

  /** Waits until the writer that took the file over has written it. True if the file then has this length. */
  private def appears(fs: FileSystem, path: Path, length: Long): Boolean =
    !RawFiles.isLocal(fs) && (0 until Attempts).exists { attempt =>
      if (attempt > 0) Thread.sleep(PauseMs)
      Try(fs.getFileStatus(path).getLen == length).getOrElse(false)
    }

  private def link(from: Path, to: Path): Boolean =
    try {
      Files.createLink(RawFiles.local(to), RawFiles.local(from))
      true
    } catch { case _: NioFileExists => false }

  private def rename(from: Path, to: Path, conf: Configuration): Boolean =
    try {
      FileContext.getFileContext(to.toUri, conf).rename(from, to, Options.Rename.NONE)
      true
    } catch { case _: FileAlreadyExistsException => false }
}
