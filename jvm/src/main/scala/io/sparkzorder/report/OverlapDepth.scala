package io.sparkzorder.report

import scala.collection.immutable.TreeMap

import io.sparkzorder.table.stats.FileSpan

/**
 * How many files of a table overlap in one column. For the depth of a file, choose a value in its
 * range and count the files of its folder whose ranges hold this value, the file itself included.
 * The depth is the greatest such count.
 *
 * @param mean over the files that hold values; 0 when there are none
 * @param max of all files
 * @param histogram number of files by depth: bucket 4 has depths 3 and 4, bucket 8 those from 5 to 8,
 *   and so on; bucket 0 files of only NULLs. Empty buckets are left out
 */
final case class OverlapDepth(mean: Double, max: Long, histogram: Map[Long, Long])

private[sparkzorder] object OverlapDepth {

  /** @param folders the files of each folder */
  def of(folders: Seq[FileSpan]): OverlapDepth = {
    val depths = folders.flatMap(depthsOf)
    val held = depths.filter(_ > 0)
    OverlapDepth(
      if (held.isEmpty) 0.0 else held.map(_.toDouble).sum / held.size,
      if (held.isEmpty) 0L else held.max.toLong,
      TreeMap(depths.groupBy(bucket).map { case (b, own) => b -> own.size.toLong }.toSeq: _*))
  }

  private def bucket(depth: Int): Long =
    if (depth <= 1) depth.toLong else java.lang.Long.highestOneBit(2L * depth - 1)

  private def depthsOf(span: FileSpan): Seq[Int] = {
    val greatest = new RangeMaximum(span.filesAt(_ => true))
    span.low.indices.map { f =>
      if (span.low(f) < 0) 0 else greatest.of(span.low(f), span.high(f))
    }
  }
}

/** Finds the greatest number between two positions of an array, in constant time. */
private[sparkzorder] final class RangeMaximum(numbers: Array[Int]) {

  // levels(k)(i) is the greatest of the 2^k numbers from i on
  private val levels: Array[Array[Int]] = Iterator
    .iterate((numbers, 1)) { case (level, width) =>
      val next = Array.tabulate(level.length - width)(i => math.max(level(i), level(i + width)))
      (next, 2 * width)
    }
    .takeWhile { case (_, width) => width <= math.max(1, numbers.length) }
    .map(_._1)
    .toArray

  /** The greatest number at the positions `from` to `to`, both included. */
  def of(from: Int, to: Int): Int = {
    val k = 31 - Integer.numberOfLeadingZeros(to - from + 1)
    math.max(levels(k)(from), levels(k)(to - (1 << k) + 1))
  }
}
