// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.kernels

/**
 * The peer: J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707, 2004, as
 * published, with the bits of the transposed index gathered at the end.
 *
 * @param columns the number of coordinates
 * @param bits the bits of each
 */
final class Skilling(columns: Int, bits: Int) {
  private val x = new Array[Int](columns)

  def index(point: Array[Int]): Long = {
    System.arraycopy(point, 0, x, 0, columns)
    undoExcessWork()
    grayEncode()
    gather()
  }

  private def undoExcessWork(): Unit = {
    var q = 1 << (bits - 1)
    while (q > 1) {
      val p = q - 1
      var i = 0
      while (i < columns) {
        if ((x(i) & q) != 0) x(0) ^= p
        else {
          val t = (x(0) ^ x(i)) & p
          x(0) ^= t
          x(i) ^= t
        }
        i += 1
      }
      q >>= 1
    }
  }

  private def grayEncode(): Unit = {
    var i = 1
    while (i < columns) {
      x(i) ^= x(i - 1)
      i += 1
    }
    var t = 0
    var q = 1 << (bits - 1)
    while (q > 1) {
      if ((x(columns - 1) & q) != 0) t ^= q - 1
      q >>= 1
    }
    i = 0
    while (i < columns) {
      x(i) ^= t
      i += 1
    }
  }

  private def gather(): Long = {
    var h = 0L
    var k = bits - 1
    while (k >= 0) {
      var i = 0
      while (i < columns) {
        h = (h << 1) | ((x(i) >>> k) & 1)
        i += 1
      }
      k -= 1
    }
    h
  }
}
