// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import scala.annotation.tailrec

/**
 * The part of a recorded scan that the model of a layout needs.
 *
 * @param weight the bytes of the scans that this query stands for
 * @param sides for each column that the scan restricts, by the column's number: the widths of the intervals
 *   that match, as shares of the column's rows. The width of a single value is 0
 */
private[sparkzorder] final case class ModelQuery(weight: Double, sides: Map[Int, Seq[Double]])

/**
 * Predicts how much recorded scans read of a layout that cuts each column `c` into `2^b(c)` parts. The
 * model assumes that columns are independent, and that an interval lies anywhere in its column with equal
 * probability. The model finds a few sets of columns, and a sample then decides among them.
 *
 * @param mostBits the greatest number of bits of each column: a column cannot be cut into more parts than
 *   it has values
 */
private[sparkzorder] final class LayoutModel(queries: Seq[ModelQuery], mostBits: IndexedSeq[Int]) {
  import LayoutModel._

  private val limit = if (mostBits.isEmpty) 0 else mostBits.max
  private val weights = queries.map(_.weight).toArray
  private val columnsOf = queries.map(_.sides.keys.toArray).toArray
  // for each query, each of its columns, and each number of bits: the share of the column's parts that the query
  // meets
  private val shares: Array[Array[Array[Double]]] = queries.zip(columnsOf).map {
    case (q, columns) =>
      columns.map(c => Array.tabulate(limit + 1)(b => share(math.pow(2, b), q.sides(c))))
  }.toArray

  /** The bytes that the scans read: the sum of their weights, each times the share of the table that is read. */
  def cost(bits: IndexedSeq[Int]): Double = {
    val of = bits.toArray
    var sum = 0.0
    var q = 0
    while (q < weights.length) {
      var product = weights(q)
      var i = 0
      while (i < columnsOf(q).length) {
        product *= shares(q)(i)(of(columnsOf(q)(i)))
        i += 1
      }
      sum += product
      q += 1
    }
    sum
  }

  /**
   * The bits of the columns, `total` together, or fewer if the columns have too few values. Each next bit goes to the
   * column by which the cost falls most. Then bits move from one column to another as long as the cost falls.
   * Without these moves, a column with wide intervals may get no bit, because its first bit gains little although the
   * next bits gain more.
   *
   * @param columns the columns that may get bits
   */
  def greedy(total: Int, columns: Seq[Int]): IndexedSeq[Int] = {
    var bits: IndexedSeq[Int] = mostBits.map(_ => 0)
    def open = columns.filter(c => bits(c) < mostBits(c))
    while (bits.sum < total && open.nonEmpty) {
      bits = open.map(c => bits.updated(c, bits(c) + 1)).minBy(b => (cost(b), b.mkString(",")))
    }
    improved(bits, columns)
  }

  @tailrec
  private def improved(bits: IndexedSeq[Int], columns: Seq[Int]): IndexedSeq[Int] = {
    val moved = for {
      from <- columns
      to <- columns if to != from
      n <- 1 to math.min(bits(from), mostBits(to) - bits(to))
    } yield bits.updated(from, bits(from) - n).updated(to, bits(to) + n)
    if (moved.isEmpty) bits
    else {
      val best = moved.minBy(cost)
      if (cost(best) < cost(bits) * (1 - 1e-9)) improved(best, columns) else bits
    }
  }
}

private[sparkzorder] object LayoutModel {

  /**
   * The share of the parts that a scan meets, if a column is cut into `parts` equal parts. An interval
   * of width w meets w + (1 - w) / parts of them on average.
   */
  def share(parts: Double, widths: Seq[Double]): Double =
    1 - widths.map { w => 1 - math.min(1.0, w + (1 - w) / parts) }.product

  /** The least number of bits that tell this many values apart. */
  def bitsOf(values: Int): Int =
    if (values <= 1) 0 else 32 - Integer.numberOfLeadingZeros(values - 1)
}
