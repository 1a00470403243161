// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.io.IOException
import java.nio.channels.FileChannel
import java.nio.file.{NoSuchFileException, StandardOpenOption}

import org.apache.hadoop.fs.{FileSystem, Path}

/**
 * Syncs files and directories of local disk before a record names them. After a power failure, a file that
 * was not synced can be empty although the record exists. On HDFS the blocks of a file are synced when they
 * are closed ([[InExistingFolders]]), and the name node syncs its own log. On object stores the close of a
 * file is enough.
 */
private[sparkzorder] object Durable {

  /** Syncs the content of a closed file. Does nothing on other file systems than local disk. */
  def file(fs: FileSystem, path: Path): Unit =
    if (RawFiles.isLocal(fs)) sync(path, StandardOpenOption.WRITE)

  /** Syncs the entries of some directories. A directory that does not exist is skipped. */
  def directories(fs: FileSystem, paths: Seq[Path]): Unit =
    if (RawFiles.isLocal(fs)) {
      ManyFiles.map(paths)(d =>
        try sync(d, StandardOpenOption.READ)
        catch { case _: IOException => () }) // some systems cannot open a directory
      ()
    }

  private def sync(path: Path, option: StandardOpenOption): Unit =
    try {
      val channel = FileChannel.open(RawFiles.local(path), option)
      try channel.force(true)
      finally channel.close()
    } catch { case _: NoSuchFileException => () }
}
