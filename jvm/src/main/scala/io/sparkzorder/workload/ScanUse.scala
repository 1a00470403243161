// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.nio.ByteBuffer
import java.util.Arrays

import io.sparkzorder.index.{ByteStats, ByteValues, FileTable, LongStats}
import io.sparkzorder.skipping.predicate.{
  AllOf,
  ColumnDomains,
  ConjunctUse,
  FileTest,
  FilterOnFiles,
  IntervalTest,
  Never,
  NullTest
}
import io.sparkzorder.skipping.values.{ByteEnd, ByteIntervals, Intervals, LongIntervals}

/**
 * The filters of a scan, each with its test on the files of a skipping index.
 *
 * @param identity identifies the loaded index; the distribution of a column is computed once for each
 *   identity
 * @param files the file entries of the index
 * @param tested the conjuncts of the filters and their tests
 */
private[sparkzorder] final case class NotedFilters(
    identity: AnyRef,
    files: FileTable,
    tested: Seq[(ConjunctUse, FileTest)])

private[sparkzorder] object NotedFilters {

  /** @param answers the results of one index for groups of filters; at least one group */
  def of(answers: Seq[FilterOnFiles]): NotedFilters =
    NotedFilters(
      answers.head.indexIdentity,
      answers.head.indexedFiles,
      answers.flatMap(_.tested))
}

/**
 * The shares of the rows that the filters of one scan select, without the values of the filters.
 *
 * @param unused the number of predicates that AUTO cannot use. AUTO uses a predicate that restricts one whole column to
 *   intervals, if the column may be noted. Most of the other predicates skip no file. Predicates on several columns,
 *   on a field of a struct and on an excluded column also count, although the index may skip files by them. Tests of
 *   NULL do not count
 */
private[workload] final case class ScanUse(template: Template, box: RankBox, unused: Int)

private[workload] object ScanUse {

  /** The greatest number of intervals that are kept for a column of one scan. */
  val MaxIntervals = 16
  // a template of more columns would match nearly no other scan
  private val MaxColumns = 8

  /**
   * @param tested the conjuncts of the scan's filters, each with its test on the files of the index
   * @param excluded columns that must not be noted
   * @param distributions the distribution of a column
   */
  def of(
      tested: Seq[(ConjunctUse, FileTest)],
      excluded: String => Boolean,
      distributions: (String, ColumnDomains) => Option[RankCurve]): ScanUse = {
    val (usable, rest) = tested.partition { case (use, test) =>
      // a field of a struct has ranks of its own, and `excluded` knows only names of whole columns
      use.columns.size == 1 && !use.ofParts && !excluded(use.columns.head) &&
      intervalsOf(test).isDefined
    }
    val unused = rest.count { case (use, test) => use.columns.nonEmpty && !isNullTest(test) }
    val sides = usable.groupBy(_._1.columns.head).toSeq.flatMap { case (column, tests) =>
      val found = tests.flatMap(t => intervalsOf(t._2))
      val values = found.map(_.intervals).reduce(_ intersect _)
      for (curve <- distributions(column, found.head.column) if !values.isEmpty)
        yield (ColumnUse(column, kindOf(values)), intervals(curve, values))
    }.filter { case (_, i) => i != Seq(RankInterval(0, RankInterval.Steps)) }
      .sortBy(_._2.map(i => math.max(1, i.width)).sum).take(MaxColumns).sortBy(_._1.column)
    ScanUse(Template(sides.map(_._1)), RankBox(sides.map(_._2)), unused)
  }

  private def intervalsOf(test: FileTest): Option[IntervalTest] = test match {
    case i: IntervalTest => Some(i)
    // all these tests are on the same column, so one of them is enough
    case AllOf(tests) => tests.collectFirst { case i: IntervalTest => i }
    case _ => None
  }

  private def isNullTest(test: FileTest): Boolean = test match {
    case _: NullTest | Never => true
    case _ => false
  }

  private def kindOf(values: Intervals): UseKind = values match {
    case longs: LongIntervals if longs.lows.sameElements(longs.highs) => single(longs.size)
    case bytes: ByteIntervals
        if bytes.lows.zip(bytes.highs).forall { case (a, b) =>
          !a.isEndless && !b.isEndless && a.value.sameElements(b.value)
        } => single(bytes.size)
    case _ => UseKind.Range
  }

  private def single(values: Int): UseKind = if (values == 1) UseKind.Point else UseKind.Values

  private def intervals(curve: RankCurve, values: Intervals): Seq[RankInterval] = {
    val found = Vector.newBuilder[RankInterval]
    var last: RankInterval = null
    curve.foreachShare(values) { (a, b) =>
      val interval = RankInterval.of(a, math.max(a, b))
      if (interval != last) found += interval
      last = interval
    }
    RankInterval.some(found.result(), MaxIntervals)
  }
}

/**
 * The share of the rows whose value in a column lies below a given value. The share is estimated from the index:
 * the rows of each file are taken to be spread evenly between the file's min and max.
 *
 * @param at numbers that stand for values, ascending; called places here
 * @param below the share of the rows below each place, ascending
 * @param placeOf the place of a byte string; the place of a long is the long itself
 */
private[workload] final class RankCurve private (
    at: Array[Double],
    below: Array[Double],
    placeOf: Array[Byte] => Double) {

  /**
   * Calls `take` with each interval of `values` as shares from 0 to 1, ascending. A join may bring thousands of
   * values, so no object is made for a value.
   */
  def foreachShare(values: Intervals)(take: (Double, Double) => Unit): Unit = {
    values match {
      case longs: LongIntervals =>
        val (lows, highs) = (longs.lows, longs.highs)
        var i = 0
        while (i < lows.length) {
          // the value v stands for the places from v - 0.5 to v + 0.5
          val low = if (lows(i) == Long.MinValue) 0.0 else share(lows(i) - 0.5)
          take(low, if (highs(i) == Long.MaxValue) 1.0 else share(highs(i) + 0.5))
          i += 1
        }
      case bytes: ByteIntervals =>
        def of(e: ByteEnd, endless: Double) =
          if (e.isEndless) endless else share(placeOf(e.value))
        bytes.lows.indices.foreach(i => take(of(bytes.lows(i), 0.0), of(bytes.highs(i), 1.0)))
    }
  }

  private def share(place: Double): Double = {
    val i = Arrays.binarySearch(at, place)
    val next = -i - 1
    if (i >= 0) below(i)
    else if (next == 0) 0.0
    else if (next == at.length) 1.0
    else {
      val width = at(next) - at(next - 1)
      below(next - 1) + (below(next) - below(next - 1)) * (place - at(next - 1)) / width
    }
  }
}

private[workload] object RankCurve {
  // this many files show the distribution well enough
  private val MaxFiles = 2048
  // The place of a byte string is a number of 8 bytes, divided by this unit. The quotient is below 2^40, so a
  // double can hold the place plus 0.5.
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
          val bounds = files.flatMap(i => Seq(min(i), max(i)))
          val shared =
            bounds.headOption.fold(Array.emptyByteArray)(_.take(ByteValues.shared(bounds)))
          def place(bytes: ByteValues)(i: Int) = afterPrefix(bytes(i), shared.length)
          Some((place(min) _, place(max) _, placeOf(_, shared)))
        case _ => None
      }
    ends.filter(_ => files.nonEmpty).map { case (min, max, placeOf) =>
      val (at, below) =
        curve(files.map { i =>
          val (from, until) = (min(i) - 0.5, max(i) + 0.5)
          val rows = math.max(1L, table.rows(i)).toDouble
          // half a unit is lost in a value of 2^53 or more, and the two places must differ
          if (from < until) (from, until, rows)
          else (Math.nextDown(from), Math.nextUp(until), rows)
        })
      new RankCurve(at, below, placeOf)
    }
  }

  /** @param spread for each file, the two places between which its rows are spread, and the number of rows */
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

  /**
   * The place of a value of a filter, which need not have the prefix that all bounds share. The value
   * `2023-12-31` is below all files whose bounds begin with `2024-0`, although `2-31` is not below all of `1-31`
   * to `9-30`.
   */
  private def placeOf(value: Array[Byte], prefix: Array[Byte]): Double = {
    val order = ByteValues.compare(value, 0, math.min(value.length, prefix.length), prefix)
    if (order < 0) Double.NegativeInfinity
    else if (order > 0) Double.PositiveInfinity
    else afterPrefix(value, prefix.length)
  }

  private def afterPrefix(value: Array[Byte], prefix: Int): Double = {
    val from = math.min(prefix, value.length)
    val eight = Arrays.copyOfRange(value, from, from + 8)
    val signed = ByteBuffer.wrap(eight).getLong.toDouble
    (if (signed < 0) signed + math.pow(2, 64) else signed) / PrefixUnit
  }
}
