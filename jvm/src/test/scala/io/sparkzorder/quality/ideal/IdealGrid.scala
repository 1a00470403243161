package io.sparkzorder.quality.ideal

/**
 * What a query reads at best when the columns are independent: `units` equal boxes, each column cut
 * into slabs of equal weight. A column of few values takes no more slabs than it has values, and
 * leaves the rest to the others.
 *
 * The number of slabs need not be whole: their product is the number of units, however that factors.
 *
 * @param distinct number of distinct values of each column
 */
final class IdealGrid(units: Double, distinct: Seq[Double]) {

  /** Slabs of each column. */
  val slabs: IndexedSeq[Double] =
    IdealGrid.bits(IdealGrid.log2(units), distinct.map(IdealGrid.log2)).map(math.pow(2, _))

  /** Units that a point query on column `c` reads. */
  def point(c: Int): Double = units / slabs(c)

  /** Units that a range of `share` of the rows reads, for a column that has very many values. */
  def range(c: Int, share: Double): Double = units * fraction(c, share)

  /** Units that a box of such ranges in two columns reads. */
  def box(a: Int, b: Int, share: Double): Double = units * fraction(a, share) * fraction(b, share)

  private def fraction(c: Int, share: Double): Double =
    IdealGrid.slabsTouched(slabs(c), share) / slabs(c)
}

object IdealGrid {

  /** For columns that have more values than a grid has slabs. */
  def continuous(units: Double, columns: Int): IdealGrid =
    new IdealGrid(units, Seq.fill(columns)(Double.PositiveInfinity))

  /**
   * Mean number of slabs that a range of `width` of all rows touches, when `slabs` equal slabs are cut
   * and the range lies anywhere. Each inner edge at `b / k` adds the share of places whose range lies on
   * both sides of it. Between two whole numbers of slabs the mean is interpolated linearly.
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

  /** Shares `total` bits out evenly, but to no column more than its limit. */
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
