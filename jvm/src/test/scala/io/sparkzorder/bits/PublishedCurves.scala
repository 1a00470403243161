// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.bits

/** Hilbert curves exactly as their papers define them, bit by bit and without any optimization. */
object PublishedCurves {

  /**
   * The point at a Hilbert index: A. R. Butz, "Alternative algorithm for Hilbert's space-filling
   * curve", IEEE Transactions on Computers C-20, 1971, table II. As in the paper, positions count
   * from 1.
   *
   * @param n the number of coordinates
   * @param m the number of bits of each coordinate
   */
  def butz(index: Long, n: Int, m: Int): Array[Int] = {
    type Bits = Vector[Int]
    def xor(a: Bits, b: Bits): Bits = a.zip(b).map { case (x, y) => x ^ y }
    def shiftRight(a: Bits, by: Int): Bits = a.takeRight(by % n) ++ a.dropRight(by % n)
    def flip(a: Bits, position: Int): Bits = a.updated(position - 1, 1 - a(position - 1))

    val point = new Array[Int](n)
    var omega: Bits = Vector.fill(n)(0)
    var shift = 0
    for (i <- 1 to m) {
      val rho: Bits = Vector.tabulate(n)(j => ((index >>> (n * (m - i) + n - 1 - j)) & 1).toInt)
      // the principal position of the paper: the last position whose bit differs from the last bit
      val principal = rho.lastIndexWhere(_ != rho.last) match {
        case -1 => n
        case j => j + 1
      }
      val sigma = xor(rho, 0 +: rho.init)
      val flipped = flip(sigma, n)
      val tau = if (flipped.sum % 2 == 1) flip(flipped, principal) else flipped
      val alpha = xor(omega, shiftRight(sigma, shift))
      for (j <- 0 until n) point(j) = (point(j) << 1) | alpha(j)
      omega = xor(omega, shiftRight(tau, shift))
      shift += principal - 1
    }
    point
  }

  /**
   * The Hilbert index of a point: J. Skilling, "Programming the Hilbert curve", AIP Conference
   * Proceedings 707, 2004, `AxestoTranspose`.
   *
   * @param m the number of bits of each coordinate
   */
  def skilling(point: Array[Int], m: Int): Long = {
    val x = point.clone()
    var q = 1 << (m - 1)
    while (q > 1) {
      val p = q - 1
      for (i <- x.indices) {
        if ((x(i) & q) != 0) x(0) ^= p
        else {
          val t = (x(0) ^ x(i)) & p
          x(0) ^= t
          x(i) ^= t
        }
      }
      q >>= 1
    }
    for (i <- 1 until x.length) x(i) ^= x(i - 1)
    var t = 0
    q = 1 << (m - 1)
    while (q > 1) {
      if ((x.last & q) != 0) t ^= q - 1
      q >>= 1
    }
    interleave(x.map(_ ^ t), m)
  }

  /** The Z-value of a point, bit by bit. */
  def interleave(point: Array[Int], m: Int): Long =
    (for (k <- m - 1 to 0 by -1; x <- point) yield (x >>> k) & 1L).foldLeft(0L)(_ << 1 | _)
}
