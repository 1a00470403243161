// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import java.net.URI

import org.apache.hadoop.fs.{FileStatus, Path}

/** The local disk under the scheme `counting`. The hook of [[FaultyFileSystem]] also runs before each `status`. */
class CountingFileSystem extends FaultyFileSystem {
  override def getUri: URI = URI.create("counting:///")
  override def getScheme: String = "counting"

  private val isListing = ThreadLocal.withInitial[Boolean](() => false)

  /** The local file system looks at each file, and that is no call of its own elsewhere. */
  override def listStatus(path: Path): Array[FileStatus] = {
    isListing.set(true)
    try super.listStatus(path)
    finally isListing.set(false)
  }

  override def getFileStatus(path: Path): FileStatus = {
    if (!isListing.get) FaultyFileSystem.before("status", path)
    super.getFileStatus(path)
  }
}
