package io.sparkzorder.commands.auto

import io.sparkzorder.cluster.QueryBox
import io.sparkzorder.workload.{ModelQuery, RankInterval, Template, TemplateUse, Workload}

/**
 * The recorded scans of a table that can skip files by some columns.
 *
 * @param columns names of the columns, as the workload has them
 * @param files number of files in which the boxes will be counted
 */
private[auto] final class RecordedQueries(
    workload: Workload,
    columns: IndexedSeq[String],
    files: Int) {
  import RecordedQueries._

  private val known: Seq[(Template, TemplateUse)] =
    workload.templates.toSeq.filter(_._1.columns.exists(columns.contains))

  private val weightOfKnown = known.map(_._2.weight).sum

  /** The boxes of the largest weights; no template has more than a part of the weight. */
  private val boxes: Seq[(Double, Map[Int, Seq[RankInterval]])] =
    known.flatMap { case (template, use) =>
      val factor = math.min(1.0, MaxShareOfTemplate * weightOfKnown / math.max(1e-9, use.weight))
      use.boxes.toSeq.map { case (box, weight) =>
        val sides = template.columns.zip(box.sides)
          .collect { case (c, side) if columns.contains(c) => columns.indexOf(c) -> side }
        (weight * factor, sides.toMap)
      }
    }.filter(_._1 > 0).sortBy { case (w, sides) => (-w, sides.toString) }
      .take(math.max(LeastBoxes, math.min(MaxBoxes, MaxTests / math.max(1, files))))

  /** The weight of the boxes, of which candidates are judged. */
  val weight: Double = boxes.map(_._1).sum

  def forModel: Seq[ModelQuery] = boxes.map { case (w, sides) =>
    ModelQuery(
      w,
      sides.map { case (c, side) => c -> side.map(_.width.toDouble / RankInterval.Steps) })
  }

  /** The boxes in some of the columns, by their numbers. */
  def boxesOf(some: Seq[Int]): IndexedSeq[QueryBox] =
    boxes.map { case (w, sides) =>
      QueryBox(w, some.map(c => sides.get(c).map(_.map(_.shares))).toIndexedSeq)
    }.toIndexedSeq
}

private[auto] object RecordedQueries {
  // one dashboard must not decide alone
  private val MaxShareOfTemplate = 0.3
  private val MaxBoxes = 512
  private val LeastBoxes = 32
  // boxes times files that are compared for each candidate
  private val MaxTests = 10000000
}
