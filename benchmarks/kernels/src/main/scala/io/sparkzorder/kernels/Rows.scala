// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.kernels

import java.util.SplittableRandom

/** Random rows, made before the clock starts; every run has the same. */
object Rows {

  /** Rows a call of a benchmark: enough to hide their order from the branch predictor. */
  final val Count = 4096

  def random(): SplittableRandom = new SplittableRandom(20261121L)

  /** One array a row. */
  def ints(columns: Int, bits: Int): Array[Array[Int]] = {
    val r = random()
    Array.fill(Count, columns)(r.nextInt() >>> (32 - bits))
  }

  /** One array a row. */
  def longs(columns: Int): Array[Array[Long]] = {
    val r = random()
    Array.fill(Count, columns)(r.nextLong())
  }
}
