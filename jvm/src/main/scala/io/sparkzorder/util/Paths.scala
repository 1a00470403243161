// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import org.apache.hadoop.fs.Path

/** Paths below a table's root, and the names of files there. */
private[sparkzorder] object Paths {

  /** A folder below `root`, given by its relative name with `/` between the levels. */
  def folder(root: Path, relative: String): Path =
    relative.split('/').filter(_.nonEmpty).foldLeft(root)(child)

  /** `name` in a directory. `new Path(String)` would take a name with a colon for a URI. */
  def child(directory: Path, name: String): Path = new Path(directory, new Path(null, null, name))

  /** The inverse of [[folder]]: the part of `path` below `root`, empty for the root itself. */
  def relative(root: Path, path: Path): String =
    path.toString.stripPrefix(root.toString).stripPrefix("/")
}
