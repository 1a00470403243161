// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

/** What the modification time of a file tells. Times are milliseconds. */
private[sparkzorder] object ModificationTimes {
  // Nix sets all files to the first second of 1970. The earliest time that a ZIP archive can store is the
  // beginning of 1980 in the local time zone, which is within a day of the beginning of 1980 in UTC.
  private val OneSecond = 1000L
  private val FirstOfZip = 315532800000L
  private val Day = 24L * 3600 * 1000

  /**
   * True if a change of a file with this time would give the file another time. Some file systems have no
   * modification times, and archives and disk images may give one constant time to all files. There, a changed
   * file could look unchanged.
   */
  def tellChanges(modified: Long): Boolean =
    modified != 0L && modified != OneSecond && math.abs(modified - FirstOfZip) > Day
}
