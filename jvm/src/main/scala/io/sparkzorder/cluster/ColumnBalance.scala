// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

/**
 * Chooses among the sides of a cell that are about equally wide.
 *
 * The choice hardly changes what point queries on all columns read together, but it decides which
 * column pays. If a cell has six files and two equal sides, the side that is cut last is cut into
 * thirds, so the cells of one column become half as wide again as those of the other. Where values
 * have many rows, one column can often not be cut at its turn, and turns alone would leave the
 * difference to chance. So the balance remembers which columns have paid in the leaves so far, and
 * follows each choice down to its leaves.
 *
 * @param columns the sample
 */
private[cluster] final class ColumnBalance(columns: IndexedSeq[RankedColumn], goal: CutGoal) {

  // what point queries on each column read in the leaves so far, beyond cubes of the same volume
  private val paid = new Array[Double](columns.length)

  /** Notes a leaf. Sides of a single value are left out: they cannot be cut. */
  def note(box: Box, files: Int): Unit = {
    val open = openOf(box)
    val cube = mean(open.map(width(box, _)), 1)
    open.foreach(c => paid(c) += files * (width(box, c) - cube))
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
          val off = paid(o) + sums(o) - cube
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

  /** The width of a side as point queries see it: NULLs do not count, as no query asks for them. */
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
