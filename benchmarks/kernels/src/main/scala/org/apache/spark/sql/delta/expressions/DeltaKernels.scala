// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.delta.expressions

/** Opens Delta Lake's kernel of `interleave_bits`, which is private to its package. */
object DeltaInterleave {

  /** What Delta runs unless `optimize.zorder.fastInterleaveBits.enabled` is set. */
  def byDefault(ids: Array[Int]): Array[Byte] = InterleaveBits.interleaveBits(ids, false)

  def fast(ids: Array[Int]): Array[Byte] = InterleaveBits.interleaveBits(ids, true)
}

/** Opens Delta Lake's kernel of Hilbert clustering. */
final class DeltaHilbert(columns: Int) {
  private val states = HilbertStates.getStateList(columns)

  /** @param bits the bits of each coordinate */
  def index(point: Array[Int], bits: Int): Long = states.translateNPointToDKey(point, bits)
}
