// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.apache.spark.sql.types.DataType

import io.sparkzorder.ordering.BoundsIndex

/**
 * One ordering column of a folder, with all that is needed to place rows by it.
 *
 * @param bounds the values that divide the column into slots ([[CutTree]] explains a slot): every cut of the
 *   column, and enough other values to tell the rows of a cell apart
 * @param midRanks the mid-rank of NULL, then of every slot, in units of 2^-30. The mid-rank is the share of the
 *   rows below a slot, plus half of the share of the rows in the slot
 */
private[sparkzorder] final case class GridColumn(bounds: BoundsIndex, midRanks: Array[Int])

/** The extent of a cell in one column: an interval of ranks in units of 2^-30 ([[RankScale]]). */
private[sparkzorder] final case class Side(from: Int, until: Int)

/**
 * All that is needed to place any row of one folder.
 *
 * @param tree leads from a row's slots to its cell
 * @param cells the cells in the order of their numbers
 * @param sides for each cell and column, where the cell begins and ends among the rows that the grid places
 * @param widths for each cell and column, the width of the side as a share of all rows of the folder,
 *   including the rows of files that stay as they are; None if the grid places all rows
 */
private[sparkzorder] final case class FolderGrid(
    columns: IndexedSeq[GridColumn],
    tree: CutTree,
    cells: IndexedSeq[Cell],
    sides: IndexedSeq[IndexedSeq[Side]],
    widths: Option[IndexedSeq[IndexedSeq[Double]]] = None) {

  /** Number of the folder's files; small cells share a file with a neighbour. */
  def files: Int = if (cells.isEmpty) 0 else cells.last.file + cells.last.files - cells.head.file

  /** Estimated mean number of rows of a file. */
  def rowsOfFile: Double = cells.map(_.rows).sum / math.max(1, files)
}

/**
 * All data that is needed to place any row of a table.
 *
 * @param columns names of the ordering columns
 * @param folders one per folder, None for a folder without rows
 */
private[sparkzorder] final case class Grid(
    columns: Seq[String],
    folders: IndexedSeq[Option[FolderGrid]]) {

  /** Number of files of all folders. */
  val files: Int = folders.flatten.map(_.files).sum

  /** The region that each file lies in, see [[Cell]]. */
  def regionOfFile: IndexedSeq[Int] = {
    val regions = new Array[Int](files)
    for (folder <- folders.flatten; c <- folder.cells; i <- 0 until c.files) {
      regions(c.file + i) = c.region
    }
    regions.toIndexedSeq
  }

  /** The folder that each file belongs to. */
  val folderOfFile: IndexedSeq[Int] =
    folders.zipWithIndex.flatMap { case (f, i) => Seq.fill(f.map(_.files).getOrElse(0))(i) }

  /** Estimated rows of each file. */
  def rowsOfFiles: IndexedSeq[Double] = {
    val rows = new Array[Double](files)
    for (folder <- folders.flatten; c <- folder.cells; i <- 0 until c.files) {
      rows(c.file + i) += c.rows / c.files
    }
    rows.toIndexedSeq
  }
}

private[sparkzorder] object Grid {

  /** The number of files that a folder should have, at least 1. */
  def filesFor(rows: Long, targetRows: Double): Int =
    math.max(1L, math.round(rows / targetRows)).toInt

  /**
   * Builds the grid of a table: the cuts and bounds of every folder, from the sample of the folder.
   * [[FolderGridBuilder]] explains the parameters that are not listed here.
   *
   * @param columns names and types of the ordering columns
   * @param rows the number of rows of each folder
   * @param targetRows the wanted number of rows of a file in each folder
   * @param samples the sample of each folder; a folder with an empty sample becomes one file
   */
  def build(
      columns: Seq[(String, DataType)],
      rows: IndexedSeq[Long],
      targetRows: IndexedSeq[Double],
      samples: IndexedSeq[FolderSample],
      goal: CutGoal = CutGoal.even,
      kept: Int => IndexedSeq[KeptColumn] = _ => IndexedSeq.empty,
      regions: Int => Option[FolderGrid] = _ => None): Grid = {
    var next = 0
    val folders = rows.indices.map { f =>
      if (rows(f) == 0) None
      else {
        val grid = new FolderGridBuilder(
          columns.map(_._2),
          samples(f),
          rows(f),
          filesFor(rows(f), targetRows(f)),
          next,
          goal,
          kept(f),
          regions = regions(f)).build()
        next += grid.files
        Some(grid)
      }
    }
    Grid(columns.map(_._1), folders)
  }
}

/**
 * The cuts of a folder as a binary tree. An inner node compares the slot of a row in one column with a cut.
 * Rows at or above the cut are on the right.
 *
 * A slot is a value's place among the bounds of its column ([[io.sparkzorder.ordering.BoundsIndex]]),
 * and -1 for NULL.
 *
 * @param column the column that each inner node compares; the root is node 0
 * @param slot for each inner node, the least slot on its right
 * @param children the left and the right child of each inner node: an inner node, or the complement `~cell`
 *   of a cell's number
 */
private[sparkzorder] final class CutTree(
    val column: Array[Int],
    val slot: Array[Int],
    val children: Array[Int])
    extends Serializable {

  /** The slots at which a column is cut. */
  def slotsOf(c: Int): Seq[Int] = column.indices.filter(column(_) == c).map(slot(_))

  /**
   * The same cuts, with the slots numbered anew.
   *
   * @param slotOf the new number of a slot, from a column and the old number
   */
  def withSlots(slotOf: (Int, Int) => Int): CutTree =
    new CutTree(column, column.indices.map(i => slotOf(column(i), slot(i))).toArray, children)

  /** The number of the cell of a row, by its slots. */
  def cellOf(slots: Array[Int]): Int =
    if (column.length == 0) 0
    else {
      var node = 0
      while (node >= 0) {
        // 1 at or above the cut; computed without a branch, which would be mispredicted half of the time
        val right = (slot(node) - slots(column(node)) - 1) >>> 31
        node = children(2 * node + right)
      }
      ~node
    }
}

private[sparkzorder] object CutTree {

  /** The tree of a folder without cuts. */
  val onlyCell: CutTree =
    new CutTree(Array.emptyIntArray, Array.emptyIntArray, Array.emptyIntArray)
}

/**
 * The rows of a folder that no cut separates: a box of the ordering columns. Cells are numbered in the order
 * in which a depth-first walk of the cuts meets them.
 *
 * @param rows estimated number of rows
 * @param file the number of its first file
 * @param files the number of its files: 1, or more if one combination of values has more rows than a file. A
 *   hash then spreads the rows over the files
 * @param box the box of its sampled rows
 * @param region the number of the region of which the cell is a part. The plan of two passes divides a folder into
 *   regions. 0 for any other folder
 */
private[sparkzorder] final case class Cell(
    rows: Double,
    file: Int,
    files: Int,
    box: Box,
    region: Int = 0)

/**
 * The bounding box of some sampled rows, in ranks ([[RankedColumn]]). Each array has one rank per column.
 *
 * @param lowest the least rank; 0, the rank of NULL, if some row is NULL
 * @param leastValue the least rank of a row that is not NULL; 0 if all rows are NULL
 * @param highest the greatest rank
 */
private[sparkzorder] final case class Box(
    lowest: Array[Int],
    leastValue: Array[Int],
    highest: Array[Int])

private[sparkzorder] object Box {

  /** The box of no rows. */
  def empty(columns: Int): Box =
    Box(new Array[Int](columns), new Array[Int](columns), new Array[Int](columns))
}

/** Numbers the files of the cells of a folder. */
private[sparkzorder] object CellFiles {
  // as shares of the wanted file size
  private val MinFileFill = 0.5
  private val MaxFileFill = 1.5

  /**
   * A cell of less than half a file shares the file of a neighbour if both together have at most one and a half
   * times the wanted size. A small cell is left over where a value with many rows lies beside few other rows: rows of
   * one value are not divided by a cut.
   *
   * @param leaves the cells in the order of the cuts
   * @param rows the number of rows of the folder
   * @param files the wanted number of files
   * @param firstFile the number that the first file gets
   */
  def number(
      leaves: IndexedSeq[KdCuts.Leaf],
      rows: Long,
      files: Int,
      firstFile: Int): IndexedSeq[Cell] = {
    val sampled = leaves.map(_.rows.toLong).sum
    val target = leaves.map(_.size).sum / files
    // joined(i): leaf i shares the last file of the leaf before it
    val joined = new Array[Boolean](leaves.length)
    // size of the file that is open at the end of each leaf
    val open = leaves.map(l => l.size / l.files).toArray
    leaves.indices.drop(1).foreach { i =>
      val own = leaves(i).size / leaves(i).files
      val together = open(i - 1) + own
      val smaller = math.min(open(i - 1), own)
      val isOneRegion = leaves(i).region == leaves(i - 1).region
      if (isOneRegion && smaller < MinFileFill * target && together <= MaxFileFill * target) {
        joined(i) = true
        if (leaves(i).files == 1) open(i) = together
      }
    }
    var next = firstFile
    leaves.indices.map { i =>
      val leaf = leaves(i)
      val first = if (joined(i)) next - 1 else next
      next = first + leaf.files
      Cell(
        leaf.rows.toDouble / sampled * rows,
        first,
        leaf.files,
        leaf.box,
        leaf.region)
    }
  }
}
