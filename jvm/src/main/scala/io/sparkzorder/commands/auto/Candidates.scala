// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import io.sparkzorder.cluster.QueryBox
import io.sparkzorder.workload.{
  LayoutModel,
  ModelQuery,
  RankBox,
  RankInterval,
  TemplateUse,
  Workload
}

/**
 * A layout that could be made.
 *
 * @param columns the positions of its columns among the sampled columns, the column with the most cuts first
 * @param weights the weights of these columns; the least weight is 1
 */
private[sparkzorder] final case class Candidate(columns: Seq[Int], weights: Seq[Double])

/** The layouts that [[LayoutModel]] finds best, and those by a single column. Reads no data. */
private[auto] object Candidates {
  private val MaxSets = 12
  private val MaxColumns = 6

  /**
   * @param values number of distinct values of each column
   * @param files number of files of the layout
   */
  def of(queries: RecordedQueries, values: IndexedSeq[Int], files: Int): Seq[Candidate] = {
    val model = new LayoutModel(queries.forModel, values.map(LayoutModel.bitsOf))
    // as many bits as number the files of the layout: each bit doubles the number of parts of its column
    val bits = math.max(1, LayoutModel.bitsOf(files))
    val columns = values.indices.filter(values(_) > 1)
    val sets = (1 to math.min(MaxColumns, columns.size)).flatMap(columns.combinations(_))
    val judged = sets.map(s => (s, model.greedy(bits, s)))
      // a column without a bit does not order the files, so the set without this column gives the same layout
      .filter { case (s, b) => s.forall(b(_) > 0) }
      .map { case (s, b) => (of(s, b), model.cost(b)) }
    val best = judged.sortBy(_._2).map(_._1).take(MaxSets)
    (best ++ judged.map(_._1).filter(_.columns.size == 1)).distinct
  }

  private def of(set: Seq[Int], bits: IndexedSeq[Int]): Candidate = {
    val sorted = set.sortBy(c => (-bits(c), c))
    val least = bits(sorted.last)
    Candidate(sorted, sorted.map(c => math.pow(2, bits(c) - least)))
  }
}

/**
 * Recorded scans of a table, each as a box ([[QueryBox]]). Only scans that can skip files by one of `columns` count.
 *
 * @param columns the names of the columns in the recorded workload
 * @param files the number of present files, each of which will be compared with each box
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

  /** The sum of the weights of all boxes. */
  val weight: Double = boxes.map(_.weight).sum

  def forModel: Seq[ModelQuery] = boxes.map { b =>
    ModelQuery(
      b.weight,
      b.sides.map { case (c, side) => c -> side.map(_.width.toDouble / RankInterval.Steps) })
  }

  /** All boxes, with their sides in some columns only. The columns are given by their positions. */
  def boxesOf(some: Seq[Int]): IndexedSeq[QueryBox] =
    boxes.map(b =>
      QueryBox(b.weight, some.map(c => b.sides.get(c).map(_.map(_.shares))).toIndexedSeq))
}

private[auto] object RecordedQueries {
  private val MaxBoxes = 512
  private val LeastBoxes = 32
  // the greatest number of comparisons, boxes times files, for each candidate
  private val MaxTests = 10000000

  /**
   * Divides `most` boxes equally among templates that have `sizes` boxes. If a template has fewer boxes than its part,
   * the other templates get the rest.
   */
  private def shared(most: Int, sizes: Seq[Int]): Seq[Int] = {
    val numbers = new Array[Int](sizes.size)
    sizes.zipWithIndex.sorted.zipWithIndex.foldLeft(most) { case (left, ((size, i), done)) =>
      numbers(i) = math.min(size, left / (sizes.size - done))
      left - numbers(i)
    }
    numbers.toSeq
  }

  /** The heaviest boxes of a template. Together they get the weight of the template. */
  private def heaviest(use: TemplateUse, most: Int): Seq[(RankBox, Double)] = {
    // Boxes of equal weight are ordered by their hash. Ordered by position, the boxes of one end of the table would
    // win.
    val kept = use.boxes.toSeq.sortBy { case (b, w) => (-w, b.hashCode, b.toString) }.take(most)
    val sum = kept.map(_._2).sum
    kept.collect { case (b, w) if w > 0 => b -> w * use.weight / sum }
  }
}
