// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality

import io.sparkzorder.quality.ideal.{IdealGrid, RankedColumn, RankRange}

/**
 * How many units of one level of a layout (files, row groups or pages) queries read, compared with
 * the ideal for the same number of units. Excess is the number of units read divided by that ideal.
 *
 * @param ranges for each column the range of each unit
 */
final class LevelQuality(
    data: IndexedSeq[RankedColumn],
    ranges: IndexedSeq[IndexedSeq[RankRange]]) {

  /** The number of units of the level; for pages, those of the first column. */
  val units: Int = ranges.head.size

  // columns may have different numbers of pages
  private val ideals =
    ranges.map(r => new IdealGrid(r.size.toDouble, data.map(_.distinct.toDouble)))

  /** Mean number of units that a point query reads, for each column. */
  val points: IndexedSeq[Double] =
    data.indices.map(c => UnitsRead.point(data(c), ranges(c)))

  /** Excess of point queries, over all columns. */
  def pointExcess: Double = points.sum / data.indices.map(c => ideals(c).point(c)).sum

  /** Excess of point queries on each column. */
  def columnExcess: IndexedSeq[Double] = data.indices.map(c => points(c) / ideals(c).point(c))

  /** Excess of range queries for a share of the rows, over all columns. */
  def rangeExcess(share: Double): Double =
    data.indices.map(c => UnitsRead.range(data(c), ranges(c), share)).sum /
      data.indices.map(c => ideals(c).range(c, share)).sum

  /**
   * Excess of boxes in two columns, over all pairs. Not for pages, whose boundaries differ by
   * column.
   */
  def boxExcess(share: Double): Double = {
    require(ranges.forall(_.size == units), "a box needs units that all columns share")
    val pairs = data.indices.combinations(2).map(p => (p(0), p(1))).toSeq
    pairs.map { case (a, b) =>
      UnitsRead.box(data(a), ranges(a), data(b), ranges(b), share)
    }.sum / pairs.map { case (a, b) => ideals(a).box(a, b, share) }.sum
  }
}
