// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.FileNotFoundException

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, ParentNotDirectoryException, Path}
import org.apache.hadoop.security.AccessControlException

import io.sparkzorder.util.{ManyFiles, RawFiles}

/** Finds the state that a read of some directories has to look at. */
private[sparkzorder] object StateSearch {

  /**
   * The state of every directory that holds one of `directories`, or is one: a read of a partition
   * directory finds its table's. Looks each time, since a first OPTIMIZE may have made it just now.
   */
  def above(directories: Seq[Path], conf: Configuration): Seq[StateDirectory] = {
    val seen = mutable.HashSet.empty[Path]
    val candidates = directories.flatMap { start =>
      val fs = RawFiles.of(start, conf)
      Iterator.iterate(fs.makeQualified(start))(_.getParent)
        .takeWhile(d => d != null && seen.add(d))
        .map(_ -> fs)
        .toList
    }
    // a read may name thousands of directories
    ManyFiles.map(candidates) { case (d, fs) =>
      if (exists(fs, new Path(d, StateDirectory.Name))) Some(new StateDirectory(d, conf)) else None
    }.flatten
  }

  private def exists(fs: FileSystem, path: Path): Boolean =
    try fs.getFileStatus(path).isDirectory
    catch {
      // what may not be read is none of ours; a file that was named as if it were a directory
      case _: FileNotFoundException | _: AccessControlException | _: ParentNotDirectoryException =>
        false
    }
}
