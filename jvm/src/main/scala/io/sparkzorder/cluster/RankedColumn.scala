package io.sparkzorder.cluster

import org.apache.spark.sql.types.DataType

import io.sparkzorder.ordering.{BoundsIndex, SortedSample}

/**
 * A sampled column with its values replaced by ranks: 0 for NULL, and r for the r-th least of the
 * distinct values. Cuts are found on ranks alone, whatever the type.
 *
 * @param sorted the distinct values with the number of rows of each
 * @param distinct all of them, to be searched
 * @param ranks of the sampled rows, in their order
 */
final class RankedColumn(
    val dataType: DataType,
    val sorted: SortedSample,
    val distinct: BoundsIndex,
    val ranks: Array[Int]) {

  def rows: Int = ranks.length

  /** Number of sampled rows whose rank is below `r`, for r up to one above the greatest rank. */
  val below: Array[Int] = {
    val counts = new Array[Int](sorted.weights.length + 2)
    val nulls = rows - sorted.weights.sum.toInt
    counts(1) = nulls
    var r = 1
    while (r <= sorted.weights.length) {
      counts(r + 1) = counts(r) + sorted.weights(r - 1).toInt
      r += 1
    }
    counts
  }

  def nulls: Int = below(1)

  /** The share of the folder's rows whose rank lies in `lowest .. highest`. */
  def share(lowest: Int, highest: Int): Double =
    (below(highest + 1) - below(lowest)).toDouble / math.max(1, rows)
}
