// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.io.{File, FileNotFoundException, IOException}
import java.nio.channels.FileChannel
import java.nio.file.{
  Files,
  FileSystemException,
  NoSuchFileException,
  Path => NioPath,
  StandardCopyOption,
  StandardOpenOption
}

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, LocalFileSystem, Path, RawLocalFileSystem}

/**
 * File systems without the checksum files (`.name.crc`) that Hadoop writes beside every file on local disk. Every
 * name below `_zorder/` must begin with `_`. Also, a checksum file would stay behind when `java.nio` moves its file.
 */
private[sparkzorder] object RawFiles {
  def of(path: Path, conf: Configuration): FileSystem = path.getFileSystem(conf) match {
    case local: LocalFileSystem => local.getRawFileSystem
    case other => other
  }

  /** True for the local disk, whose files `java.nio` reaches as well. */
  def isLocal(fs: FileSystem): Boolean = fs.getUri.getScheme == "file"

  /** The path for `java.nio`. */
  def local(path: Path): NioPath = new File(path.toUri.getPath).toPath

  /**
   * True if this user may not enter a directory, or one of the directories above it up to `root`. What lies in a closed
   * directory looks as if it did not exist, also a directory below it.
   *
   * @param mayEnter tests replace this function, because root may enter every directory
   */
  def isClosed(
      directory: Path,
      root: Path,
      mayEnter: NioPath => Boolean = Files.isExecutable(_)): Boolean =
    Iterator.iterate(directory)(_.getParent)
      .takeWhile(d => d != null && d.depth >= root.depth).map(local)
      .exists(d => Files.isDirectory(d) && !mayEnter(d))

  /** Configures tasks so that they write no checksum files on local disk. */
  def writeRaw(conf: Configuration): Configuration = {
    conf.set("fs.file.impl", classOf[RawLocalFileSystem].getName)
    // the cache would return the file system that other code uses, which writes checksum files
    conf.setBoolean("fs.file.impl.disable.cache", true)
    conf
  }

  /** Removes the checksum file of a file that was moved away. */
  def sweepChecksum(fs: FileSystem, moved: Path): Unit =
    if (isLocal(fs)) {
      fs.delete(Paths.child(moved.getParent, s".${moved.getName}.crc"), false)
    }
}

/**
 * Renames a file, and never copies it. On local disk, Hadoop's rename falls back to a copy that creates missing
 * directories, so a file could reappear in a folder, or in a `_zorder/`, that another process has just dropped.
 */
private[sparkzorder] object FileMove {

  /**
   * On local disk, the file replaces a file at `to`.
   *
   * @return false when the file or its new directory does not exist; on HDFS also when there is a file at `to`
   */
  def rename(fs: FileSystem, from: Path, to: Path): Boolean =
    if (RawFiles.isLocal(fs)) {
      try {
        Files.move(RawFiles.local(from), RawFiles.local(to), StandardCopyOption.ATOMIC_MOVE)
        true
      } catch { case _: NoSuchFileException => false }
    } else {
      try fs.rename(from, to)
      catch { case _: FileNotFoundException => false }
    }
}

/**
 * Syncs files and directories of local disk before a record names them. After a power failure, a file that
 * was not synced can be empty although the record exists. On HDFS, [[InExistingFolders]] makes each block
 * synced when it is closed, and the name node syncs its own log. On object stores the close of a file is enough.
 */
private[sparkzorder] object Durable {

  /** Syncs the content of a closed file, if the file exists. Does nothing except on local disk. */
  def file(fs: FileSystem, path: Path): Unit =
    if (RawFiles.isLocal(fs)) sync(path, StandardOpenOption.WRITE)

  /**
   * Syncs the entries of some directories. A directory that does not exist or that cannot be opened is skipped.
   *
   * @throws java.io.IOException if the disk fails to sync, or if the thread is interrupted
   */
  def directories(fs: FileSystem, paths: Seq[Path]): Unit =
    if (RawFiles.isLocal(fs)) {
      ManyFiles.map(paths)(d =>
        try sync(d, StandardOpenOption.READ)
        catch {
          // some systems cannot open a directory, and others cannot sync an open one (EINVAL)
          case _: FileSystemException => ()
          case e: IOException if notSyncable(e.getMessage) => ()
        })
    }

  // The text of EINVAL, which is in the language of the user. A device such as /dev/null cannot be synced, so the
  // system is asked for the text.
  private lazy val notSyncable: Set[String] = Set("Invalid argument") ++
    Try(sync(new Path("file:/dev/null"), StandardOpenOption.WRITE)).failed.toOption
      .filter(_.getClass == classOf[IOException]).map(_.getMessage)

  private def sync(path: Path, option: StandardOpenOption): Unit =
    try {
      val channel = FileChannel.open(RawFiles.local(path), option)
      try channel.force(true)
      finally channel.close()
    } catch { case _: NoSuchFileException => () }
}

/** Paths below a table's root, and the names of files there. */
private[sparkzorder] object Paths {

  /** A regular expression without groups for a UUID in its canonical form, as in the names that runs and jobs give. */
  val Uuid: String = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

  /** A folder below `root`, given by its relative name with `/` between the levels. */
  def folder(root: Path, relative: String): Path =
    relative.split('/').filter(_.nonEmpty).foldLeft(root)(child)

  /** `name` in a directory. `new Path(String)` would take a name with a colon for a URI. */
  def child(directory: Path, name: String): Path = new Path(directory, new Path(null, null, name))

  /**
   * The inverse of [[folder]]: the part of `path` below `root`, empty for the root itself.
   *
   * @param path `root` or a path below it, which is not checked
   */
  def relative(root: Path, path: Path): String =
    path.toString.stripPrefix(root.toString).stripPrefix("/")
}
