// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality

import io.sparkzorder.quality.ideal.{RankedColumn, RankRange}

/**
 * The exact mean number of units that a query reads, over all possible positions of the query.
 *
 * A query is a window of `width` consecutive rows in the order of the column, from the value of its
 * first row to the value of its last row. A window of one row is a point query. The mean over all
 * such windows weighs each value by how often it occurs.
 */
object UnitsRead {

  /** Mean number of units that a point query reads. */
  def point(column: RankedColumn, units: IndexedSeq[RankRange]): Double = window(column, units, 1)

  /** Mean number of units that a range of `share` of the rows reads. */
  def range(column: RankedColumn, units: IndexedSeq[RankRange], share: Double): Double =
    window(column, units, width(column, share))

  /**
   * Mean number of units that a box reads: one range in each of two columns. The positions of the
   * two ranges are independent, so the share of boxes that read a unit is a product.
   *
   * @param a ranges of the units in the first column
   * @param b ranges of the same units in the second column
   */
  def box(
      first: RankedColumn,
      a: IndexedSeq[RankRange],
      second: RankedColumn,
      b: IndexedSeq[RankRange],
      share: Double): Double = {
    val (widthA, widthB) = (width(first, share), width(second, share))
    a.indices.map { i =>
      touching(first, a(i), widthA) * touching(second, b(i), widthB)
    }.sum
  }

  /** The number of rows of a window with a share of the column's rows. */
  def width(column: RankedColumn, share: Double): Long =
    math.max(1L, math.round(share * column.rows))

  private[quality] def window(
      column: RankedColumn,
      units: IndexedSeq[RankRange],
      width: Long): Double = units.map(touching(column, _, width)).sum

  /** The share of all windows that touch a range of ranks. */
  private def touching(column: RankedColumn, unit: RankRange, width: Long): Double =
    if (unit.isEmpty) 0.0
    else {
      val windows = column.rows - width + 1
      // the last row of the window must not be below the range, and its first row not above
      val first = math.max(0L, column.rowsBelow(unit.low) - width + 1)
      val end = math.min(windows, column.rowsBelow(unit.high + 1))
      math.max(0L, end - first).toDouble / windows
    }
}
