// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import org.apache.spark.sql.types.DataType

import io.sparkzorder.cluster._
import io.sparkzorder.workload.Workload

/**
 * Layouts of a table that are simulated on a sample of its rows: those of AUTO, and others that it is
 * compared with. A layout is the number of the file of each row.
 *
 * @param columns names and types of the columns by which scans can skip files
 * @param files number of files of each layout
 */
final class SimulatedTable(
    columns: IndexedSeq[(String, DataType)],
    sample: FolderSample,
    files: Int) {
  import SimulatedTable._

  private val names = columns.map(_._1)
  private val ranked = sample.ranked
  private val rows = sample.rows
  private val values = ranked.map(_.sorted.weights.length)

  /** Recorded scans that can skip files, as boxes of all columns; a scan counts as much as another. */
  def boxes(workload: Workload): Boxes =
    workload.templates.toIndexedSeq.flatMap { case (template, use) =>
      val all = use.boxes.values.sum
      val numbers = template.columns.map(names.indexOf(_))
      use.boxes.toSeq.collect {
        case (box, weight) if all > 0 && numbers.exists(_ >= 0) =>
          val sides = numbers.zip(box.sides).toMap
          (
            use.count * weight / all,
            columns.indices.map(c =>
              sides.get(c).map(_.map(_.shares).map { case (from, until) =>
                (ranked(c).rankAt(from), ranked(c).rankUntil(from, until))
              }.toArray).orNull).toArray)
      }
    }

  private def cuts(by: Seq[Int], goal: CutGoal): Layout = {
    val some = by.map(ranked(_)).toIndexedSeq
    val cuts = new KdCuts(some, Array.fill(rows)(1), files, goal).build()
    Array.tabulate(rows) { row =>
      var at = if (cuts.nodes.isEmpty) ~0 else 0
      while (at >= 0) {
        val node = cuts.nodes(at)
        at = if (some(node.column).ranks(row) < node.rank) node.left else node.right
      }
      ~at
    }
  }

  /** What AUTO would choose for a workload, judged by the same sample, and its columns. */
  def auto(train: Workload, withBoxes: Boolean = true): (Layout, String, Layout) = {
    val queries = new RecordedQueries(train, names, files)
    val wanted = boxes(train)
    def layoutOf(c: Candidate) = cuts(
      c.columns,
      CutGoal(
        c.weights.toIndexedSeq,
        if (withBoxes) queries.boxesOf(c.columns) else IndexedSeq.empty))
    val (chosen, layout) = Candidates.of(queries, values, files).map(c => (c, layoutOf(c)))
      .minBy { case (_, l) => reads(l, wanted) }
    val text = chosen.columns.zip(chosen.weights).map { case (c, w) => s"${names(c)}:${w.toInt}" }
    (layout, text.mkString(" "), cuts(chosen.columns, CutGoal.even))
  }

  /** The best order by one column, for these boxes. */
  def singleSort(wanted: Boxes): Layout =
    columns.indices.map(c => cuts(Seq(c), CutGoal.even)).minBy(reads(_, wanted))

  /** The greedy Qd-tree: of all cuts at ends of boxes the one that skips the most rows, again and again. */
  def qdTree(wanted: Boxes): Layout = {
    val least = math.max(1, rows / files / 2)
    val layout = new Array[Int](rows)
    def best(members: Array[Int], met: Boxes): Option[(Double, Int, Int)] = {
      val cuts = for {
        c <- columns.indices
        ends = met.filter(_._2(c) != null).flatMap(_._2(c)).flatMap(i => Seq(i._1, i._2 + 1))
        ranks = members.map(ranked(c).ranks(_)).sorted if ends.nonEmpty
        rank <- thinned(ends.distinct.sorted)
      } yield {
        val left = below(ranks, rank)
        val right = members.length - left
        if (left < least || right < least) (0.0, c, rank)
        else {
          val gain = met.iterator.filter(_._2(c) != null).map { case (w, sides) =>
            (if (sides(c).exists(i => i._1 < rank && i._2 >= ranks.head)) 0.0 else w * left) +
              (if (sides(c).exists(i => i._2 >= rank && i._1 <= ranks.last)) 0.0 else w * right)
          }.sum
          (gain, c, rank)
        }
      }
      cuts.filter(_._1 > 0).sortBy(-_._1).headOption
    }
    val all = Array.tabulate(rows)(identity)
    var leaves = List((all, wanted, best(all, wanted)))
    while (leaves.size < files && leaves.exists(_._3.isDefined)) {
      val (members, met, cut) = leaves.maxBy(_._3.fold(0.0)(_._1))
      val (_, c, rank) = cut.get
      val (left, right) = members.partition(ranked(c).ranks(_) < rank)
      def on(of: Array[Int]) = {
        val (low, high) = (of.map(ranked(c).ranks(_)).min, of.map(ranked(c).ranks(_)).max)
        val b = met.filter(_._2(c) == null) ++
          met.filter(b => b._2(c) != null && b._2(c).exists(i => i._1 <= high && i._2 >= low))
        (of, b, best(of, b))
      }
      leaves = on(left) :: on(right) :: leaves.filterNot(_._1 eq members)
    }
    leaves.zipWithIndex.foreach { case ((members, _, _), f) => members.foreach(layout(_) = f) }
    layout
  }

  /** The share of the rows that lie in files which scans read, by min and max of all columns. */
  def reads(layout: Layout, wanted: Boxes): Double = {
    val n = layout.max + 1
    val counts = new Array[Int](n)
    val low = Array.fill(columns.size, n)(Int.MaxValue)
    val high = Array.fill(columns.size, n)(-1)
    for (row <- 0 until rows) {
      val f = layout(row)
      counts(f) += 1
      for (c <- columns.indices) {
        val r = ranked(c).ranks(row)
        // NULL has no place in min and max
        if (r > 0 && r < low(c)(f)) low(c)(f) = r
        if (r > high(c)(f)) high(c)(f) = r
      }
    }
    wanted.map { case (w, sides) =>
      val read = (0 until n).filter(f =>
        columns.indices.forall(c =>
          sides(c) == null || sides(c).exists(i => i._1 <= high(c)(f) && i._2 >= low(c)(f))))
      w * read.map(counts(_).toDouble).sum / rows
    }.sum / wanted.map(_._1).sum
  }

  /** No layout reads less: the rows that match, in whole files, and at least one. */
  def bound(wanted: Boxes): Double =
    wanted.map { case (w, sides) =>
      val matching = (0 until rows).count(row =>
        columns.indices.forall(c =>
          sides(c) == null || {
            val r = ranked(c).ranks(row)
            sides(c).exists(i => i._1 <= r && r <= i._2)
          }))
      w * math.max(1.0, math.ceil(matching.toDouble * files / rows)) / files
    }.sum / wanted.map(_._1).sum

  private def thinned(ends: IndexedSeq[Int]): Seq[Int] =
    if (ends.size <= MaxEnds) ends else (0 until MaxEnds).map(i => ends(i * ends.size / MaxEnds))

  private def below(sorted: Array[Int], rank: Int): Int = {
    val i = java.util.Arrays.binarySearch(sorted, rank)
    if (i < 0) -i - 1
    else {
      var first = i
      while (first > 0 && sorted(first - 1) == rank) first -= 1
      first
    }
  }
}

object SimulatedTable {
  type Layout = Array[Int]

  /** Weight, and for each column the intervals of ranks, null for a column without restriction. */
  type Boxes = IndexedSeq[(Double, Array[Array[(Int, Int)]])]

  private val MaxEnds = 32
  private val MaxColumns = 8

  /** The columns that AUTO would look at, in its order. */
  def columnsOf(workload: Workload, known: String => Boolean): Seq[String] =
    workload.columns.map(_._1).filter(known).take(MaxColumns)

}
