// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered.grid

import io.sparkzorder.cluster.{FolderGrid, GridColumn}

/**
 * A grid with fewer bounds: every cut stays, and of the other bounds some at even steps. Rows fall
 * into the same cells; inside of a cell their places are less fine.
 */
private[sparkzorder] object ThinGrid {

  /** @param bounds of a column, besides its cuts */
  def of(grid: FolderGrid, bounds: Int): FolderGrid = {
    val kept = grid.columns.indices.map { c =>
      // an odd slot is that of a bound; slot 0 is below all bounds
      val cuts = grid.tree.slotsOf(c).filter(_ % 2 == 1).map(_ >> 1)
      val length = grid.columns(c).bounds.length
      val step = math.max(1, (length + bounds - 1) / bounds)
      (cuts ++ (0 until length by step)).distinct.sorted.toArray
    }
    val columns = grid.columns.zip(kept).map { case (column, k) => thin(column, k) }
    val tree = grid.tree.withSlots { (c, slot) =>
      if (slot % 2 == 0) slot else 2 * java.util.Arrays.binarySearch(kept(c), slot >> 1) + 1
    }
    FolderGrid(columns, tree, grid.cells, grid.sides)
  }

  private def thin(column: GridColumn, kept: Array[Int]): GridColumn = {
    val old = column.midRanks
    // the ranks begin with that of NULL
    def rank(slot: Int): Int = old(slot + 1)
    val ranks = new Array[Int](2 * kept.length + 2)
    ranks(0) = old(0)
    var k = 0
    while (k <= kept.length) {
      val first = if (k == 0) 0 else 2 * kept(k - 1) + 2
      val last = if (k < kept.length) 2 * kept(k) else old.length - 2
      ranks(2 * k + 1) = (rank(first) + (rank(last) - rank(first)) / 2)
      if (k < kept.length) ranks(2 * k + 2) = rank(2 * kept(k) + 1)
      k += 1
    }
    GridColumn(column.bounds.take(kept), ranks)
  }
}
