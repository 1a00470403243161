// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

/**
 * Judges cuts by recorded queries, as a greedy Qd-tree does (Yang et al., 2020): the gain of a cut is
 * the number of rows that queries no longer read, because they need only one of the two sides.
 *
 * A part of the gain, `UniformShare`, comes from point queries on all ordering columns. So a column
 * of few queries is not left uncut, and the layout does not follow the recorded queries alone.
 *
 * @param columns the sample
 */
private[cluster] final class QueryCuts(columns: IndexedSeq[RankedColumn], goal: CutGoal) {
  import QueryCuts._

  private val total = math.max(Double.MinPositiveValue, goal.queries.map(_.weight).sum)
  private val weights = {
    val all = columns.indices.map(goal.weight)
    all.map(_ / all.sum)
  }

  val boxes: Array[RankedBox] =
    goal.queries.map(q => q.copy(weight = q.weight / total).ranked(columns)).toArray

  /** The boxes that a side of a cut meets; the boxes met the whole cell. */
  def on(boxes: Array[RankedBox], column: Int, lowest: Int, highest: Int): Array[RankedBox] =
    boxes.filter(b => !b.restricts(column) || b.meets(column, lowest, highest))

  /**
   * What a cut gains.
   *
   * @param boxes that the cell meets
   * @param left number of the cell's `rows` whose rank in `column` is below `rank`
   * @return the gain by the boxes, and the gain with the share of the point queries
   */
  def gain(
      boxes: Array[RankedBox],
      cell: Box,
      column: Int,
      rank: Int,
      left: Int,
      rows: Int): (Double, Double) = {
    var own = 0.0
    var i = 0
    while (i < boxes.length) {
      val b = boxes(i)
      if (b.restricts(column)) {
        if (!b.meets(column, cell.lowest(column), rank - 1)) own += b.weight * left
        if (!b.meets(column, rank, cell.highest(column))) own += b.weight * (rows - left)
      }
      i += 1
    }
    val c = columns(column)
    val points = c.share(cell.lowest(column), cell.highest(column)) * rows -
      c.share(cell.lowest(column), rank - 1) * left -
      c.share(rank, cell.highest(column)) * (rows - left)
    (own, (1 - UniformShare) * own + UniformShare * weights(column) * points)
  }

  /** Ranks at which the intervals of boxes begin, or the rows after them; some of them if many. */
  def ends(boxes: Array[RankedBox], column: Int, lowest: Int, highest: Int): Array[Int] = {
    val all = boxes.filter(_.restricts(column)).flatMap(_.sides(column))
      .flatMap { case (from, to) => Array(from, to + 1) }
      .filter(r => lowest <= r && r <= highest).distinct.sorted
    if (all.length <= MaxEnds) all
    else Array.tabulate(MaxEnds)(i => all((i.toLong * all.length / MaxEnds).toInt))
  }
}

private[cluster] object QueryCuts {
  private val UniformShare = 0.15
  // ends of intervals that are tried in each column of a cell
  private val MaxEnds = 24
}
