// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import scala.collection.mutable

/**
 * How often and how much the scans of one template read.
 *
 * @param weight the bytes of their columns that these scans would have read without any skipping
 * @param count the number of scans
 * @param unused the number of predicates of these scans that AUTO cannot use ([[ScanUse.unused]])
 * @param boxes a sample of the boxes of these scans, each with its weight
 */
private[sparkzorder] final case class TemplateUse(
    weight: Double,
    count: Long,
    unused: Long,
    boxes: Map[RankBox, Double]) {

  def scaled(factor: Double): TemplateUse =
    copy(weight = weight * factor, boxes = boxes.map { case (b, w) => b -> w * factor })
}

private[sparkzorder] object TemplateUse {
  val Unused: TemplateUse = TemplateUse(0.0, 0L, 0L, Map.empty)

  /** All these scans together. */
  def sum(uses: Seq[TemplateUse]): TemplateUse = {
    val boxes = mutable.HashMap.empty[RankBox, Double]
    for { u <- uses; (b, w) <- u.boxes } boxes(b) = boxes.getOrElse(b, 0.0) + w
    TemplateUse(
      uses.map(_.weight).sum,
      uses.map(_.count).sum,
      uses.map(_.unused).sum,
      boxes.toMap)
  }
}

/**
 * The scans of one table that one driver has run on one day. A sketch holds no value, no text of a query and no
 * user. It keeps a limited number of templates, and a random sample of the boxes of each template.
 *
 * Thread-safe.
 */
private[workload] final class Sketch(seed: Long) {
  import Sketch._

  private val random = new java.util.Random(seed)
  private val templates = mutable.HashMap.empty[Template, TemplateUse]
  private val seen = mutable.HashMap.empty[Template, Long]

  def add(use: ScanUse, weight: Double): Unit = synchronized {
    val before = templates.getOrElse(use.template, TemplateUse.Unused)
    val boxes =
      if (use.template.uses.isEmpty) before.boxes
      else sampled(use.template, before.boxes, use.box, weight)
    templates(use.template) = before.copy(
      weight = before.weight + weight,
      count = before.count + 1,
      unused = before.unused + use.unused,
      boxes = boxes)
    if (templates.size > MaxTemplates) {
      // the newest template stays, because it would never become heavier than others if it were always dropped
      val others = templates.keys.filter(t => t != Unskippable && t != use.template)
      forget(others.minBy(templates(_).weight))
    }
  }

  /** Removes the templates with columns that must not be noted. */
  def leaveOut(excluded: String => Boolean): Unit =
    synchronized(templates.keys.filter(_.columns.exists(excluded)).toSeq.foreach(forget))

  /** Removes a template. Its scans still count, as scans that skip no file, because they have read bytes. */
  private def forget(template: Template): Unit =
    templates.remove(template).foreach { dropped =>
      seen -= template
      val rest = templates.getOrElse(Unskippable, TemplateUse.Unused)
      templates(Unskippable) = TemplateUse.sum(Seq(rest, dropped.copy(boxes = Map.empty)))
    }

  /**
   * Adds a box to the sample. If the sample has the box, the box gets more weight. If the sample is full, a new box
   * may take the place of a random box.
   */
  private def sampled(
      template: Template,
      boxes: Map[RankBox, Double],
      box: RankBox,
      weight: Double): Map[RankBox, Double] =
    if (boxes.contains(box) || boxes.size < MaxBoxes) {
      boxes.updated(box, boxes.getOrElse(box, 0.0) + weight)
    } else {
      val n = math.max(MaxBoxes, seen.getOrElse(template, 0L)) + 1
      seen(template) = n
      if ((random.nextDouble() * n).toLong >= MaxBoxes) boxes
      else {
        val out = boxes.keys.toSeq(random.nextInt(boxes.size))
        (boxes - out).updated(box, weight)
      }
    }

  def content: Map[Template, TemplateUse] = synchronized(templates.toMap)
}

private[sparkzorder] object Sketch {
  val MaxTemplates = 256
  val MaxBoxes = 64

  /** The template of scans that skip no file. */
  val Unskippable: Template = Template(Nil)
}

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
      val step = math.max(0, math.min(Steps - 1, ((from + until) / 2 * Steps).toInt))
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
