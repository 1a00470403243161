// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import io.sparkzorder.cluster.QueryBox
import io.sparkzorder.workload.{ModelQuery, RankBox, RankInterval, TemplateUse, Workload}

/**
 * The recorded scans of a table that can skip files by some columns.
 *
 * @param columns names of the columns, as the workload has them
 * @param files number of files in which the boxes will be counted
 */
private[sparkzorder] final class RecordedQueries(
    workload: Workload,
    columns: IndexedSeq[String],
    files: Int) {
  import RecordedQueries._

  private type Sides = Map[Int, Seq[RankInterval]]

  /** @param weight bytes of the scans that the box stands for */
  private case class Box(weight: Double, sides: Sides)

  private val boxes: IndexedSeq[Box] = {
    val known = workload.templates.toSeq.filter { case (t, u) =>
      t.columns.exists(columns.contains) && u.weight > 0 && u.boxes.values.sum > 0
    }.sortBy { case (t, u) => (-u.weight, t.columns.mkString(",")) }
    val most = math.max(LeastBoxes, math.min(MaxBoxes, MaxTests / math.max(1, files)))
    val some = known.take(most)
    some.zip(shared(most, some.map(_._2.boxes.size))).flatMap { case ((template, use), n) =>
      heaviest(use, n).map { case (box, weight) =>
        val sides = template.columns.zip(box.sides)
          .collect { case (c, side) if columns.contains(c) => columns.indexOf(c) -> side }
        Box(weight, sides.toMap)
      }
    }.toIndexedSeq
  }

  /** The sum of the weights. */
  val weight: Double = boxes.map(_.weight).sum

  def forModel: Seq[ModelQuery] = boxes.map { b =>
    ModelQuery(
      b.weight,
      b.sides.map { case (c, side) => c -> side.map(_.width.toDouble / RankInterval.Steps) })
  }

  /** The boxes in some of the columns, by their numbers. */
  def boxesOf(some: Seq[Int]): IndexedSeq[QueryBox] =
    boxes.map(b =>
      QueryBox(b.weight, some.map(c => b.sides.get(c).map(_.map(_.shares))).toIndexedSeq))
}

private[auto] object RecordedQueries {
  private val MaxBoxes = 512
  private val LeastBoxes = 32
  // boxes times files that are compared for each candidate
  private val MaxTests = 10000000

  /** How many of `most` boxes each template gets: equally many, if it has as many. */
  private def shared(most: Int, sizes: Seq[Int]): Seq[Int] = {
    val numbers = new Array[Int](sizes.size)
    sizes.zipWithIndex.sorted.zipWithIndex.foldLeft(most) { case (left, ((size, i), done)) =>
      numbers(i) = math.min(size, left / (sizes.size - done))
      left - numbers(i)
    }
    numbers.toSeq
  }

  /** Some boxes of a template, which have the template's weight together. */
  private def heaviest(use: TemplateUse, most: Int): Seq[(RankBox, Double)] = {
    // equal boxes in an order that prefers no part of the table
    val kept = use.boxes.toSeq.sortBy { case (b, w) => (-w, b.hashCode, b.toString) }.take(most)
    val sum = kept.map(_._2).sum
    kept.collect { case (b, w) if w > 0 => b -> w * use.weight / sum }
  }
}
