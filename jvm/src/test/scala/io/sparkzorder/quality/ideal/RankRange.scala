// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality.ideal

/**
 * The closed range of ranks that a unit can contain. If both bounds of the unit are between two
 * neighbouring values, `low` is one above `high`: the unit contains neither value, but a query for
 * a range with both values reads it.
 */
final case class RankRange(low: Int, high: Int) {
  def isEmpty: Boolean = this == RankRange.Empty

  def intersect(other: RankRange): RankRange =
    RankRange(math.max(low, other.low), math.min(high, other.high))
}

object RankRange {

  /** The range of a unit of NULLs only: no query for a value reads it. */
  val Empty: RankRange = RankRange(Int.MaxValue, -1)
}
