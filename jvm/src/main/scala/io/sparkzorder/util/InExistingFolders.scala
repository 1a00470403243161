// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.io.FileNotFoundException
import java.net.URI
import java.util.EnumSet

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{
  CreateFlag,
  FileSystem,
  FilterFileSystem,
  FSDataOutputStream,
  Path,
  RawLocalFileSystem
}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

/**
 * Configures file systems that create a file only if its directory exists. Hadoop's `create` makes missing
 * directories, so a task that is still writing would recreate the directory of a dropped table.
 */
private[sparkzorder] object InExistingFolders {
  private def implementation(scheme: String) = s"fs.$scheme.impl"

  /** The keys that [[configure]] changes. */
  private def keys(scheme: String): Seq[String] =
    Seq("", ".disable.cache").map(implementation(scheme) + _)

  /** The key that keeps the value of another key. */
  private def wrapped(key: String) = s"spark.zorder.wrapped.$key"

  /** Changes `conf` and returns it. With it, writers create no directory on file systems of `scheme`. */
  def configure(conf: Configuration, scheme: String): Configuration = {
    val key = implementation(scheme)
    keys(scheme).foreach(k => Option(conf.get(k)).foreach(conf.set(wrapped(k), _)))
    conf.set(
      key,
      (if (scheme == "file") classOf[LocalInExistingFolders]
       else classOf[AnyInExistingFolders]).getName)
    // Hadoop's cache would return the unwrapped file system that other code uses
    conf.setBoolean(s"$key.disable.cache", true)
    conf
  }

  private[util] def withoutWrapper(conf: Configuration, scheme: String): Configuration = {
    val real = new Configuration(conf)
    keys(scheme).foreach { key =>
      Option(conf.get(wrapped(key))) match {
        case Some(value) => real.set(key, value)
        case None => real.unset(key)
      }
    }
    real
  }
}

/** The wrapper for local disk. It writes no checksum files. */
private[sparkzorder] final class LocalInExistingFolders extends RawLocalFileSystem {

  /** Creates nothing. Hadoop's `create` calls this method for the parent directory of a file. */
  override def mkdirs(directory: Path): Boolean =
    if (pathToFile(directory).isDirectory) true
    else throw new FileNotFoundException(s"the directory $directory does not exist")
}

/** The wrapper for any other file system. */
private[sparkzorder] final class AnyInExistingFolders extends FilterFileSystem {

  override def initialize(uri: URI, conf: Configuration): Unit = {
    fs = FileSystem.get(uri, InExistingFolders.withoutWrapper(conf, uri.getScheme))
    super.initialize(uri, conf)
  }

  override def getScheme: String = fs.getUri.getScheme

  // Hadoop's cache, if the user has not disabled it, shares the wrapped file system, so it must stay open
  override def close(): Unit = ()

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable): FSDataOutputStream =
    if (AnyInExistingFolders.Syncing(getScheme)) {
      // with SYNC_BLOCK, a closed block is on the disks of the data nodes and not only in their memory
      val flags = EnumSet.of(CreateFlag.CREATE, CreateFlag.SYNC_BLOCK)
      if (overwrite) flags.add(CreateFlag.OVERWRITE)
      fs.createNonRecursive(path, permission, flags, bufferSize, replication, blockSize, progress)
    } else {
      fs.createNonRecursive(
        path,
        permission,
        overwrite,
        bufferSize,
        replication,
        blockSize,
        progress)
    }
}

private object AnyInExistingFolders {
  val Syncing: Set[String] = Set("hdfs", "viewfs")
}
