package io.sparkzorder.ordering

import org.apache.spark.sql.types.DataType

/**
 * The distribution of one column's values, as a sample shows it: bounds, and the mid-rank of every
 * slot between and on them.
 *
 * A value's mid-rank is the share of rows below it plus half of the share that equals it, so that a
 * heavy value stands in the middle of its own mass. A gap has the mid-rank of the mass that was
 * thinned out of it, or of its position if there was none.
 *
 * @param midRanks one a slot of `bounds`, so `2 * bounds.length + 1`; in 0 .. 1, ascending
 */
final class ColumnRanks(
    val dataType: DataType,
    val bounds: BoundsIndex,
    val midRanks: Array[Double])
    extends Serializable {

  /** Range ids `floor(buckets * midrank)`, in 0 until `buckets`. */
  def toRangeIds(buckets: Int): ColumnRangeIds = {
    require(buckets >= 1, s"range ids need at least 1 bucket, not $buckets")
    val ids = midRanks.map(r => math.min(buckets - 1L, (buckets * r).toLong).toInt)
    new ColumnRangeIds(dataType, bounds, ids)
  }
}

object ColumnRanks {

  /**
   * @param values Catalyst values in any order, none null
   * @param weights one a value, or null if each weighs 1
   * @param nullWeight the weight of the sample's nulls, which are below all values
   * @param maxBounds the most bounds to keep; a value heavier than `total / maxBounds` stays one
   */
  def fromSample(
      dataType: DataType,
      values: Array[Any],
      weights: Array[Double],
      nullWeight: Double,
      maxBounds: Int): ColumnRanks = {
    require(maxBounds >= 1, s"range ids need at least 1 bound, not $maxBounds")
    val sample = SortedSample(dataType, values, weights)
    of(dataType, sample, nullWeight, thin(sample.weights, nullWeight, maxBounds))
  }

  /** @param kept indices of the values that stay bounds, ascending */
  private[sparkzorder] def of(
      dataType: DataType,
      sample: SortedSample,
      nullWeight: Double,
      kept: Array[Int]): ColumnRanks =
    new ColumnRanks(dataType, sample.take(kept), midRanks(sample.weights, nullWeight, kept))

  /** The indices of the values that stay bounds: the heavy ones, and the light at even steps of mass. */
  private[sparkzorder] def thin(
      weights: Array[Double],
      nullWeight: Double,
      maxBounds: Int): Array[Int] = {
    if (weights.length <= maxBounds) return weights.indices.toArray
    val heavy = (nullWeight + weights.sum) / maxBounds
    val light = weights.filter(_ <= heavy)
    val places = maxBounds - (weights.length - light.length)
    val step = light.sum / places
    val kept = Array.newBuilder[Int]
    var left = places
    var seen = 0.0
    var i = 0
    while (i < weights.length) {
      if (weights(i) > heavy) kept += i
      else {
        val before = (seen / step).toLong
        seen += weights(i)
        if (left > 0 && (seen / step).toLong > before) {
          kept += i
          left -= 1
        }
      }
      i += 1
    }
    kept.result()
  }

  private def midRanks(
      weights: Array[Double],
      nullWeight: Double,
      kept: Array[Int]): Array[Double] = {
    val total = nullWeight + weights.sum
    val ranks = new Array[Double](2 * kept.length + 1)
    if (total == 0) return ranks
    var below = nullWeight
    var next = 0
    var k = 0
    while (k <= kept.length) {
      val end = if (k < kept.length) kept(k) else weights.length
      val gapStart = below
      while (next < end) {
        below += weights(next)
        next += 1
      }
      ranks(2 * k) = (gapStart + below) / 2 / total
      if (k < kept.length) {
        ranks(2 * k + 1) = (below + weights(end) / 2) / total
        below += weights(end)
        next = end + 1
      }
      k += 1
    }
    ranks
  }
}
