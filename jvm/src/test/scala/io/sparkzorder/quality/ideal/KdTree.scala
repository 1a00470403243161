// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality.ideal

import scala.collection.mutable.ArrayBuffer

/**
 * A leaf of the kd-tree.
 *
 * @param rows the numbers of its rows
 * @param files the number of files that it represents: more than one for a very frequent key
 */
final case class KdLeaf(rows: Array[Int], files: Int)

/**
 * An independent reference for any data: a kd-tree over all rows (Friedman, Bentley and Finkel
 * 1977). A node is split by the column whose values in the node span the largest share of the
 * table's rows, at the boundary between two values that is nearest to the wanted number of rows.
 * Equal values are never separated, so a node with only one key is not split. NULL is the lowest
 * value.
 */
final class KdTree(columns: IndexedSeq[RankedColumn], files: Int) {
  private val rows: Array[Int] = columns.head.ranks.indices.toArray

  // the number of rows of the table up to a rank, including NULLs
  private val nulls: IndexedSeq[Long] = columns.map(c => c.ranks.length - c.rows)

  /** The leaves in ascending order. */
  val leaves: IndexedSeq[KdLeaf] = {
    val found = ArrayBuffer.empty[KdLeaf]
    grow(0, rows.length, files, found)
    found.toIndexedSeq
  }

  /** The range of a column in each file. */
  def ranges(column: Int): IndexedSeq[RankRange] = leaves.flatMap { leaf =>
    val ranks = columns(column).ranks
    var low = Int.MaxValue
    var high = -1
    leaf.rows.foreach { row =>
      if (ranks(row) != RankedColumn.Null) {
        low = math.min(low, ranks(row))
        high = math.max(high, ranks(row))
      }
    }
    Seq.fill(leaf.files)(if (high < 0) RankRange.Empty else RankRange(low, high))
  }

  private def grow(from: Int, to: Int, files: Int, found: ArrayBuffer[KdLeaf]): Unit = {
    val widest = if (files == 1) None else widestColumn(from, to)
    widest match {
      case None => found += KdLeaf(java.util.Arrays.copyOfRange(rows, from, to), files)
      case Some(c) =>
        sortBy(columns(c).ranks, from, to)
        val wanted = from + (to - from).toDouble * (files / 2) / files
        val middle = nearestBoundary(columns(c).ranks, from, to, wanted)
        val share = math.round(files.toDouble * (middle - from) / (to - from)).toInt
        val lower = math.max(1, math.min(files - 1, share))
        grow(from, middle, lower, found)
        grow(middle, to, files - lower, found)
    }
  }

  /** The column with the widest extent among those with at least two values in the node. */
  private def widestColumn(from: Int, to: Int): Option[Int] = {
    val extents = columns.indices.flatMap { c =>
      val ranks = columns(c).ranks
      var low = Int.MaxValue
      var high = Int.MinValue
      var i = from
      while (i < to) {
        low = math.min(low, ranks(rows(i)))
        high = math.max(high, ranks(rows(i)))
        i += 1
      }
      if (low == high) None else Some(c -> (tableRowsUpTo(c, high) - tableRowsUpTo(c, low - 1)))
    }
    // the first column wins a tie
    if (extents.isEmpty) None else Some(extents.maxBy { case (c, extent) => (extent, -c) }._1)
  }

  private def tableRowsUpTo(c: Int, rank: Int): Long =
    if (rank < RankedColumn.Null) 0L else nulls(c) + columns(c).rowsBelow(rank + 1)

  private def sortBy(ranks: Array[Int], from: Int, to: Int): Unit = {
    val keys = Array.tabulate(to - from) { i =>
      val row = rows(from + i)
      (ranks(row).toLong << 32) | row
    }
    java.util.Arrays.sort(keys)
    keys.indices.foreach(i => rows(from + i) = keys(i).toInt)
  }

  private def nearestBoundary(ranks: Array[Int], from: Int, to: Int, wanted: Double): Int = {
    def isBoundary(i: Int) = ranks(rows(i - 1)) != ranks(rows(i))
    var best = -1
    var i = from + 1
    while (i < to) {
      if (isBoundary(i) && (best < 0 || math.abs(i - wanted) < math.abs(best - wanted))) best = i
      i += 1
    }
    best
  }
}
