package io.sparkzorder.commands.auto

import io.sparkzorder.cluster.QueryBox
import io.sparkzorder.workload.{ModelQuery, RankBox, RankInterval, TemplateUse, Workload}

/**
 * The recorded scans of a table that can skip files by some columns.
 *
 * @param columns names of the columns, as the workload has them
 * @param files number of files in which the boxes will be counted
 */
private[commands] final class RecordedQueries(
    workload: Workload,
    columns: IndexedSeq[String],
    files: Int) {
  import RecordedQueries._

  private type Sides = Map[Int, Seq[RankInterval]]

  /**
   * @param weight bytes of the scans that the box stands for
   * @param capped the same, but no template has more than a part of the sum
   */
  private case class Box(weight: Double, capped: Double, sides: Sides)

  private val boxes: IndexedSeq[Box] = {
    val known = workload.templates.toSeq.filter { case (t, u) =>
      t.columns.exists(columns.contains) && u.weight > 0 && u.boxes.values.sum > 0
    }.sortBy { case (t, u) => (-u.weight, t.columns.mkString(",")) }
    val cap = capOf(known.map(_._2.weight))
    val most = math.max(LeastBoxes, math.min(MaxBoxes, MaxTests / math.max(1, files)))
    val some = known.take(most)
    some.zip(shared(most, some.map(_._2.boxes.size))).flatMap { case ((template, use), n) =>
      heaviest(use, n).map { case (box, weight) =>
        val sides = template.columns.zip(box.sides)
          .collect { case (c, side) if columns.contains(c) => columns.indexOf(c) -> side }
        Box(weight, weight * math.min(1.0, cap / use.weight), sides.toMap)
      }
    }.toIndexedSeq
  }

  /** The sum of the weights. */
  val weight: Double = boxes.map(_.weight).sum

  /** The weight of each box of `boxesOf`, not capped. */
  val weights: IndexedSeq[Double] = boxes.map(_.weight)

  def forModel: Seq[ModelQuery] = boxes.map { b =>
    ModelQuery(
      b.capped,
      b.sides.map { case (c, side) => c -> side.map(_.width.toDouble / RankInterval.Steps) })
  }

  /** The boxes in some of the columns, by their numbers, with capped weights. */
  def boxesOf(some: Seq[Int]): IndexedSeq[QueryBox] =
    boxes.map(b =>
      QueryBox(b.capped, some.map(c => b.sides.get(c).map(_.map(_.shares))).toIndexedSeq))
}

private[auto] object RecordedQueries {
  // one dashboard must not decide alone
  private val MaxShareOfTemplate = 0.3
  private val MaxBoxes = 512
  private val LeastBoxes = 32
  // boxes times files that are compared for each candidate
  private val MaxTests = 10000000

  /**
   * The weight that a template counts at most, so that no capped weight is above the part of the sum
   * of all capped weights. Fewer than four templates cannot all be below it: for them the part is that
   * of the weights as they are.
   */
  private def capOf(weights: Seq[Double]): Double = {
    val sorted = weights.sorted.reverse
    // the cap if `n` templates have it
    def cap(n: Int) = MaxShareOfTemplate * sorted.drop(n).sum / (1 - MaxShareOfTemplate * n)
    sorted.indices.takeWhile(MaxShareOfTemplate * _ < 1).find(n => sorted(n) <= cap(n))
      .fold(MaxShareOfTemplate * sorted.sum)(cap)
  }

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
