// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import io.sparkzorder.index.FileTable
import io.sparkzorder.skipping.predicate.ColumnDomains

/**
 * The distributions of columns by one index.
 *
 * @param identity of the index
 * @param files number of files that the index knows
 * @param bytes of all these files
 */
private[workload] final case class Curves(identity: AnyRef, files: Int, bytes: Double) {
  private val known = scala.collection.mutable.HashMap.empty[String, Option[RankCurve]]

  def of(name: String, column: ColumnDomains, table: FileTable): Option[RankCurve] =
    known.getOrElseUpdate(name, RankCurve.of(column, table))
}

private[workload] object Curves {
  def of(identity: AnyRef, table: FileTable): Curves = {
    // entries of files that are gone do not count
    var (files, bytes) = (0, 0.0)
    var i = 0
    while (i < table.size) {
      if (table.isLive(i)) {
        files += 1
        bytes += table.lengths(i)
      }
      i += 1
    }
    Curves(identity, files, bytes)
  }
}
