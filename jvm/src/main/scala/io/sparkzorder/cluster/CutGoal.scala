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

  // equal weights give exactly the cuts of no weights
  def weight(column: Int): Double = if (isEven) 1.0 else weights(column)
}

private[sparkzorder] object CutGoal {

  /** Equally many point queries on each column. */
  val even: CutGoal = CutGoal()

  /** A larger sample would take minutes to be cut by recorded queries, and is cut by weights. */
  val MaxRowsForQueries = 4000000L
}

/**
 * A recorded query as a box of the ordering columns.
 *
 * @param weight how much the query counts
 * @param sides for each ordering column the values that match, as intervals of shares: a share of
 *   the values that are not NULL lies below. If both ends of an interval are equal, the interval
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

  /** True if some rank from `lowest` to `highest` matches in a column that is restricted. */
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
