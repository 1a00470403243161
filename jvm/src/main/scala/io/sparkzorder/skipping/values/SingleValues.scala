// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.math.BigInteger

import io.sparkzorder.index.values.ValueHash

/**
 * A set of values that consists of few single values, which an index of values can look up.
 *
 * @param size the number of values
 * @param hashes of the values, by the seed of the hash
 */
private[sparkzorder] final class SingleValues private (
    val size: Int,
    val hashes: Long => Array[Long])

private[sparkzorder] object SingleValues {

  /** @return None if there are more values than `most`, or intervals of more values */
  def of(values: Intervals, domain: ComparisonDomain, most: Int): Option[SingleValues] =
    values match {
      case longs: LongIntervals => ofLongs(longs, most)
      case bytes: ByteIntervals => ofBytes(bytes, domain, most)
    }

  private def ofLongs(intervals: LongIntervals, most: Int): Option[SingleValues] = {
    // a difference that is too large for a long is negative
    val widths = intervals.lows.indices.map(i => intervals.highs(i) - intervals.lows(i))
    if (widths.exists(w => w < 0 || w >= most)) None
    else Some(widths.map(_ + 1).sum).filter(_ <= most).map { count =>
      val all = intervals.lows.indices.iterator
        .flatMap(i => Iterator.range(0, widths(i).toInt + 1).map(intervals.lows(i) + _)).toArray
      new SingleValues(count.toInt, seed => all.map(ValueHash.ofLong(_, seed)))
    }
  }

  private def ofBytes(
      intervals: ByteIntervals,
      domain: ComparisonDomain,
      most: Int): Option[SingleValues] = {
    val ends = intervals.lows.zip(intervals.highs)
    val areSingle = ends.length <= most && ends.forall { case (low, high) =>
      !low.isEndless && !high.isEndless && low.inclusive && high.inclusive &&
      java.util.Arrays.equals(low.value, high.value)
    }
    val all = intervals.lows.map(_.value)
    domain match {
      case _ if !areSingle => None
      case BytesDomain =>
        Some(new SingleValues(all.length, seed => all.map(ValueHash.ofBytes(_, seed))))
      case WideDecimals(_) =>
        val numbers = all.map(unscaled)
        Some(new SingleValues(all.length, seed => numbers.map(ValueHash.ofUnscaled(_, seed))))
      case _ => None
    }
  }

  /** The number of 16 ordered bytes. */
  private def unscaled(ordered: Array[Byte]): BigInteger = {
    val bytes = ordered.clone()
    bytes(0) = (bytes(0) ^ 0x80).toByte
    new BigInteger(bytes)
  }
}
