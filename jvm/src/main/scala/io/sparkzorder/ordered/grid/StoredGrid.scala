// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered.grid

import io.sparkzorder.cluster.FolderGrid

/**
 * The grid that OPTIMIZE leaves for the writes that follow.
 *
 * @param columns names of the ordering columns
 * @param types of the ordering columns, as JSON
 * @param folders grid of each folder, by its path below the table
 * @param pooled the grid of a folder that is not among `folders`, from all rows together
 * @param shuffleRatio bytes of a row in the shuffle for each byte in the data files
 */
private[sparkzorder] final case class StoredGrid(
    columns: Seq[String],
    types: Seq[String],
    folders: Map[String, FolderGrid],
    pooled: FolderGrid,
    shuffleRatio: Double) {

  /** True if the other grid places rows by the same columns. */
  def hasColumnsOf(other: StoredGrid): Boolean = columns == other.columns && types == other.types
}

private[sparkzorder] object StoredGrid {

  /**
   * Bytes of the shuffle for each byte in the files, while no OPTIMIZE has measured it: a shuffle
   * compresses rows, and Parquet and ORC compress columns.
   */
  val UnknownRatio = 2.0

  /** Folders above this number have the pooled grid. With two columns 10,000 folders take 13 MB. */
  val MaxFolders = 10000

  /** Bounds of one column of one folder, besides its cuts. */
  val MaxBounds = 256

  /** Bounds of all folders and columns together, besides the cuts. */
  private val AllBounds = 1 << 20
  private val MinBounds = 16

  /** Cells of one folder; a finer grid is not stored. */
  val MaxCells = 1 << 16

  /** Bounds of one column of one folder where there are this many folders. */
  def boundsFor(folders: Int, columns: Int): Int =
    math.max(MinBounds, math.min(MaxBounds, AllBounds / math.max(1, folders * columns)))
}
