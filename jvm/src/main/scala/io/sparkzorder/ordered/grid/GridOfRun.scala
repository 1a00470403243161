// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered.grid

import io.sparkzorder.cluster.{FolderGrid, FolderGridBuilder, FolderSample, KeyColumn}
import io.sparkzorder.table.OrderingColumn

/**
 * What a run of OPTIMIZE knows about one folder.
 *
 * @param path relative to the table
 * @param rows number of rows that the run rewrote in the folder
 * @param all number of all rows of the folder
 * @param files number of files that the run wrote in the folder
 */
private[sparkzorder] final case class SampledFolder(
    path: String,
    sample: FolderSample,
    rows: Long,
    all: Long,
    files: Int)

/**
 * Makes the grid that a run of OPTIMIZE stores for later writes, from the sample by which the run cut its
 * files.
 */
private[sparkzorder] object GridOfRun {
  // The least number of cells of a folder. The grid has more cells than files, because a later write may
  // have more rows than the folder has now.
  private val MinCells = 64
  private val AllMinCells = 4096
  // the pooled grid is for folders without a grid of their own, and is made from rows of all samples
  private val PooledRows = 20000
  private val PooledCells = 64
  // A run that rewrote a smaller share of a folder knows the folder no better than the run that made the
  // stored grid.
  private val EnoughRows = 0.5

  /**
   * @param before the grid that is stored now
   * @param rowsOfTable number of rows of all folders
   * @param shuffleRatio bytes in the shuffle for each byte in the files; None if the run wrote too little
   *   to measure this ratio
   * @return None if the run has sampled no row
   */
  def update(
      before: Option[StoredGrid],
      columns: Seq[OrderingColumn],
      folders: Seq[SampledFolder],
      rowsOfTable: Long,
      shuffleRatio: Option[Double]): Option[StoredGrid] = {
    val sampled = folders.filter(_.sample.rows > 0)
    if (sampled.isEmpty) None
    else {
      val names = columns.map(_.name)
      val types = columns.map(_.dataType.json)
      val old = before.filter(b => b.columns == names && b.types == types)
      val known = old.fold(Map.empty[String, FolderGrid])(_.folders)
      val fresh = sampled
        .filter(f => !known.contains(f.path) || f.rows >= EnoughRows * f.all)
        .sortBy(-_.all).take(StoredGrid.MaxFolders)
      val least = math.max(1, math.min(MinCells, AllMinCells / sampled.size))
      val bounds = StoredGrid.boundsFor(known.size + fresh.size, columns.size)
      def grid(sample: FolderSample, rows: Long, files: Int): FolderGrid = {
        val cells = math.min(StoredGrid.MaxCells, math.max(files, least))
        ThinGrid.of(
          new FolderGridBuilder(columns.map(_.dataType), sample, rows, cells, 0).build(),
          bounds)
      }
      val made = fresh.map(f => f.path -> grid(f.sample, f.all, f.files)).toMap
      val kept = (known -- made.keys).take(StoredGrid.MaxFolders - made.size)
      val pooled = old.map(_.pooled).filter(_ => sampled.map(_.rows).sum < EnoughRows * rowsOfTable)
        .getOrElse {
          if (sampled.size == 1 && made.nonEmpty) made.values.head
          else grid(pool(sampled.map(_.sample)), rowsOfTable, PooledCells)
        }
      val ratio =
        shuffleRatio.orElse(before.map(_.shuffleRatio)).getOrElse(StoredGrid.UnknownRatio)
      Some(StoredGrid(names, types, kept ++ made, pooled, ratio))
    }
  }

  /** Some rows of every sample, at even steps. */
  private def pool(samples: Seq[FolderSample]): FolderSample = {
    val step = math.max(1, samples.map(_.rows.toLong).sum / PooledRows).toInt
    FolderSample(samples.head.columns.indices.map { c =>
      KeyColumn.pooled(samples.map(s => s.ranked(c) -> (0 until s.rows by step)))
    })
  }
}
