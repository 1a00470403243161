// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import java.io.IOException
import java.nio.channels.FileChannel
import java.nio.file.{NoSuchFileException, StandardOpenOption}

import org.apache.hadoop.fs.{FileSystem, Path}

/**
 * Makes sure that the local disk has written what a record is about to say. After a power failure a
 * file that was not synced can be empty although its record is there. On HDFS the blocks of a file are
 * synced when they are closed ([[InExistingFolders]]), and the name node writes its own log; on stores
 * the close of a file is enough.
 */
private[sparkzorder] object Durable {

  /** Syncs the content of a file that is closed. Does nothing elsewhere than on local disk. */
  def file(fs: FileSystem, path: Path): Unit =
    if (RawFiles.isLocal(fs)) sync(path, StandardOpenOption.WRITE)

  /** Syncs the names in some directories; those that are gone are passed over. */
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
