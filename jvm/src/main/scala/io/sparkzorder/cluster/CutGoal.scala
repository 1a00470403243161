// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

/**
 * The queries for which the cuts of a folder should be good.
 *
 * @param weights how many point queries there are on each ordering column, compared with the other
 *   columns; empty if all columns have equally many
 * @param queries queries of the recorded workload; if there are none, only `weights` count
 */
private[sparkzorder] final case class CutGoal(
    weights: IndexedSeq[Double] = IndexedSeq.empty,
    queries: IndexedSeq[QueryBox] = IndexedSeq.empty) {

  private val isEven = weights.distinct.size <= 1

  // with equal weights, the cuts are exactly those without weights
  def weight(column: Int): Double = if (isEven) 1.0 else weights(column)
}

private[sparkzorder] object CutGoal {

  /** Equally many point queries on each column. */
  val even: CutGoal = CutGoal()

  /** A larger sample is cut by weights alone, because cutting it by recorded queries would take minutes. */
  val MaxRowsForQueries = 4000000L
}

/**
 * A recorded query as a box of the ordering columns.
 *
 * @param weight how much the query counts
 * @param sides for each ordering column, the intervals of values that match. An end of an interval is the
 *   share of the values (without NULL) that lie below it. If both ends of an interval are equal, the interval
 *   holds the value at this share. None if the query does not restrict the column
 */
private[sparkzorder] final case class QueryBox(
    weight: Double,
    sides: IndexedSeq[Option[Seq[(Double, Double)]]]) {

  /** The same box in the ranks of a sample. */
  private[cluster] def ranked(columns: IndexedSeq[RankedColumn]): RankedBox =
    RankedBox(
      weight,
      sides.zip(columns).map { case (side, c) =>
        side.map(_.map { case (from, until) => (c.rankAt(from), c.rankUntil(from, until)) }.toArray)
          .orNull
      }.toArray)
}

/**
 * A box in ranks ([[RankedColumn]]).
 *
 * @param sides least and greatest rank of each interval; null for a column without restriction
 */
private[cluster] final case class RankedBox(weight: Double, sides: Array[Array[(Int, Int)]]) {

  def restricts(column: Int): Boolean = sides(column) != null

  /** True if some rank from `lowest` to `highest` matches. The box must restrict the column. */
  def meets(column: Int, lowest: Int, highest: Int): Boolean = {
    val intervals = sides(column)
    var i = 0
    while (i < intervals.length) {
      if (intervals(i)._1 <= highest && intervals(i)._2 >= lowest) return true
      i += 1
    }
    false
  }
}

/**
 * Judges cuts by recorded queries, as a greedy Qd-tree does (Yang et al., 2020): the gain of a cut is
 * the number of rows that queries no longer read, because they need only one of the two sides.
 *
 * A share of the gain, `UniformShare`, comes from point queries on all ordering columns. So a column with
 * few recorded queries is cut, too, and the layout does not follow the recorded queries alone.
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

  /**
   * The boxes that meet one side of a cut.
   *
   * @param boxes boxes that meet the cell that is cut, so that only the column of the cut decides
   */
  def on(boxes: Array[RankedBox], column: Int, lowest: Int, highest: Int): Array[RankedBox] =
    boxes.filter(b => !b.restricts(column) || b.meets(column, lowest, highest))

  /**
   * The gain of a cut.
   *
   * @param boxes the boxes that meet the cell
   * @param left the number of rows of the cell whose rank in `column` is below `rank`
   * @param rows the number of all rows of the cell
   * @return the gain of the boxes alone, and the gain together with the point queries
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

  /**
   * The ranks at which intervals of the boxes begin, and the ranks after the ends of the intervals: the cuts
   * that are worth a trial. If there are more than `MaxEnds` such ranks, `MaxEnds` of them at even steps.
   */
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
  // the greatest number of ends that are tried in each column of a cell
  private val MaxEnds = 24
}
