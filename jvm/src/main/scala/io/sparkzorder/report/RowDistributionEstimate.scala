package io.sparkzorder.report

/**
 * How the rows of a table are spread over the values of a column, as the ranges of their units (pages,
 * row groups or files) show it: an estimate that reads no row.
 *
 * The first guess spreads the rows of each unit evenly over its range. Where that makes the table's rows
 * lie very unevenly in the range of a unit, its rows are spread again, in proportion to the guess for the
 * whole table: so a unit with one stray value counts where the other rows are. (That is one step of the
 * self-consistency algorithm of Turnbull, 1976, for observations that are known to lie in intervals. As a
 * rule for all units it would count rows twice where neighbouring units overlap a little.)
 *
 * Values of ranks alternate with the gaps between them: pieces 0, 2, 4, ... are values, 1, 3, ... gaps.
 *
 * @param below rows in the pieces below each piece, and all rows as the last
 */
private[sparkzorder] final class RowDistributionEstimate private (below: Array[Double]) {

  /** Share of the rows whose value lies between two ranks, both included. */
  def share(low: Int, high: Int): Double =
    if (below.last <= 0) 0.0 else (below(2 * high + 1) - below(2 * low)) / below.last
}

private[sparkzorder] object RowDistributionEstimate {

  /** Rows that lie between two ranks. */
  final case class Rows(low: Int, high: Int, count: Double)

  // Mean density of the table's rows as the rows in a range see it, over that along the range: 1 where
  // they lie evenly, below 2 where neighbours overlap.
  private val Uneven = 4.0

  /** @param values how far apart the values of `ranks` ranks lie */
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

  /** Rows in each piece when those of each unit are spread evenly over its range. */
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
 * Numbers of a row to which ranges are added. Nothing is ever taken away again, as differences would do:
 * what is left of a large number after its subtraction would look like rows.
 */
private[sparkzorder] final class RangeSums(length: Int) {
  // a binary tree over the row: node n stands for nodes 2n and 2n + 1, leaf i is node length + i
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
