// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.report

/**
 * Estimates how the rows of a table are spread over the values of a column. The estimate uses only
 * the ranges of units (pages, row groups or files) and reads no row.
 *
 * The first guess spreads the rows of each unit evenly over the unit's range. If the rows of the
 * whole table then lie very unevenly in the range of a unit, the rows of that unit are spread
 * again, in proportion to the first guess for the whole table. So the rows of a unit with one stray
 * value count where the other rows of the table are. (This is one step of the self-consistency
 * algorithm of Turnbull, 1976, for observations that are known to lie in intervals. The step is not
 * applied to all units: it would count rows twice where neighbouring units overlap a little.)
 *
 * The range of the column is cut into pieces. Pieces 0, 2, 4, ... are the values of the ranks.
 * Pieces 1, 3, ... are the gaps between neighbouring values.
 *
 * @param below for each piece, the number of rows in the pieces before it; the last element is the
 *   number of all rows
 */
private[sparkzorder] final class RowDistributionEstimate private (below: Array[Double]) {

  /** Share of the rows whose value lies between two ranks, both included. */
  def share(low: Int, high: Int): Double =
    if (below.last <= 0) 0.0 else (below(2 * high + 1) - below(2 * low)) / below.last
}

private[sparkzorder] object RowDistributionEstimate {

  /** `count` rows whose values lie between two ranks, both included. */
  final case class Rows(low: Int, high: Int, count: Double)

  // The rows of a unit are spread again if this ratio is above `Uneven` in the unit's range: the
  // mean density of the table's rows weighted by rows, divided by the mean density weighted by
  // length. The ratio is 1 if the rows lie evenly, and below 2 if only neighbouring units overlap.
  private val Uneven = 4.0

  /** @param values distances between the values of the `ranks` ranks */
  def of(ranks: Int, values: ValueSpacing, units: Seq[Rows]): RowDistributionEstimate = {
    val pieces = 2 * ranks - 1
    val width = Array.tabulate(pieces)(i => if (i % 2 == 0) values.point else values.gap(i / 2))
    val even = evenly(width, values, units)
    val below = even.scanLeft(0.0)(_ + _)
    val squares =
      even.zip(width).map { case (r, w) => if (w > 0) r * r / w else 0.0 }.scanLeft(0.0)(_ + _)
    val (uneven, others) = units.partition { u =>
      def sum(sums: Array[Double]) = sums(2 * u.high + 1) - sums(2 * u.low)
      sum(squares) * values.room(u.low, u.high) > Uneven * sum(below) * sum(below)
    }
    val factors = new RangeSums(pieces)
    uneven.foreach { u =>
      val there = below(2 * u.high + 1) - below(2 * u.low)
      factors.add(2 * u.low, 2 * u.high, u.count / there)
    }
    val again = factors.values.zip(even).map { case (factor, rows) => factor * rows }
    val spread = evenly(width, values, others).zip(again).map { case (a, b) => a + b }
    new RowDistributionEstimate(spread.scanLeft(0.0)(_ + _))
  }

  /**
   * Number of rows in each piece if the rows of each unit are spread evenly over the unit's range.
   */
  private def evenly(
      width: Array[Double],
      values: ValueSpacing,
      units: Seq[Rows]): Array[Double] = {
    val density = new RangeSums(width.length)
    val atOneValue = new Array[Double](width.length)
    units.foreach { u =>
      val room = values.room(u.low, u.high)
      if (room > 0) density.add(2 * u.low, 2 * u.high, u.count / room)
      else atOneValue(2 * u.low) += u.count
    }
    density.values.zip(width).zip(atOneValue).map { case ((d, w), one) => d * w + one }
  }
}

/**
 * An array of numbers. `add` adds a number to all elements of a range. Nothing is ever subtracted.
 * An array of differences would subtract, and the rounding error that remains of a large number
 * would look like rows.
 */
private[sparkzorder] final class RangeSums(length: Int) {
  // a binary tree over the array: a number in node n counts for nodes 2n and 2n + 1; leaf i is node
  // length + i
  private val nodes = new Array[Double](2 * length)

  /** Adds `x` to the numbers `from` to `to`, both included. */
  def add(from: Int, to: Int, x: Double): Unit = {
    var low = from + length
    var high = to + length + 1
    while (low < high) {
      if ((low & 1) == 1) {
        nodes(low) += x
        low += 1
      }
      if ((high & 1) == 1) {
        high -= 1
        nodes(high) += x
      }
      low >>= 1
      high >>= 1
    }
  }

  def values: Array[Double] = {
    val sums = nodes.clone()
    var n = 1
    while (n < length) {
      sums(2 * n) += sums(n)
      sums(2 * n + 1) += sums(n)
      n += 1
    }
    sums.slice(length, 2 * length)
  }
}
