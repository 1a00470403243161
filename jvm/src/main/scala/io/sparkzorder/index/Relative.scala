// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import org.apache.hadoop.fs.Path

/** Paths of data files relative to their table, as the directory lists them: nothing is escaped. */
private[sparkzorder] object Relative {

  /** The path below `root`; the whole path for a file elsewhere. */
  def path(root: Path, file: Path): String = below(root, file).getOrElse(file.toString)

  /** None for a file that does not lie below `root`. */
  def below(root: Path, file: Path): Option[String] = {
    val prefix = {
      val p = root.toUri.getPath
      if (p.endsWith("/")) p else p + "/"
    }
    val full = file.toUri.getPath
    if (full.startsWith(prefix)) Some(full.substring(prefix.length)) else None
  }
}
