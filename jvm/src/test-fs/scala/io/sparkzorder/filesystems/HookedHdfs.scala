// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.filesystems

import org.apache.hadoop.fs.{FileStatus, LocatedFileStatus, Path, PathFilter, RemoteIterator}
import org.apache.hadoop.hdfs.DistributedFileSystem

import io.sparkzorder.FaultyFileSystem

/** HDFS with the hook of [[FaultyFileSystem]] before renames and listings. */
class HookedHdfs extends DistributedFileSystem {
  override def rename(from: Path, to: Path): Boolean = {
    FaultyFileSystem.before("rename", to)
    super.rename(from, to)
  }

  // the way in which Spark lists files
  override protected def listLocatedStatus(
      path: Path,
      filter: PathFilter): RemoteIterator[LocatedFileStatus] = {
    FaultyFileSystem.before("list", path)
    super.listLocatedStatus(path, filter)
  }

  // the way in which a run lists its folders again
  override def listStatus(path: Path): Array[FileStatus] = {
    FaultyFileSystem.before("list", path)
    super.listStatus(path)
  }
}
