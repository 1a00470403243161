// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.log

import org.apache.hadoop.fs.{FileStatus, Path}

/** A listing of data files by folder, of any age. */
private[sparkzorder] trait FolderListing {

  /** Files of a folder by name; None when the read does not cover the folder, or skips it. */
  def files(folder: Path): Option[Map[String, FileStatus]]

  /**
   * The files of a folder in the order of the listing; None if the listing would first have to group them.
   */
  def inOrder(folder: Path): Option[Iterator[FileStatus]] = {
    val _ = folder
    None
  }
}

private[sparkzorder] object FolderListing {

  /** Files of some folders by name. */
  type Files = Map[Path, Map[String, FileStatus]]
}
