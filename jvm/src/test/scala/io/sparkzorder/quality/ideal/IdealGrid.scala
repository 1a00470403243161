// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality.ideal

/**
 * The best possible grid for independent columns: each column is cut into slabs of equal weight,
 * which gives `units` equal boxes. A column of few values has at most as many slabs as values, so
 * the other columns get more.
 *
 * Numbers of slabs can be fractions, because their product must be the number of units.
 *
 * @param distinct number of distinct values of each column
 */
final class IdealGrid(units: Double, distinct: Seq[Double]) {

  /** The number of slabs of each column. */
  val slabs: IndexedSeq[Double] =
    IdealGrid.bits(IdealGrid.log2(units), distinct.map(IdealGrid.log2)).map(math.pow(2, _))

  /** The number of units that a point query on column `c` reads. */
  def point(c: Int): Double = units / slabs(c)

  /**
   * The number of units that a range of `share` of the rows reads, for a column with very many
   * values.
   */
  def range(c: Int, share: Double): Double = units * fraction(c, share)

  /** The number of units that a box of two such ranges reads. */
  def box(a: Int, b: Int, share: Double): Double = units * fraction(a, share) * fraction(b, share)

  private def fraction(c: Int, share: Double): Double =
    IdealGrid.slabsTouched(slabs(c), share) / slabs(c)
}

object IdealGrid {

  /** For columns with more values than slabs. */
  def continuous(units: Double, columns: Int): IdealGrid =
    new IdealGrid(units, Seq.fill(columns)(Double.PositiveInfinity))

  /**
   * Mean number of slabs that a range touches, over all positions of the range. There are `slabs`
   * equal slabs, and the range covers `width` of all rows. The range touches one slab, and one more
   * for each inner edge, at `b / k`, that it crosses. For a fractional `slabs`, the mean is
   * interpolated linearly.
   */
  def slabsTouched(slabs: Double, width: Double): Double = {
    val lower = math.floor(slabs).toInt
    val part = slabs - lower
    val least = whole(lower, width)
    if (part == 0) least else least + part * (whole(lower + 1, width) - least)
  }

  private def whole(slabs: Int, width: Double): Double =
    1 + (1 until slabs).map { edge =>
      val at = edge.toDouble / slabs
      Seq(at, 1 - at, width, 1 - width).min / (1 - width)
    }.sum

  /** Divides `total` bits evenly among the columns, but gives no column more than its limit. */
  private[quality] def bits(total: Double, limits: Seq[Double]): IndexedSeq[Double] = {
    val shared = Array.fill(limits.size)(0.0)
    var left = total
    var waiting = limits.size
    for (c <- limits.indices.sortBy(limits(_))) {
      shared(c) = math.min(limits(c), left / waiting)
      left -= shared(c)
      waiting -= 1
    }
    shared.toIndexedSeq
  }

  private[quality] def log2(x: Double): Double = math.log(x) / math.log(2)
}
