// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

/** What the modification time of a file tells. Times are milliseconds. */
private[sparkzorder] object ModificationTimes {
  // The beginning of 2013 in UTC. No file of Parquet or ORC is older. Archives and images have earlier constants: Nix
  // the first second of 1970, ZIP the beginning of 1980, Gradle 1 February 1980, Bazel the beginning of 2000. A machine
  // whose clock starts anew when its power fails has early times, too, and has them again.
  private val FirstOfParquet = 1356998400000L

  /**
   * True if a change of a file with this time would give the file another time. Some file systems have no
   * modification times, and archives and disk images may give one constant time to all files. There, a changed
   * file could look unchanged.
   */
  def tellChanges(modified: Long): Boolean = modified >= FirstOfParquet
}
