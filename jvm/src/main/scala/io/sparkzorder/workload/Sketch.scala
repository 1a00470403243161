// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import scala.collection.mutable

/**
 * How often and how much the scans of one template read.
 *
 * @param weight bytes that they would have read without any skipping, in the columns that they read
 * @param count number of scans
 * @param unused number of predicates of these scans by which no file can be skipped
 * @param boxes a sample of what the scans asked for, with the weight of each
 */
private[sparkzorder] final case class TemplateUse(
    weight: Double,
    count: Long,
    unused: Long,
    boxes: Map[RankBox, Double]) {

  def +(other: TemplateUse): TemplateUse = TemplateUse(
    weight + other.weight,
    count + other.count,
    unused + other.unused,
    (boxes.keySet ++ other.boxes.keySet).iterator
      .map(b => b -> (boxes.getOrElse(b, 0.0) + other.boxes.getOrElse(b, 0.0))).toMap)

  def scaled(factor: Double): TemplateUse =
    copy(weight = weight * factor, boxes = boxes.map { case (b, w) => b -> w * factor })
}

/**
 * The scans of one table that one driver has run on one day. It holds no value, no text of a query
 * and no user. It keeps a limited number of templates, and of boxes a random sample.
 *
 * Safe for threads.
 */
private[workload] final class Sketch(seed: Long) {
  import Sketch._

  private val random = new java.util.Random(seed)
  private val templates = mutable.HashMap.empty[Template, TemplateUse]
  private val seen = mutable.HashMap.empty[Template, Long]

  def add(use: ScanUse, weight: Double): Unit = synchronized {
    val before = templates.getOrElse(use.template, TemplateUse(0.0, 0L, 0L, Map.empty))
    val boxes =
      if (use.template.uses.isEmpty) before.boxes
      else sampled(use.template, before.boxes, use.box, weight)
    templates(use.template) = before.copy(
      weight = before.weight + weight,
      count = before.count + 1,
      unused = before.unused + use.unused,
      boxes = boxes)
    if (templates.size > MaxTemplates) {
      // the newest stays, so that it can become heavier than others
      val others = templates.keys.filter(t => t != Unskippable && t != use.template)
      forget(others.minBy(templates(_).weight))
    }
  }

  /** Leaves out the columns that must not be noted. */
  def leaveOut(excluded: String => Boolean): Unit =
    synchronized(templates.keys.filter(_.columns.exists(excluded)).toSeq.foreach(forget))

  /** The bytes of a template were read all the same, by scans that are not known any more. */
  private def forget(template: Template): Unit =
    templates.remove(template).foreach { dropped =>
      seen -= template
      val rest = templates.getOrElse(Unskippable, TemplateUse(0.0, 0L, 0L, Map.empty))
      templates(Unskippable) = rest + dropped.copy(boxes = Map.empty)
    }

  /** A box of the sample gets more weight, or takes the place of a random box. */
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
