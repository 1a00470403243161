// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import io.sparkzorder.skipping.predicate.FileBounds
import io.sparkzorder.util.WeightedCache

/** Bounds of files that queries have asked for, by the states of tables. All sessions share them. */
private[sources] object FormatSkipping {
  private val cache = new WeightedCache[AnyRef, FileBounds](_.bytes)

  /**
   * The bounds of some columns. If they are not there, they are loaded with the columns that were loaded
   * before.
   *
   * @param state of a table, which never changes
   * @param limit bytes that all bounds together may take
   */
  def bounds(state: AnyRef, columns: Set[String], limit: Long)(
      load: Set[String] => FileBounds): FileBounds = {
    val before = cache.get(state)
    before.filter(b => columns.subsetOf(b.columns)).getOrElse {
      val wanted = columns ++ before.fold(Set.empty[String])(_.columns)
      val loaded = load(wanted)
      cache.put(state, loaded, limit)
      loaded
    }
  }

  /** For tests. */
  def clear(): Unit = cache.clear()
}
