// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

/**
 * Chooses among the sides of a cell that are about equally wide.
 *
 * The choice hardly changes what point queries read over all columns, but it decides on which column they
 * read more. If a cell has six files and two equal sides, one side is cut into halves and the other into
 * thirds, so the cells are half as wide again on one column as on the other. It is not enough to take the
 * columns in turn: where a value has many rows, a column often cannot be cut at its turn, and chance would
 * decide. So this class adds up, for each column, what queries read too much in the leaves so far. It
 * follows each choice down to the leaves, and takes the choice that makes the sums most even.
 *
 * @param columns the sample
 */
private[cluster] final class ColumnBalance(columns: IndexedSeq[RankedColumn], goal: CutGoal) {

  // what point queries on each column read in the leaves so far, minus what they would read if the leaves
  // were cubes of the same volume
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
   * Adds the sides of the leaves of some cells, if `column` is cut first and then the widest side.
   *
   * @param files of each cell
   * @param cells number of cells, all with these sides
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
