// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.nio.ByteBuffer
import java.util.Arrays

import io.sparkzorder.index.{ByteStats, ByteValues, FileTable, LongStats}
import io.sparkzorder.skipping.predicate.ColumnDomains
import io.sparkzorder.skipping.values.{ByteEnd, ByteIntervals, Intervals, LongIntervals}

/**
 * The share of a column's values that lie below a value, estimated from the index: the rows of each
 * file are taken to be spread evenly between the file's min and max.
 *
 * @param at places on a line, ascending
 * @param below the share of the rows below each place, ascending
 * @param placeOf the place of a byte string on the line
 */
private[workload] final class RankCurve private (
    at: Array[Double],
    below: Array[Double],
    placeOf: Array[Byte] => Double) {

  /**
   * Calls `take` with each interval of some values as shares from 0 to 1, ascending. A join may bring
   * thousands of values, so nothing is made for a value.
   */
  def foreachShare(values: Intervals)(take: (Double, Double) => Unit): Unit = {
    val shares = new AscendingShares
    values match {
      case longs: LongIntervals =>
        val (lows, highs) = (longs.lows, longs.highs)
        var i = 0
        while (i < lows.length) {
          // the value v stands for the places from v - 0.5 to v + 0.5
          val low = if (lows(i) == Long.MinValue) 0.0 else shares.of(lows(i) - 0.5)
          take(low, if (highs(i) == Long.MaxValue) 1.0 else shares.of(highs(i) + 0.5))
          i += 1
        }
      case bytes: ByteIntervals =>
        def of(e: ByteEnd, endless: Double) =
          if (e.isEndless) endless else shares.of(placeOf(e.value))
        bytes.lows.indices.foreach(i => take(of(bytes.lows(i), 0.0), of(bytes.highs(i), 1.0)))
    }
  }

  /** Looks up places that ascend: each search begins where the last one ended. */
  private final class AscendingShares {
    private var from = 0

    def of(place: Double): Double = {
      // a place that descends, by the rounding of a long to a double
      if (from > 0 && at(from - 1) > place) from = 0
      var step = 1
      while (from + step < at.length && at(from + step) < place) step *= 2
      val i = Arrays.binarySearch(at, from, math.min(at.length, from + step + 1), place)
      if (i >= 0) {
        from = i
        below(i)
      } else {
        val next = -i - 1
        from = math.max(0, next - 1)
        if (next == 0) 0.0
        else if (next == at.length) 1.0
        else {
          val width = at(next) - at(next - 1)
          below(next - 1) + (below(next) - below(next - 1)) * (place - at(next - 1)) / width
        }
      }
    }
  }
}

private[workload] object RankCurve {
  // so many files tell the distribution well enough
  private val MaxFiles = 2048
  // a byte string's place has so few digits that 0.5 can be added to it
  private val PrefixUnit = math.pow(2, 24)

  /**
   * @param table the files of the index
   * @return None if no file has bounds
   */
  def of(column: ColumnDomains, table: FileTable): Option[RankCurve] = {
    val files = table.sample(MaxFiles).filter(i =>
      (column.info(i) & (ColumnDomains.Bounded | ColumnDomains.NoValues)) == ColumnDomains.Bounded)
    val ends: Option[(Int => Double, Int => Double, Array[Byte] => Double)] =
      (column.min, column.max) match {
        case (LongStats(min), LongStats(max)) =>
          Some((i => min(i).toDouble, i => max(i).toDouble, _ => 0.0))
        case (ByteStats(min), ByteStats(max)) =>
          val shared = sharedPrefix(files.flatMap(i => Seq(min(i), max(i))))
          def place(bytes: ByteValues)(i: Int) = afterPrefix(bytes(i), shared)
          Some((place(min) _, place(max) _, afterPrefix(_, shared)))
        case _ => None
      }
    ends.filter(_ => files.nonEmpty).map { case (min, max, placeOf) =>
      val (at, below) =
        curve(files.map(i => (min(i) - 0.5, max(i) + 0.5, math.max(1L, table.rows(i)).toDouble)))
      new RankCurve(at, below, placeOf)
    }
  }

  /** @param spread places between which the rows of each file are spread, and their number */
  private def curve(spread: Seq[(Double, Double, Double)]): (Array[Double], Array[Double]) = {
    val changes = spread.flatMap { case (from, until, n) =>
      val slope = n / math.max(Double.MinPositiveValue, until - from)
      Seq((from, slope), (until, -slope))
    }.sortBy(_._1)
    val total = spread.map(_._3).sum
    val (at, below) = (Array.newBuilder[Double], Array.newBuilder[Double])
    var (last, slope, sum) = (changes.head._1, 0.0, 0.0)
    at += last
    below += 0.0
    changes.foreach { case (place, change) =>
      if (place > last) {
        sum += slope * (place - last)
        at += place
        below += math.min(1.0, sum / total)
        last = place
      }
      slope += change
    }
    (at.result(), below.result())
  }

  private def sharedPrefix(all: Seq[Array[Byte]]): Int =
    all.drop(1).foldLeft(all.headOption.fold(0)(_.length)) { (n, b) =>
      (0 until n).find(i => i >= b.length || b(i) != all.head(i)).getOrElse(n)
    }

  private def afterPrefix(value: Array[Byte], prefix: Int): Double = {
    val from = math.min(prefix, value.length)
    val eight = Arrays.copyOf(Arrays.copyOfRange(value, from, from + 8), 8)
    val signed = ByteBuffer.wrap(eight).getLong.toDouble
    (if (signed < 0) signed + math.pow(2, 64) else signed) / PrefixUnit
  }
}
