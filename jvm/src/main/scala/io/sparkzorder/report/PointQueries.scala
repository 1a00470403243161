// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.report

import io.sparkzorder.cluster.{FolderGrid, IdealSides, RankedColumn}
import io.sparkzorder.ordering.{BoundsIndex, ColumnRanks, SortedSample}
import io.sparkzorder.table.stats.FileRange

/**
 * The mean number of files that a point query reads if only min and max decide. The mean is over one
 * query for the value of each sampled row, so a frequent value counts as often as it occurs.
 */
private[sparkzorder] object PointQueries {

  /**
   * @param ranges one for each file; None for a file that every query must read
   * @param values the number of queries for each value; None when there is no value
   * @return mean number of files; 0 when there is no value
   */
  def meanFiles(
      ranges: Seq[Option[FileRange]],
      values: Option[ValueDistribution]): Double =
    values.fold(0.0) { v =>
      ranges.map(_.fold(1.0)(v.rowsIn(_) / v.total)).sum
    }

  /**
   * The mean number of files that a point query will read after the run, predicted from the
   * samples.
   *
   * @param folders the grid of each folder, and the folder's sample of the column
   * @param column the position of the column among the ordering columns
   */
  def predicted(
      folders: Seq[(FolderGrid, RankedColumn)],
      column: Int,
      values: Option[ValueDistribution]): Double =
    values.fold(0.0) { v =>
      val rows = for {
        (grid, sample) <- folders
        cell <- grid.cells
        // rank 0 stands for NULL, and rank r for the value at index r - 1
        least = cell.box.leastValue(column)
        if least > 0
      } yield cell.files * v.rowsBetween(
        sample.distinct.key(least - 1),
        sample.distinct.key(cell.box.highest(column) - 1))
      rows.sum / v.total
    }

  /**
   * The ideal number of files, summed over the folders. In a folder of N equal files with d ordering columns of
   * equal weight, a point query on one of these columns reads N^(1 - 1/d) files. See [[IdealSides]] for other weights.
   *
   * @param filesOfFolders number of files of each folder
   * @param weights the weights of all ordering columns
   * @param column the position of the column
   */
  def ideal(filesOfFolders: Seq[Int], weights: IndexedSeq[Double], column: Int): Double =
    filesOfFolders.filter(_ > 0).map(n => n * IdealSides.of(n.toDouble, weights)(column)).sum
}

/**
 * The distribution of a table's rows over the values of one column, estimated from a sample. Rows
 * with NULL are left out.
 *
 * @param values the distinct values
 * @param below for each value, the number of rows below it; the last element is the number of all
 *   rows
 */
private[sparkzorder] final class ValueDistribution private (
    values: BoundsIndex,
    below: Array[Double]) {

  def total: Double = below.last

  /** The estimated number of rows whose value lies in the range, both ends included. */
  def rowsIn(range: FileRange): Double =
    // a sampled value has an odd slot, and a gap between two sampled values has an even slot
    between(values.slotOf(range.min), values.slotOf(range.max))

  /** Like [[rowsIn]], for both ends given as keys ([[io.sparkzorder.ordering.BoundsIndex.key]]). */
  def rowsBetween(min: AnyRef, max: AnyRef): Double =
    between(values.slotOfKey(min), values.slotOfKey(max))

  private def between(min: Int, max: Int): Double = below((max + 1) >> 1) - below(min >> 1)
}

private[sparkzorder] object ValueDistribution {
  // the limit for all folders together; each sample is thinned to the folder's share of it
  private val MostValues = 400000

  /**
   * @param folders the sample of each folder, and the number of rows that one sampled row stands
   *   for
   */
  def of(folders: Seq[(RankedColumn, Double)]): Option[ValueDistribution] = {
    val known = folders.filter(_._1.sorted.weights.nonEmpty)
    known match {
      case Seq() => None
      case Seq((column, weight)) =>
        Some(new ValueDistribution(
          column.distinct,
          column.sorted.weights.scanLeft(0.0)((sum, w) => sum + w * weight)))
      case many =>
        val each = math.max(1, MostValues / many.length)
        val thinned = many.map { case (column, weight) => thin(column, weight, each) }
        val merged = SortedSample.ofKeys(
          many.head._1.dataType,
          thinned.flatMap(_._1).toArray,
          thinned.flatMap(_._2).toArray)
        Some(new ValueDistribution(merged.all, merged.weights.scanLeft(0.0)(_ + _)))
    }
  }

  /**
   * At most `most` values with their numbers of rows. The rows of a dropped value are added to the next kept
   * value.
   */
  private def thin(
      column: RankedColumn,
      weight: Double,
      most: Int): (Seq[AnyRef], Seq[Double]) = {
    val weights = column.sorted.weights
    val kept = ColumnRanks.thin(weights, 0, most)
    val ends = if (kept.isEmpty) Array(weights.length - 1) else kept.init :+ (weights.length - 1)
    val sums = ends.indices.map { i =>
      val from = if (i == 0) 0 else ends(i - 1) + 1
      (from to ends(i)).map(weights(_)).sum * weight
    }
    (ends.toSeq.map(column.distinct.key), sums)
  }
}
