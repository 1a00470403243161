package io.sparkzorder.report

import io.sparkzorder.cluster.{FolderGrid, RankedColumn}
import io.sparkzorder.table.stats.FileRange

/**
 * How many files a point query reads, judged by min/max alone: the mean over the values of sampled
 * rows, so that a frequent value counts as often as it occurs.
 */
object PointQueries {

  /**
   * @param ranges one a file; None for a file that every query must read
   * @param values how often each value is asked for; None when there is no value
   * @return mean number of files; 0 when there is no value
   */
  def meanFiles(
      ranges: Seq[Option[FileRange]],
      values: Option[ValueDistribution]): Double =
    values.fold(0.0) { v =>
      ranges.map(_.fold(1.0)(v.rowsIn(_) / v.total)).sum
    }

  /**
   * The mean that the files of folders will have, as far as their samples show.
   *
   * @param folders grids with the sample of the column in each
   */
  def predicted(
      folders: Seq[(FolderGrid, RankedColumn)],
      column: Int,
      values: Option[ValueDistribution]): Double =
    values.fold(0.0) { v =>
      val rows = for {
        (grid, sample) <- folders
        cell <- grid.cells
        // rank 0 is NULL, and rank r is value r - 1
        least = cell.box.leastValue(column)
        if least > 0
      } yield cell.files * v.rowsBetween(
        sample.distinct.key(least - 1),
        sample.distinct.key(cell.box.highest(column) - 1))
      rows.sum / v.total
    }

  /**
   * The bound for equal files: a folder of N files and d columns gives N^(1 - 1/d) files for a point
   * query on one column.
   *
   * @param filesOfFolders number of files of each folder
   */
  def ideal(filesOfFolders: Seq[Int], columns: Int): Double =
    filesOfFolders.filter(_ > 0).map(n => math.pow(n.toDouble, 1.0 - 1.0 / columns)).sum
}
