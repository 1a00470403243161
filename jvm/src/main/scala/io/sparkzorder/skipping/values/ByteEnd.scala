// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import io.sparkzorder.index.ByteValues

/**
 * One end of an interval of byte strings in unsigned order.
 *
 * @param value null where the interval has no end
 */
private[sparkzorder] final case class ByteEnd(value: Array[Byte], inclusive: Boolean) {
  def isEndless: Boolean = value == null

  /** The same end for the interval beyond it: included there if it is not included here. */
  def outside: ByteEnd = ByteEnd(value, !inclusive)

  /** @param beyond above 0 if a bound lies on the interval's side of this end, 0 if it is equal */
  def isReachedBy(beyond: Int): Boolean = beyond > 0 || (beyond == 0 && inclusive)

  /** For two low ends: whether this one comes first. */
  def isBelow(low: ByteEnd): Boolean =
    !low.isEndless && (isEndless || {
      val o = order(low)
      o < 0 || (o == 0 && inclusive && !low.inclusive)
    })

  /** For two high ends: whether this one comes first. */
  def endsBelow(high: ByteEnd): Boolean =
    !isEndless && (high.isEndless || {
      val o = order(high)
      o < 0 || (o == 0 && !inclusive && high.inclusive)
    })

  /** For this high end and a low end: whether some value lies at or below one and above the other. */
  def sharesWith(low: ByteEnd): Boolean =
    isEndless || low.isEndless || {
      val o = order(low)
      o > 0 || (o == 0 && inclusive && low.inclusive)
    }

  /** For this high end and a low end: whether no value lies between the two. */
  def touches(low: ByteEnd): Boolean =
    isEndless || low.isEndless || {
      val o = order(low)
      o > 0 || (o == 0 && (inclusive || low.inclusive))
    }

  private def order(other: ByteEnd): Int =
    ByteValues.compare(value, 0, value.length, other.value)
}

private[sparkzorder] object ByteEnd {

  /** The end of an interval that goes on for ever. */
  val Endless: ByteEnd = ByteEnd(null, inclusive = false)
}
