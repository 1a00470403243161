// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

/**
 * The places at which one side of a cell can be cut.
 *
 * @param columns the sample
 * @param sizes sizes of the sampled rows
 * @param target the total size of sampled rows that each file should get
 */
private[cluster] final class SideSplits(
    columns: IndexedSeq[RankedColumn],
    sizes: Array[Int],
    target: Double) {
  import SideSplits._

  /**
   * The most balanced cut of a column, for the sampled rows in `from until until` of `rows`. It lies
   * between two values, near half of the wanted files.
   */
  def balanced(rows: Array[Int], column: Int, from: Int, until: Int, wanted: Int): Split = {
    val count = until - from
    val sorted = sortedBy(rows, column, from, until)
    var all = 0L
    sorted.foreach(row => all += sizeIn(row))
    val whole = all.toDouble
    val half = whole * (wanted / 2) / wanted
    var below = 0.0
    var at = 0
    while (at < count - 1 && below + sizeIn(sorted(at)) <= half) {
      below += sizeIn(sorted(at))
      at += 1
    }
    // Row `at` reaches the half. Equal values stay together: all rows with the value of this row go
    // to the left, or all go to the right.
    val value = rankIn(sorted(at))
    var first = at
    var belowFirst = below
    while (first > 0 && rankIn(sorted(first - 1)) == value) {
      first -= 1
      belowFirst -= sizeIn(sorted(first))
    }
    var next = at
    var belowNext = below
    while (next < count && rankIn(sorted(next)) == value) {
      belowNext += sizeIn(sorted(next))
      next += 1
    }
    val cuts = (if (first > 0) Seq((first, belowFirst)) else Nil) ++
      (if (next < count) Seq((next, belowNext)) else Nil)
    cuts.map { case (k, left) => cutAt(column, rankIn(sorted(k)), left, whole, wanted) }
      .minBy(_.imbalance)
  }

  /** @param left size of the rows to the left, of `whole` */
  def cutAt(column: Int, rank: Int, left: Double, whole: Double, wanted: Int): Split = {
    val filesLeft = math.max(1, math.min(wanted - 1, math.round(left / whole * wanted).toInt))
    val filled =
      Seq(left / filesLeft, (whole - left) / (wanted - filesLeft)).map(_ / target)
    Split(column, rank, filesLeft, filled.min, filled.max, left / whole)
  }

  /**
   * Ranks and sizes of some rows, by rank. Each long holds the rank in its upper half and the size
   * in its lower half. So the sort needs no objects.
   */
  def sortedBy(rows: Array[Int], column: Int, from: Int, until: Int): Array[Long] = {
    val ranks = columns(column).ranks
    val sorted = new Array[Long](until - from)
    var i = 0
    while (i < sorted.length) {
      val row = rows(from + i)
      sorted(i) = (ranks(row).toLong << 32) | sizes(row)
      i += 1
    }
    java.util.Arrays.sort(sorted)
    sorted
  }
}

private[cluster] object SideSplits {

  /**
   * @param least size of a file of the emptier side, divided by the target
   * @param most size of a file of the fuller side, divided by the target
   * @param share of the cell that lies to the left
   */
  final case class Split(
      column: Int,
      rank: Int,
      filesLeft: Int,
      least: Double,
      most: Double,
      share: Double) {

    /** Factor between the target and the file size of the worse side; 1 is the best. */
    def imbalance: Double = math.max(most, 1 / least)
  }

  def rankIn(sorted: Long): Int = (sorted >>> 32).toInt
  def sizeIn(sorted: Long): Int = sorted.toInt

  /** Position of the first row whose rank is at least `rank`. */
  def firstOf(sorted: Array[Long], rank: Int): Int = {
    val at = java.util.Arrays.binarySearch(sorted, (rank.toLong << 32) - 1)
    if (at >= 0) at + 1 else -at - 1
  }
}
