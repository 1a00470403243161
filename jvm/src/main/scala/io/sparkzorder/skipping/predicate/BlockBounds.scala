// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import io.sparkzorder.index.{ByteStats, ByteValues, LongStats}

/**
 * For each block of files, the range of the minima and the range of the maxima of its files. Files without
 * values or without bounds do not count. If a block has no other files, it has no bounds, and its files are
 * not tested by bounds.
 */
private[predicate] sealed trait BlockBounds

private[predicate] case object NoBlocks extends BlockBounds

/** The blocks of a column whose bounds are longs. */
private[predicate] final class LongBlocks(
    val leastMin: Array[Long],
    val greatestMin: Array[Long],
    val leastMax: Array[Long],
    val greatestMax: Array[Long])
    extends BlockBounds {

  /** The least min and the greatest max of all blocks. */
  def range: (Long, Long) = (
    leastMin.foldLeft(Long.MaxValue)(math.min),
    greatestMax.foldLeft(Long.MinValue)(math.max))
}

/**
 * The blocks of a column whose bounds are bytes. The arrays have the positions of the files with these
 * bounds.
 */
private[predicate] final class ByteBlocks(
    val leastMin: Array[Int],
    val greatestMin: Array[Int],
    val leastMax: Array[Int],
    val greatestMax: Array[Int])
    extends BlockBounds

private[predicate] object BlockBounds {

  def of(column: ColumnDomains): BlockBounds = (column.min, column.max) match {
    case (LongStats(min), LongStats(max)) => ofLongs(column, min, max)
    case (ByteStats(min), ByteStats(max)) => ofBytes(column, min, max)
    case _ => NoBlocks
  }

  private def ofLongs(column: ColumnDomains, min: Array[Long], max: Array[Long]): LongBlocks = {
    val n = blocksOf(column)
    val made = new LongBlocks(
      Array.fill(n)(Long.MaxValue),
      Array.fill(n)(Long.MinValue),
      Array.fill(n)(Long.MaxValue),
      Array.fill(n)(Long.MinValue))
    foreach(column) { (b, i) =>
      made.leastMin(b) = math.min(made.leastMin(b), min(i))
      made.greatestMin(b) = math.max(made.greatestMin(b), min(i))
      made.leastMax(b) = math.min(made.leastMax(b), max(i))
      made.greatestMax(b) = math.max(made.greatestMax(b), max(i))
    }
    made
  }

  private def ofBytes(column: ColumnDomains, min: ByteValues, max: ByteValues): ByteBlocks = {
    val n = blocksOf(column)
    val made = new ByteBlocks(
      Array.fill(n)(-1),
      Array.fill(n)(-1),
      Array.fill(n)(-1),
      Array.fill(n)(-1))
    def improve(best: Array[Int], b: Int, values: ByteValues, i: Int, sign: Int): Unit =
      if (best(b) < 0 || values.compare(i, values, best(b)) * sign < 0) best(b) = i
    foreach(column) { (b, i) =>
      improve(made.leastMin, b, min, i, 1)
      improve(made.greatestMin, b, min, i, -1)
      improve(made.leastMax, b, max, i, 1)
      improve(made.greatestMax, b, max, i, -1)
    }
    made
  }

  private def blocksOf(column: ColumnDomains): Int =
    (column.bounded.length + column.blockWords - 1) / column.blockWords

  /** Calls `body` with each block and each of its files that has values and bounds. */
  private def foreach(column: ColumnDomains)(body: (Int, Int) => Unit): Unit = {
    var w = 0
    while (w < column.bounded.length) {
      var left = column.bounded(w) & ~column.noValues(w)
      while (left != 0) {
        body(w / column.blockWords, (w << 6) + java.lang.Long.numberOfTrailingZeros(left))
        left &= left - 1
      }
      w += 1
    }
  }
}
