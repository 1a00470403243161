// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered.grid

import io.sparkzorder.cluster.{FolderGrid, FolderGridBuilder, FolderSample, KeyColumn}
import io.sparkzorder.table.OrderingColumn

/**
 * What a run of OPTIMIZE knows of one folder.
 *
 * @param path below the table
 * @param rows that the run rewrote
 * @param all rows of the folder
 * @param files that the run wrote
 */
private[sparkzorder] final case class SampledFolder(
    path: String,
    sample: FolderSample,
    rows: Long,
    all: Long,
    files: Int)

/** Makes the grid that a run of OPTIMIZE leaves, from the sample by which the run cut its files. */
private[sparkzorder] object GridOfRun {
  // cells that a folder has at least: a write may bring more rows than there are now
  private val MinCells = 64
  private val AllMinCells = 4096
  // the sample of the pooled grid
  private val PooledRows = 20000
  private val PooledCells = 64
  // a run over fewer rows of a folder does not know the folder better than the run before
  private val EnoughRows = 0.5

  /**
   * @param before the grid that is stored now
   * @param rowsOfTable rows of all folders
   * @param shuffleRatio bytes of the shuffle for each byte in the files, if the run wrote enough to tell
   * @return None if the run has sampled nothing
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
