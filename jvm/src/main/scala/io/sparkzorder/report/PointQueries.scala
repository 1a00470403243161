package io.sparkzorder.report

import io.sparkzorder.cluster.{FolderGrid, RankedColumn}
import io.sparkzorder.ordering.{BoundsIndex, ColumnRanks, SortedSample}
import io.sparkzorder.table.stats.FileRange

/**
 * How many files a point query reads, judged by min/max alone: the mean over the values of sampled
 * rows, so that a frequent value counts as often as it occurs.
 */
object PointQueries {

  /**
   * @param ranges one for each file; None for a file that every query must read
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

/**
 * How the rows of a table are spread over the values of a column, NULLs left out, as a sample shows
 * it.
 *
 * @param values distinct
 * @param below rows below each value, and the rows of all values as the last
 */
final class ValueDistribution private (values: BoundsIndex, below: Array[Double]) {

  def total: Double = below.last

  /** Rows whose value lies in the range, both ends included. */
  def rowsIn(range: FileRange): Double =
    // slots are odd on a value and even between two
    between(values.slotOf(range.min), values.slotOf(range.max))

  /** As [[rowsIn]], by the keys of both ends ([[io.sparkzorder.ordering.BoundsIndex.key]]). */
  def rowsBetween(min: AnyRef, max: AnyRef): Double =
    between(values.slotOfKey(min), values.slotOfKey(max))

  private def between(min: Int, max: Int): Double = below((max + 1) >> 1) - below(min >> 1)
}

object ValueDistribution {
  // of all folders together; a folder's sample is thinned above its share
  private val MostValues = 400000

  /** @param folders the sample of each folder and the rows that each of its rows stands for */
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

  /** At most about `most` values. The rows of a dropped value count for the next kept value. */
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
