// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

/**
 * An interval of ranks, in steps of 1/256 of the rows of a column. If both ends are equal, the interval is
 * narrower than a step and lies inside the step that begins there.
 */
private[sparkzorder] final case class RankInterval(from: Int, until: Int) {

  def width: Int = until - from

  /** Both ends as shares from 0 to 1. An interval narrower than a step becomes the middle of its step. */
  def shares: (Double, Double) =
    if (width == 0) ((from + 0.5) / RankInterval.Steps, (from + 0.5) / RankInterval.Steps)
    else (from.toDouble / RankInterval.Steps, until.toDouble / RankInterval.Steps)
}

private[sparkzorder] object RankInterval {
  val Steps = 256

  def isOne(i: RankInterval): Boolean =
    i.from >= 0 && i.from <= i.until && i.until <= Steps && i.from < Steps

  def of(from: Double, until: Double): RankInterval =
    if (until - from < 1.0 / Steps) {
      val step = step0((from + until) / 2)
      RankInterval(step, step)
    } else {
      val low = math.min(Steps - 1, math.round(from * Steps).toInt)
      RankInterval(low, math.max(low + 1, math.min(Steps, math.round(until * Steps).toInt)))
    }

  /**
   * At most `most` intervals that together contain all of `intervals`, in ascending order. If there are
   * more, those with the narrowest gaps between them are merged.
   */
  def some(intervals: Seq[RankInterval], most: Int): Seq[RankInterval] = {
    val sorted = intervals.distinct.sortBy(i => (i.from, i.until))
    val apart = sorted.drop(1).foldLeft(sorted.take(1).toVector) { (done, next) =>
      val last = done.last
      if (next.from < last.until) {
        done.init :+ RankInterval(last.from, math.max(last.until, end(next)))
      } else done :+ next
    }
    if (apart.size <= most) apart
    else {
      val gaps = (1 until apart.size).sortBy(i => (end(apart(i - 1)) - apart(i).from, i))
      val starts = (0 +: gaps.take(most - 1)).sorted
      starts.zip(starts.drop(1) :+ apart.size).map { case (a, b) =>
        if (b == a + 1) apart(a) else RankInterval(apart(a).from, end(apart(b - 1)))
      }
    }
  }

  private def end(i: RankInterval): Int = math.max(i.until, math.min(Steps, i.from + 1))
  private def step0(share: Double): Int =
    math.max(0, math.min(Steps - 1, (share * Steps).toInt))
}

/** How a filter restricts a column. */
private[sparkzorder] sealed abstract class UseKind(val name: String)

private[sparkzorder] object UseKind {

  /** One value. */
  case object Point extends UseKind("point")

  /** Several single values, such as those of IN or the keys of a join. */
  case object Values extends UseKind("values")

  /** An interval, or several. */
  case object Range extends UseKind("range")

  val all: Seq[UseKind] = Seq(Point, Values, Range)
}

/** @param column the name of the column in the spelling of the table */
private[sparkzorder] final case class ColumnUse(column: String, kind: UseKind)

/**
 * The common form of a group of scans: the columns by which they can skip files, and how they use each
 * column. A scan that cannot skip files has a template without columns.
 *
 * @param uses sorted by the name of the column
 */
private[sparkzorder] final case class Template(uses: Seq[ColumnUse]) {
  def columns: Seq[String] = uses.map(_.column)
}

/**
 * The ranks that the filter of a scan selects.
 *
 * @param sides for each column of the template, the intervals of ranks that match
 */
private[sparkzorder] final case class RankBox(sides: Seq[Seq[RankInterval]])
