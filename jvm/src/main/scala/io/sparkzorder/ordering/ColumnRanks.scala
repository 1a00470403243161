// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import java.util.Arrays

import scala.collection.mutable.ArrayBuilder

import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.UTF8String

/**
 * The distribution of the values of one column in a sample: bounds, and a mid-rank for each slot of the
 * bounds. A slot is a bound or a gap between bounds, see [[BoundsIndex]].
 *
 * The mid-rank of a value is the share of the rows below the value plus half the share of the rows with the value.
 * If 20 % of the rows are below 7, and 60 % are 7, the mid-rank of 7 is 0.5. Sampled values that did not become
 * bounds lie in the gaps. The mid-rank of a gap is the share of the rows below the gap plus half the share of the
 * rows in the gap.
 *
 * @param midRanks one for each slot of `bounds`, so `2 * bounds.length + 1` of them; from 0 to 1, and never
 *   descending
 */
private[sparkzorder] final class ColumnRanks(
    val dataType: DataType,
    val bounds: BoundsIndex,
    val midRanks: Array[Double])
    extends Serializable {

  /**
   * The range ids `floor(buckets * midRank)`, from 0 to `buckets - 1`. So the ids of a column with few values are
   * spread over the whole range, and the ids next to that of a frequent value stay unused.
   */
  def toRangeIds(buckets: Int): ColumnRangeIds = {
    require(buckets >= 1, s"range ids need at least 1 bucket, not $buckets")
    val ids = midRanks.map(r => math.min(buckets - 1L, (buckets * r).toLong).toInt)
    new ColumnRangeIds(dataType, bounds, ids)
  }
}

private[sparkzorder] object ColumnRanks {

  /**
   * The ranks of the values of a sample.
   *
   * @param values Catalyst values in any order, none null
   * @param weights one for each value, or null if each has the weight 1
   * @param nullWeight the weight of the NULLs of the sample, which are ranked below all values
   * @param maxBounds the maximum number of bounds; every value whose weight is above
   *   `total / maxBounds` becomes a bound
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

  /** @param kept indices of the values that become bounds, ascending */
  def of(
      dataType: DataType,
      sample: SortedSample,
      nullWeight: Double,
      kept: Array[Int]): ColumnRanks =
    new ColumnRanks(dataType, sample.take(kept), midRanks(sample.weights, nullWeight, kept))

  /**
   * The indices of the values that become bounds. A value with more than `1 / maxBounds` of the total weight is heavy.
   * All heavy values become bounds. The other bounds are light values, one for each of equal steps of weight.
   */
  def thin(
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

/**
 * The distinct values of the sample of a column, in Spark's order, each with its weight.
 *
 * @param weights the weight of each distinct value, positive
 * @param take makes bounds from the values at some indices, in ascending order
 */
private[sparkzorder] final class SortedSample(
    val weights: Array[Double],
    val take: Array[Int] => BoundsIndex) {

  /** All distinct values. */
  def all: BoundsIndex = take(Array.range(0, weights.length))
}

private[sparkzorder] object SortedSample {

  /**
   * @param values Catalyst values in any order, none null
   * @param weights one for each value, or null if each has the weight 1; values of weight 0 are
   *   dropped
   */
  def apply(dataType: DataType, values: Array[Any], weights: Array[Double]): SortedSample =
    OrderedType.require(dataType) match {
      case f: FixedOrder if weights == null => ofOrderedLongs(f, values.map(f.toLong))
      case order => ofKeys(dataType, values.map(order.keyOf), weights)
    }

  /**
   * The common case, without boxing: ordered longs of equal weight.
   *
   * @param keys in any order; this method sorts the array in place
   */
  def ofOrderedLongs(order: FixedOrder, keys: Array[Long]): SortedSample = {
    Arrays.parallelSort(keys)
    val values = new ArrayBuilder.ofLong
    val counts = new ArrayBuilder.ofDouble
    var i = 0
    while (i < keys.length) {
      val start = i
      while (i < keys.length && keys(i) == keys(start)) i += 1
      values += keys(start)
      counts += (i - start).toDouble
    }
    val distinct = values.result()
    new SortedSample(counts.result(), taken => new LongBounds(order, taken.map(d => distinct(d))))
  }

  /** Like [[apply]], for keys ([[OrderedType.keyOf]]) in place of values. */
  def ofKeys(dataType: DataType, keys: Array[AnyRef], weights: Array[Double]): SortedSample = {
    val order = OrderedType.require(dataType)
    val compare = order.keys
    val weighty = keys.indices.filter(i => weights == null || weights(i) > 0)
    val byKey = weighty.map(Integer.valueOf).toArray
    Arrays.parallelSort(byKey, (a: Integer, b: Integer) => compare.compare(keys(a), keys(b)))
    val values = Array.newBuilder[AnyRef]
    val sums = Array.newBuilder[Double]
    var i = 0
    while (i < byKey.length) {
      val value = keys(byKey(i))
      var sum = 0.0
      while (i < byKey.length && compare.compare(keys(byKey(i)), value) == 0) {
        sum += (if (weights == null) 1.0 else weights(byKey(i)))
        i += 1
      }
      values += value
      sums += sum
    }
    val distinct = values.result()
    new SortedSample(
      sums.result(),
      taken => BoundsIndex.ofKeys(order, taken.map(d => unshared(distinct(d)))))
  }

  /** Copies a string, because a string of the sample may keep its whole row in memory. */
  private def unshared(key: AnyRef): AnyRef = key match {
    case string: UTF8String => string.clone()
    case other => other
  }
}
