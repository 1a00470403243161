// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import java.io.FileNotFoundException

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, ParentNotDirectoryException, Path}

import io.sparkzorder.util.{Directories, ManyFiles, RawFiles}

/** Finds the tables to which given directories may belong. */
private[sparkzorder] object StateSearch {

  /**
   * Returns the state of each of the directories that has a `_zorder`, and of each directory above them that has one.
   * So a read of one partition finds the state of its table. The result is not cached, because the first OPTIMIZE of a
   * table may make `_zorder` at any moment.
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
    ManyFiles.map(candidates) { case (d, fs) =>
      if (exists(fs, new Path(d, StateDirectory.Name))) Some(new StateDirectory(d, conf)) else None
    }.flatten
  }

  private def exists(fs: FileSystem, path: Path): Boolean =
    try fs.getFileStatus(path).isDirectory
    catch {
      // not found, or the given path is a file, which has nothing below it
      case _: FileNotFoundException | _: ParentNotDirectoryException => false
      case e if Directories.isDenied(e) => false
    }
}
