// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

/**
 * The empty data file that lies in a folder while a run is published there. It holds no row, and
 * vanishes again, so it is no file of the table.
 */
private[sparkzorder] object TokenFile {
  val Prefix = "part-zorder-"
  private val Name = s"$Prefix[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.[a-z]+".r.pattern

  def isOne(name: String): Boolean = name.startsWith(Prefix) && Name.matcher(name).matches()
}
