// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.apache.spark.sql.types.DataType

import io.sparkzorder.ordering.ColumnRanks

/**
 * Builds the grid of one folder: the cuts first, then the bounds that they need.
 *
 * @param files wanted
 * @param firstFile number of the folder's first file
 * @param goal the queries for which the cuts should be good
 * @param kept for each ordering column the files of the folder that stay as they are; empty if the
 *   sample is one of the whole folder
 */
private[sparkzorder] final class FolderGridBuilder(
    types: Seq[DataType],
    sample: FolderSample,
    rows: Long,
    files: Int,
    firstFile: Int,
    goal: CutGoal = CutGoal.even,
    kept: IndexedSeq[KeptColumn] = IndexedSeq.empty) {

  private lazy val measured: IndexedSeq[RankedColumn] =
    if (kept.isEmpty) sample.ranked
    else sample.ranked.zip(kept).map { case (column, files) => column.among(rows, files) }

  def build(): FolderGrid = if (sample.rows == 0) oneFile else byCuts

  private def oneFile: FolderGrid = {
    val columns = types.map { t =>
      GridColumn(ColumnRanks.fromSample(t, Array(), null, 0, 1).bounds, Array(0, 0))
    }
    val whole = Cell(rows.toDouble, firstFile, 1, Box.empty(types.length))
    FolderGrid(
      columns.toIndexedSeq,
      CutTree.onlyCell,
      IndexedSeq(whole),
      IndexedSeq(types.map(_ => Side(0, RankScale.Max)).toIndexedSeq))
  }

  private def byCuts: FolderGrid = {
    val cuts = new KdCuts(measured, sample.sizes.of(measured), files, goal).build()
    val columns = types.indices.map { c =>
      new BoundedColumn(sample.ranked(c), cuts.nodes.filter(_.column == c).map(_.rank), files)
    }
    FolderGrid(
      columns.map(_.column),
      new CutTree(
        cuts.nodes.map(_.column).toArray,
        cuts.nodes.map(n => columns(n.column).slotOf(n.rank)).toArray,
        cuts.nodes.flatMap(n => Seq(n.left, n.right)).toArray),
      CellFiles.number(cuts.leaves, rows, files, firstFile),
      cuts.leaves.map(leaf => types.indices.map(side(_, leaf))),
      if (kept.isEmpty) None else Some(cuts.leaves.map(leaf => types.indices.map(width(_, leaf)))))
  }

  /** The side of a cell in one column: that of its sample, plus one row's share at either end. */
  private def side(c: Int, leaf: KdCuts.Leaf): Side = {
    val below = sample.ranked(c).below
    val from = below(leaf.box.lowest(c)).toDouble / sample.rows
    val until = below(leaf.box.highest(c) + 1).toDouble / sample.rows
    val more = if (leaf.box.lowest(c) == leaf.box.highest(c)) 0.0 else (until - from) / leaf.rows
    Side(RankScale(math.max(0.0, from - more)), RankScale(math.min(1.0, until + more)))
  }

  /** The width of the same side among all rows of the folder. */
  private def width(c: Int, leaf: KdCuts.Leaf): Double =
    measured(c).share(leaf.box.lowest(c), leaf.box.highest(c))
}

/** Shares of a folder's rows, scaled to integers from 0 to `Max`. */
private[sparkzorder] object RankScale {
  val Max: Int = 1 << 30

  def apply(share: Double): Int = (share * Max).toInt
}

/**
 * The bounds of one column.
 *
 * @param cuts ranks at which the column is cut
 */
private final class BoundedColumn(
    ranked: RankedColumn,
    cuts: Seq[Int],
    files: Int) {
  import BoundedColumn._

  private val kept: Array[Int] = {
    val enough =
      ColumnRanks.thin(ranked.sorted.weights, ranked.nulls.toDouble, boundsFor(files))
    // the bound of a cut at rank r is value number r - 1; a cut at rank 1, above NULL, needs none
    (enough ++ cuts.filter(_ > 1).map(_ - 1)).distinct.sorted
  }

  val column: GridColumn = {
    val ranks = ColumnRanks.of(ranked.dataType, ranked.sorted, ranked.nulls.toDouble, kept)
    val ofNull = ranked.nulls / 2.0 / ranked.rows
    GridColumn(ranks.bounds, (ofNull +: ranks.midRanks).map(RankScale(_)))
  }

  /** The least slot of the values of a rank above 0. */
  def slotOf(rank: Int): Int =
    if (rank == 1) 0 else 2 * java.util.Arrays.binarySearch(kept, rank - 1) + 1
}

private object BoundedColumn {
  private val MinBounds = 4096
  private val MaxBounds = 1 << 16
  private val BoundsPerFile = 8

  /** A number of bounds that gives each cell several, even where columns are correlated. */
  def boundsFor(files: Int): Int = math.max(MinBounds, math.min(MaxBounds, BoundsPerFile * files))
}
