package io.sparkzorder.quality

import io.sparkzorder.quality.ideal.{IdealGrid, RankedColumn, RankRange}

/**
 * How well one level of a layout (its files, its row groups or its pages) serves queries, beside the
 * ideal for as many units. Excess is the number of units read divided by the ideal's: 1 is perfect.
 *
 * @param ranges for each column the range of each unit
 */
final class LevelQuality(
    data: IndexedSeq[RankedColumn],
    ranges: IndexedSeq[IndexedSeq[RankRange]]) {

  /** Units of the level; for pages those of the first column. */
  val units: Int = ranges.head.size

  // columns may have different numbers of pages
  private val ideals =
    ranges.map(r => new IdealGrid(r.size.toDouble, data.map(_.distinct.toDouble)))

  /** Mean units that a point query on each column reads. */
  val points: IndexedSeq[Double] =
    data.indices.map(c => UnitsRead.point(data(c), ranges(c)))

  /** Of the mean over the columns' point queries. */
  def pointExcess: Double = points.sum / data.indices.map(c => ideals(c).point(c)).sum

  /** Of each column's point queries. */
  def columnExcess: IndexedSeq[Double] = data.indices.map(c => points(c) / ideals(c).point(c))

  /** Of the mean over the columns' ranges of a share of the rows. */
  def rangeExcess(share: Double): Double =
    data.indices.map(c => UnitsRead.range(data(c), ranges(c), share)).sum /
      data.indices.map(c => ideals(c).range(c, share)).sum

  /** Of the mean over the boxes in each two columns; not for pages, which columns cut differently. */
  def boxExcess(share: Double): Double = {
    require(ranges.forall(_.size == units), "a box needs units that all columns share")
    val pairs = data.indices.combinations(2).map(p => (p(0), p(1))).toSeq
    pairs.map { case (a, b) =>
      UnitsRead.box(data(a), ranges(a), data(b), ranges(b), share)
    }.sum / pairs.map { case (a, b) => ideals(a).box(a, b, share) }.sum
  }
}
