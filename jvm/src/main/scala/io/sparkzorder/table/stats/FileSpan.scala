// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.stats

import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types.DataType

/**
 * The least and the greatest value of one column in every file of a folder, as ranks among all
 * these values. Overlaps can be counted with ranks alone, whatever the column's type. The units can
 * also be row groups or pages instead of files.
 *
 * @param low rank of each file's least value; -1 for a file of only NULLs, which holds no value
 * @param high rank of each file's greatest value; -1 for a file of only NULLs
 * @param values the values that have ranks, ascending
 */
private[sparkzorder] final class FileSpan private (
    val low: Array[Int],
    val high: Array[Int],
    val values: IndexedSeq[Any]) {

  /** Number of ranks, at least one. */
  val ranks: Int = math.max(1, values.length)

  /**
   * For each rank, the number of chosen files whose range includes the rank.
   *
   * @param chosen tells whether the file at a position is chosen
   */
  def filesAt(chosen: Int => Boolean): Array[Int] = {
    val changes = new Array[Int](ranks + 1)
    low.indices.foreach { f =>
      if (low(f) >= 0 && chosen(f)) {
        changes(low(f)) += 1
        changes(high(f) + 1) -= 1
      }
    }
    changes.scanLeft(0)(_ + _).slice(1, ranks + 1)
  }

  /** Least and greatest rank of the chosen files together, if any of them has values. */
  def spanOf(chosen: Int => Boolean): Option[(Int, Int)] = {
    val own = low.indices.filter(f => low(f) >= 0 && chosen(f))
    if (own.isEmpty) None else Some((own.map(low(_)).min, own.map(high(_)).max))
  }
}

private[sparkzorder] object FileSpan {

  /**
   * @param ranges of the files; a file of which nothing is known counts as holding every value
   */
  def ofRanges(dataType: DataType, ranges: IndexedSeq[ColumnRange]): FileSpan = {
    val ordering: Ordering[Any] = TypeUtils.getInterpretedOrdering(dataType)
    val ends = ranges.flatMap(_.bounds).flatMap(r => Seq(r.min, r.max)).sorted(ordering)
    val distinct = ends.headOption.toVector ++
      ends.zip(ends.drop(1)).collect { case (a, b) if ordering.compare(a, b) != 0 => b }
    val ranks = math.max(1, distinct.length)
    val sorted = java.util.Arrays.asList(distinct: _*)
    def rank(value: Any): Int =
      java.util.Collections.binarySearch[Any](sorted, value, ordering)
    val spans = ranges.map {
      case ColumnRange.Empty => (-1, -1)
      case ColumnRange.Unknown => (0, ranks - 1)
      case FileRange(min, max) => (rank(min), rank(max))
    }
    new FileSpan(spans.map(_._1).toArray, spans.map(_._2).toArray, distinct)
  }
}
