// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import io.sparkzorder.skipping.predicate.{
  AllOf,
  ColumnDomains,
  ConjunctUse,
  FileTest,
  IntervalTest,
  Never,
  NullTest
}
import io.sparkzorder.skipping.values.{Intervals, LongIntervals}

/**
 * Which share of the rows the filters of one scan select, without the values of the filters.
 *
 * @param unused number of predicates by which no file can be skipped
 */
private[workload] final case class ScanUse(template: Template, box: RankBox, unused: Int)

private[workload] object ScanUse {

  /** The greatest number of intervals that are kept for a column of one scan. */
  val MaxIntervals = 16
  // a template of more columns would match nearly no other scan
  private val MaxColumns = 8

  /**
   * @param tested the conjuncts of the scan's filters, as the index understands them
   * @param excluded columns that must not be noted
   * @param curves the distribution of a column
   */
  def of(
      tested: Seq[(ConjunctUse, FileTest)],
      excluded: String => Boolean,
      curves: (String, ColumnDomains) => Option[RankCurve]): ScanUse = {
    val (usable, rest) = tested.partition { case (use, test) =>
      // a field of a struct has ranks of its own, and `excluded` knows only names of whole columns
      use.columns.size == 1 && !use.ofParts && !excluded(use.columns.head) &&
      intervalsOf(test).isDefined
    }
    val unused = rest.count { case (use, test) => use.columns.nonEmpty && !isNullTest(test) }
    val sides = usable.groupBy(_._1.columns.head).toSeq.flatMap { case (column, tests) =>
      val found = tests.flatMap(t => intervalsOf(t._2))
      val values = found.map(_.intervals).reduce(_ intersect _)
      for (curve <- curves(column, found.head.column) if !values.isEmpty)
        yield (ColumnUse(column, kindOf(values)), intervals(curve, values))
    }.filter { case (_, i) => i != Seq(RankInterval(0, RankInterval.Steps)) }
      .sortBy(_._2.map(i => math.max(1, i.width)).sum).take(MaxColumns).sortBy(_._1.column)
    ScanUse(Template(sides.map(_._1)), RankBox(sides.map(_._2)), unused)
  }

  private def intervalsOf(test: FileTest): Option[IntervalTest] = test match {
    case i: IntervalTest => Some(i)
    // several tests of the same column: one of them is enough
    case AllOf(tests) => tests.collectFirst { case i: IntervalTest => i }
    case _ => None
  }

  private def isNullTest(test: FileTest): Boolean = test match {
    case _: NullTest | Never => true
    case _ => false
  }

  private def kindOf(values: Intervals): UseKind = values match {
    case longs: LongIntervals if longs.lows.sameElements(longs.highs) => single(longs.size)
    case bytes: io.sparkzorder.skipping.values.ByteIntervals
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
