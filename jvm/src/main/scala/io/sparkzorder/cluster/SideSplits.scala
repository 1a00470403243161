// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

/**
 * Finds cuts of a cell: values of one column at which the cell can be divided.
 *
 * @param columns the ordering columns of the sampled rows
 * @param sizes sizes of the sampled rows
 * @param target the total size of sampled rows that each file should get
 */
private[cluster] final class SideSplits(
    columns: IndexedSeq[RankedColumn],
    sizes: Array[Int],
    target: Double) {
  import SideSplits._

  /**
   * The most balanced cut of a column, for the sampled rows at the positions from `from` to `until - 1` of
   * `rows`. The cut lies between two values, and each side gets about half of the wanted files.
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
   * Ranks and sizes of some rows, sorted by rank. Each long holds the rank in its upper half and the size in
   * its lower half, so the sort needs no objects.
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
   * @param share the share of the cell that lies to the left
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

/**
 * Chooses among the sides of a cell that are about equally wide.
 *
 * The choice hardly changes what point queries read over all columns, but it decides on which column they
 * read more. If a cell has six files and two equal sides, one side is cut into halves and the other into
 * thirds, so the leaves are 1.5 times as wide on one column as on the other. It is not enough to take the
 * columns in turn: where a value has many rows, a column often cannot be cut at its turn, and chance would
 * decide. So this class adds up, for each column, how much more than the ideal queries read in the leaves so
 * far. The class follows each choice down to the leaves, and takes the choice that makes the sums most even.
 *
 * @param columns the ordering columns of the sampled rows
 */
private[cluster] final class ColumnBalance(columns: IndexedSeq[RankedColumn], goal: CutGoal) {

  // for each column, what point queries on it read in the leaves so far, minus what they would read if each leaf
  // were a cube of the same volume
  private val excess = new Array[Double](columns.length)

  /** Notes a leaf. Sides of a single value are left out: they cannot be cut. */
  def note(box: Box, files: Int): Unit = {
    val open = openOf(box)
    val cube = mean(open.map(width(box, _)), 1)
    open.foreach(c => excess(c) += files * (width(box, c) - cube))
  }

  /**
   * The columns in the order in which they should be tried.
   *
   * @param equal columns whose sides are about equally wide
   * @param wanted files of the cell
   */
  def order(equal: IndexedSeq[Int], box: Box, wanted: Int): IndexedSeq[Int] = {
    val open = openOf(box)
    if (equal.length == 1 || open.isEmpty) equal
    else {
      val widths = columns.indices.map(width(box, _)).toArray
      val cube = wanted * mean(open.map(widths(_)), wanted)
      equal.sortBy { c =>
        val sums = new Array[Double](columns.length)
        cut(c, widths, open, wanted, 1, sums)
        open.map { o =>
          val off = excess(o) + sums(o) - cube
          off * off
        }.sum
      }
    }
  }

  /**
   * Divides equal cells into leaves of one file each, and adds the widths of all leaves to `sums`. Each cell
   * is cut at `column` first, and then always at its widest side.
   *
   * @param widths the widths of each cell
   * @param files the number of files of each cell
   * @param cells the number of cells
   */
  private def cut(
      column: Int,
      widths: Array[Double],
      open: IndexedSeq[Int],
      files: Int,
      cells: Int,
      sums: Array[Double]): Unit = {
    val whole = widths(column)
    def side(part: Int, sides: Int): Unit = {
      widths(column) = whole * part / files
      if (part == 1) open.foreach(o => sums(o) += sides * widths(o))
      else cut(open.maxBy(widths(_)), widths, open, part, sides, sums)
    }
    val left = files / 2
    if (files == 2 * left) side(left, 2 * cells)
    else {
      side(left, cells)
      side(files - left, cells)
    }
    widths(column) = whole
  }

  /**
   * The weighted width of a side, in shares of the values. NULLs are left out: no point query asks for
   * them.
   */
  private def width(box: Box, c: Int): Double = {
    val column = columns(c)
    val highest = box.highest(c)
    if (highest == 0) 0.0
    else goal.weight(c) * column.shareOfValues(math.max(1, box.leastValue(c)), highest)
  }

  private def openOf(box: Box): IndexedSeq[Int] =
    columns.indices.filter(c => box.lowest(c) < box.highest(c) && width(box, c) > 0)

  /** The side of a cube whose volume is a `parts`-th of the product of some sides. */
  private def mean(sides: Seq[Double], parts: Int): Double =
    if (sides.isEmpty) 0.0
    else math.exp((sides.map(math.log).sum - math.log(parts.toDouble)) / sides.size)
}
