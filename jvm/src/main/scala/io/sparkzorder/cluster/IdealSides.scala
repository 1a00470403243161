// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

/**
 * The sides of the cells of an ideal layout, as shares of all rows. The product of the sides of a cell is
 * the share of one file. The weighted number of files that point queries read is smallest if the side in
 * each column is inversely proportional to the weight of the column. No side is larger than 1: a column
 * whose weight is too small is not cut at all.
 */
private[sparkzorder] object IdealSides {

  /**
   * @param weights the relative number of point queries on each column; at least one column, and all above
   *   0
   * @return the side of each column
   */
  def of(files: Double, weights: IndexedSeq[Double]): IndexedSeq[Double] =
    if (weights.distinct.size <= 1) weights.map(_ => math.pow(files, -1.0 / weights.size))
    else {
      // as many columns as possible are cut, in descending order of weight, so that no side exceeds 1
      val sorted = weights.indices.sortBy(-weights(_))
      val cut = (sorted.size to 1 by -1).map(sorted.take).find { some =>
        factor(files, some.map(weights)) / weights(some.last) <= 1 || some.size == 1
      }.get
      val k = factor(files, cut.map(weights))
      weights.indices.map(c => if (cut.contains(c)) math.min(1.0, k / weights(c)) else 1.0)
    }

  /** The factor by which the inverse weights become the sides. */
  private def factor(files: Double, weights: IndexedSeq[Double]): Double =
    math.exp((weights.map(math.log).sum - math.log(files)) / weights.size)

  /** The mean number of files that point queries read, weighted by the weights of their columns. */
  def meanFiles(files: Double, weights: IndexedSeq[Double]): Double =
    if (weights.distinct.size <= 1) math.pow(files, 1.0 - 1.0 / weights.size)
    else {
      val sides = of(files, weights)
      weights.zip(sides).map { case (w, s) => w * s }.sum * files / weights.sum
    }
}
