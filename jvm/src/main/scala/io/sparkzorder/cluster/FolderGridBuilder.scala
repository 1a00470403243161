// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.apache.spark.sql.types.DataType

import io.sparkzorder.ordering.{BoundsIndex, ColumnRanks}

/**
 * Builds the grid of one folder: the cuts first, then the bounds that they need.
 *
 * @param rows the number of rows of the folder
 * @param files the wanted number of files
 * @param firstFile the number of the first file of the folder
 * @param kept for each ordering column, the files of the folder that stay as they are; empty if `sample` is
 *   a sample of the whole folder
 * @param stop see [[KdCuts]]
 * @param regions the grid whose cells are cut further; no file has rows of two of these cells
 */
private[sparkzorder] final class FolderGridBuilder(
    types: Seq[DataType],
    sample: FolderSample,
    rows: Long,
    files: Int,
    firstFile: Int,
    goal: CutGoal = CutGoal.even,
    kept: IndexedSeq[KeptColumn] = IndexedSeq.empty,
    stop: Int = 1,
    regions: Option[FolderGrid] = None) {

  // the columns of the sample. The values at which the regions were cut are added, so that these cuts have ranks
  private lazy val ranked: IndexedSeq[RankedColumn] = regions match {
    case None => sample.ranked
    case Some(grid) =>
      sample.ranked.zipWithIndex.map { case (r, c) => r.withValues(TopCuts.keysOf(grid, c)) }
  }

  // the same columns; their shares are of all rows of the folder, and not only of the rows that the grid places
  private lazy val measured: IndexedSeq[RankedColumn] =
    if (kept.isEmpty) ranked
    else ranked.zip(kept).map { case (column, files) => column.among(rows, files) }

  def build(): FolderGrid = if (sample.rows == 0) oneFile else byCuts

  private def oneFile: FolderGrid = {
    val columns = types.map { t =>
      GridColumn(BoundsIndex.ofSorted(t, Array()), Array(0, 0))
    }
    val whole = Cell(rows.toDouble, firstFile, 1, Box.empty(types.length))
    FolderGrid(
      columns.toIndexedSeq,
      CutTree.onlyCell,
      IndexedSeq(whole),
      IndexedSeq(types.map(_ => Side(0, RankScale.Max)).toIndexedSeq))
  }

  private def byCuts: FolderGrid = {
    val top = regions.map(TopCuts.of(_, measured))
    val cuts =
      new KdCuts(measured, sample.sizes.of(measured), files, goal, stop, top).build()
    val columns = types.indices.map { c =>
      new BoundedColumn(ranked(c), cuts.nodes.filter(_.column == c), files)
    }
    FolderGrid(
      columns.map(_.column),
      new CutTree(
        cuts.nodes.map(_.column).toArray,
        cuts.nodes.map(n => columns(n.column).slotOf(n)).toArray,
        cuts.nodes.flatMap(n => Seq(n.left, n.right)).toArray),
      CellFiles.number(cuts.leaves, rows, files, firstFile),
      cuts.leaves.map(leaf => types.indices.map(side(_, leaf))),
      if (kept.isEmpty) None else Some(cuts.leaves.map(leaf => types.indices.map(width(_, leaf)))))
  }

  /**
   * The side of a cell in one column: the interval of its sampled rows, longer at both ends by the mean distance
   * between two sampled rows, because other rows may lie beyond the sampled ones. A side of one value stays as it
   * is.
   */
  private def side(c: Int, leaf: KdCuts.Leaf): Side = {
    val below = ranked(c).below
    val from = below(leaf.box.lowest(c)).toDouble / sample.rows
    val until = below(leaf.box.highest(c) + 1).toDouble / sample.rows
    val more = if (leaf.box.lowest(c) == leaf.box.highest(c)) 0.0 else (until - from) / leaf.rows
    if (leaf.rows == 0) Side(0, RankScale.Max)
    else Side(RankScale(math.max(0.0, from - more)), RankScale(math.min(1.0, until + more)))
  }

  /** The width of the same side among all rows of the folder. */
  private def width(c: Int, leaf: KdCuts.Leaf): Double =
    measured(c).share(leaf.box.lowest(c), leaf.box.highest(c))
}

/** Shares of the rows of a folder, scaled to integers from 0 to `Max`. */
private[sparkzorder] object RankScale {
  val Max: Int = 1 << 30

  def apply(share: Double): Int = (share * Max).toInt
}

/**
 * The bounds of one column.
 *
 * @param cuts the cuts of this column
 */
private final class BoundedColumn(
    ranked: RankedColumn,
    cuts: Seq[KdCuts.Node],
    files: Int) {
  import BoundedColumn._

  private val kept: Array[Int] = {
    val enough =
      ColumnRanks.thin(ranked.sorted.weights, ranked.nulls.toDouble, boundsFor(files))
    // the bound of a cut at rank r is value number r - 1
    (enough ++ cuts.filterNot(isAboveNull).map(_.rank - 1)).distinct.sorted
  }

  val column: GridColumn = {
    val ranks = ColumnRanks.of(ranked.dataType, ranked.sorted, ranked.nulls.toDouble, kept)
    val ofNull = ranked.nulls / 2.0 / ranked.rows
    GridColumn(ranks.bounds, (ofNull +: ranks.midRanks).map(RankScale(_)))
  }

  /** The least slot on the right of a cut. */
  def slotOf(cut: KdCuts.Node): Int =
    if (isAboveNull(cut)) 0 else 2 * java.util.Arrays.binarySearch(kept, cut.rank - 1) + 1

  /** A cut between NULL and all values needs no bound, because the slot of NULL is -1 with any bounds. */
  private def isAboveNull(cut: KdCuts.Node): Boolean = cut.rank == 1 && !cut.isAtValue
}

private object BoundedColumn {
  private val MinBounds = 4096
  private val MaxBounds = 1 << 16
  private val BoundsPerFile = 8

  /** A number of bounds that gives each cell several, even where columns are correlated. */
  def boundsFor(files: Int): Int = math.max(MinBounds, math.min(MaxBounds, BoundsPerFile * files))
}
