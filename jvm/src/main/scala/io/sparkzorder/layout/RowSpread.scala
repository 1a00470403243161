package io.sparkzorder.layout

/**
 * How the rows of a table are spread over the values of a column, as the ranges of their units (pages,
 * row groups or files) show it: an estimate that reads no row.
 *
 * The first guess spreads the rows of each unit evenly over its range. Then each unit's rows are spread
 * again, over its range as before but in proportion to the guess for the whole table: so a unit with one
 * stray value counts where the other rows are. (This is one step of the self-consistency algorithm of
 * Turnbull, 1976, for observations that are known to lie in intervals.)
 *
 * Values of ranks alternate with the gaps between them: pieces 0, 2, 4, ... are values, 1, 3, ... gaps.
 *
 * @param below rows in the pieces below each piece, and all rows as the last
 */
private[layout] final class RowSpread private (below: Array[Double]) {

  /** Share of the rows whose value lies between two ranks, both included. */
  def share(low: Int, high: Int): Double =
    if (below.last <= 0) 0.0 else (below(2 * high + 1) - below(2 * low)) / below.last
}

private[layout] object RowSpread {

  /** Rows that lie between two ranks. */
  final case class Rows(low: Int, high: Int, count: Double)

  /** @param values how far apart the values of `ranks` ranks lie */
  def of(ranks: Int, values: ValueDistances, units: Seq[Rows]): RowSpread = {
    val pieces = 2 * ranks - 1
    val guess = firstGuess(pieces, values, units)
    val below = guess.scanLeft(0.0)(_ + _)
    val again = new RangeSums(pieces)
    units.foreach { u =>
      val there = below(2 * u.high + 1) - below(2 * u.low)
      if (there > 0) again.add(2 * u.low, 2 * u.high, u.count / there)
    }
    val spread = again.values.zip(guess).map { case (factor, rows) => factor * rows }
    new RowSpread(spread.scanLeft(0.0)(_ + _))
  }

  private def firstGuess(
      pieces: Int,
      values: ValueDistances,
      units: Seq[Rows]): Array[Double] = {
    val density = new RangeSums(pieces)
    val atOneValue = new Array[Double](pieces)
    units.foreach { u =>
      val room = values.room(u.low, u.high)
      if (room > 0) density.add(2 * u.low, 2 * u.high, u.count / room)
      else atOneValue(2 * u.low) += u.count
    }
    val even = density.values
    Array.tabulate(pieces) { i =>
      val width = if (i % 2 == 0) values.point else values.gap(i / 2)
      even(i) * width + atOneValue(i)
    }
  }
}

/**
 * Numbers of a row to which ranges are added. Nothing is ever taken away again, as differences would do:
 * what is left of a large number after its subtraction would look like rows.
 */
private[layout] final class RangeSums(length: Int) {
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

  def values: Array[Double] = Array.tabulate(length) { i =>
    Iterator.iterate(i + length)(_ >> 1).takeWhile(_ >= 1).map(nodes(_)).sum
  }
}
