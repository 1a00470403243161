// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import scala.collection.mutable.ArrayBuffer

/**
 * Computes where one cell ends and the next begins, by a kd-tree over the ranks of the sample of a folder
 * (Bentley 1975). Each leaf of the tree is a cell, and the files of the folder are divided among the
 * leaves. As in Friedman, Bentley and Finkel (1977), a cell is cut on its widest side.
 *
 * A point query on a column reads the cells whose side in that column holds the value. So the sum of the
 * sides of all cells in that column is the cost of the query. A cut does not change this sum for the column
 * that is cut, and doubles the cell's part of the sum for every other column. So the best cut is on the
 * widest side. The width of a side is the share of all rows whose values lie in the side. The sum does not
 * depend on where the cut lies, which is why a small sample is enough. A cut never separates equal values.
 *
 * If some columns have more point queries than others, the width of a side is multiplied by the weight of
 * its column in the goal. If the goal has recorded queries, a cell is cut where these queries skip the most
 * rows ([[QueryCuts]]). Inside the regions of `top`, the recorded queries do not count.
 *
 * @param columns the sample; all columns have the same number of rows, and at least one row
 * @param sizes sizes of the sampled rows, in any unit
 * @param files number of files wanted, at least 1
 * @param goal the queries for which the cuts should be good
 * @param stop a cell of this many files or fewer is not cut any more
 * @param top the first cuts of the tree, if a plan prescribes them. Each cell of these cuts is a region,
 *   and each leaf inside a region has the number of the region
 */
private[sparkzorder] final class KdCuts(
    columns: IndexedSeq[RankedColumn],
    sizes: Array[Int],
    files: Int,
    goal: CutGoal = CutGoal.even,
    stop: Int = 1,
    top: Option[TopCuts] = None) {
  import KdCuts._
  import SideSplits._

  private val n = columns.head.rows
  // the total size of sampled rows that each file should get
  private val target = sizes.foldLeft(0L)(_ + _).toDouble / files
  private val rows = Array.tabulate(n)(identity)
  private val spare = new Array[Int](n)
  private val nodes = ArrayBuffer.empty[Node]
  private val leaves = ArrayBuffer.empty[Leaf]
  private val splits = new SideSplits(columns, sizes, target)
  private val queries = new QueryCuts(columns, goal)
  private val balance = new ColumnBalance(columns, goal)
  private var region = 0

  def build(): Cuts = {
    top match {
      case None => grow(0, n, files, 0, queries.boxes)
      case Some(t) => follow(t, if (t.columns.isEmpty) ~0 else 0, 0, n, 0)
    }
    Cuts(nodes.toIndexedSeq, leaves.toIndexedSeq)
  }

  /** Follows the given cuts down to the regions, and cuts each region into files. */
  private def follow(t: TopCuts, child: Int, from: Int, until: Int, turns: Int): Int =
    if (child < 0) {
      region = ~child
      // A region without a sampled row may still get rows, and these rows must not go to another region.
      // The region therefore gets a leaf of its own.
      if (from == until) {
        leaves += Leaf(0, 0.0, 1, Box.empty(columns.length), region)
        ~(leaves.length - 1)
      } else {
        val wanted = math.max(1, math.round(sizeOf(from, until) / target).toInt)
        grow(from, until, wanted, turns, Array.empty)
      }
    } else {
      val node = nodes.length
      nodes += null
      val (column, rank) = (t.columns(child), t.ranks(child))
      val middle = partition(from, until, column, rank)
      val left = follow(t, t.children(2 * child), from, middle, turns)
      val right = follow(t, t.children(2 * child + 1), middle, until, turns + 1)
      nodes(node) = Node(column, rank, left, right, isAtValue = t.areAtValues(child))
      node
    }

  /**
   * Cuts the rows in `from until until` of `rows` into `wanted` files.
   *
   * @param turns number of turns to the right on the path from the root to this node. Sibling cells differ in
   *   this number, so they try columns of equal width in different orders
   * @param boxes the recorded queries that meet the cell
   * @return the number of the new node, or the bitwise complement of the number of the new leaf
   */
  private def grow(
      from: Int,
      until: Int,
      wanted: Int,
      turns: Int,
      boxes: Array[RankedBox]): Int = {
    val box = boxOf(from, until)
    choose(from, until, wanted, box, turns, boxes) match {
      case None =>
        balance.note(box, wanted)
        leaves += Leaf(until - from, sizeOf(from, until), wanted, box, region)
        ~(leaves.length - 1)
      case Some(split) =>
        val node = nodes.length
        nodes += null
        val middle = partition(from, until, split.column, split.rank)
        def side(lowest: Int, highest: Int) = queries.on(boxes, split.column, lowest, highest)
        val (lowest, highest) = (box.lowest(split.column), box.highest(split.column))
        val left = grow(from, middle, split.filesLeft, turns, side(lowest, split.rank - 1))
        val right =
          grow(middle, until, wanted - split.filesLeft, turns + 1, side(split.rank, highest))
        nodes(node) = Node(split.column, split.rank, left, right)
        node
    }
  }

  private def choose(
      from: Int,
      until: Int,
      wanted: Int,
      box: Box,
      turns: Int,
      boxes: Array[RankedBox]): Option[Split] = {
    val open = columns.indices.filter(c => box.lowest(c) < box.highest(c))
    if (wanted <= stop || open.isEmpty) None
    else {
      (if (boxes.isEmpty) None else byQueries(from, until, wanted, box, open, boxes))
        .orElse(bySides(from, until, wanted, box, turns, open))
    }
  }

  /**
   * The first even cut of a side that is about as wide as the widest side. If there is no such cut, the cut for
   * which the width of the side, divided by the unevenness of the cut, is greatest.
   */
  private def bySides(
      from: Int,
      until: Int,
      wanted: Int,
      box: Box,
      turns: Int,
      open: IndexedSeq[Int]): Option[Split] = {
    val widths = columns.indices.map(c =>
      goal.weight(c) * columns(c).share(box.lowest(c), box.highest(c)))
    val widest = open.map(widths).max
    val equal = open.filter(widths(_) >= AboutEqual * widest)
    val turned = equal.indices.map(i => equal((i + turns) % equal.length))
    val order = balance.order(turned, box, wanted)
    def split(column: Int) = splits.balanced(rows, column, from, until, wanted)
    order.iterator.map(split).find(isEven).orElse {
      // If one value has many rows, a column may have no even cut. A narrower side may then be the
      // better choice.
      val all = order ++ open.filterNot(order.contains(_))
      Some(all.map(split).maxBy(s => widths(s.column) / unevenness(s)))
    }
  }

  /** The cut by which the recorded queries skip the most rows; None if they skip none. */
  private def byQueries(
      from: Int,
      until: Int,
      wanted: Int,
      box: Box,
      open: IndexedSeq[Int],
      boxes: Array[RankedBox]): Option[Split] = {
    val judged = open.flatMap { c =>
      val sorted = splits.sortedBy(rows, c, from, until)
      val below = sorted.scanLeft(0.0)((sum, row) => sum + sizeIn(row))
      val balanced = splits.balanced(rows, c, from, until, wanted)
      // The ends of the intervals of the queries are candidates, unless the cut there would make some files
      // much larger than others.
      val ends = queries.ends(boxes, c, box.lowest(c) + 1, box.highest(c)).toSeq.map { rank =>
        splits.cutAt(c, rank, below(firstOf(sorted, rank)), below.last, wanted)
      }.filter(s => s.imbalance <= Balanced && s.share >= LeastShare && s.share <= 1 - LeastShare)
      (balanced +: ends).map { s =>
        val left = firstOf(sorted, s.rank)
        val (own, all) = queries.gain(boxes, box, c, s.rank, left, until - from)
        (s, own, if (s.imbalance <= Balanced) all else all / (s.imbalance * s.imbalance))
      }
    }
    if (judged.forall(_._2 <= 0)) None else Some(judged.maxBy(_._3)._1)
  }

  private def sizeOf(from: Int, until: Int): Double = {
    var sum = 0L
    var i = from
    while (i < until) {
      sum += sizes(rows(i))
      i += 1
    }
    sum.toDouble
  }

  /**
   * Moves the rows whose rank is below `rank` to the front, and keeps the order of both parts. Returns the
   * position at which the other rows begin.
   */
  private def partition(from: Int, until: Int, column: Int, rank: Int): Int = {
    val ranks = columns(column).ranks
    var left = from
    var kept = 0
    var i = from
    while (i < until) {
      val row = rows(i)
      if (ranks(row) < rank) {
        rows(left) = row
        left += 1
      } else {
        spare(kept) = row
        kept += 1
      }
      i += 1
    }
    System.arraycopy(spare, 0, rows, left, kept)
    left
  }

  private def boxOf(from: Int, until: Int): Box = {
    val lowest = new Array[Int](columns.length)
    val highest = new Array[Int](columns.length)
    val leastValue = new Array[Int](columns.length)
    columns.indices.foreach { c =>
      val ranks = columns(c).ranks
      var lo = Int.MaxValue
      var hi = Int.MinValue
      var value = Int.MaxValue
      var i = from
      while (i < until) {
        val r = ranks(rows(i))
        if (r < lo) lo = r
        if (r > hi) hi = r
        if (r > 0 && r < value) value = r
        i += 1
      }
      leastValue(c) = if (hi == 0) 0 else value
      lowest(c) = lo
      highest(c) = hi
    }
    Box(lowest, leastValue, highest)
  }
}

private[sparkzorder] object KdCuts {
  // a side of at least this share of the widest side counts as equally wide
  private val AboutEqual = 0.9
  // Up to this imbalance ([[SideSplits.Split.imbalance]]), the end of a query's interval may be a cut, and the gain of
  // a cut is not reduced.
  private val Balanced = 1.2
  // A cut is even if each side fills its files to a share of the target between these two. A file that is
  // too full is worse than a file that is too empty: the sample misjudges the size of a file by a tenth or
  // more, so a file that is planned at 1.3 may reach 1.5.
  private val LeastFill = 0.7
  private val MostFill = 1.3
  // a cut at the end of a query's interval leaves at least a third of the rows on either side
  private val LeastShare = 1.0 / 3

  private def isEven(s: SideSplits.Split): Boolean =
    s.least >= LeastFill && s.most <= MostFill

  /** How many times wider a side must be, so that its uneven cut is preferred to an even cut. */
  private def unevenness(s: SideSplits.Split): Double =
    math.pow(Seq(1.0, LeastFill / s.least, s.most / MostFill).max, 6)

  /**
   * An inner node. Rows whose rank in `column` is at least `rank` go to the right, all others to
   * the left.
   *
   * @param isAtValue true if the cut lies exactly at the value of this rank; false if it may lie anywhere
   *   between this value and the value of the rank before
   */
  final case class Node(
      column: Int,
      rank: Int,
      left: Int,
      right: Int,
      isAtValue: Boolean = false)

  /**
   * A leaf: the number and the total size of its sampled rows, the number of its files, the box of its
   * ranks, and the region in which it lies.
   */
  final case class Leaf(rows: Int, size: Double, files: Int, box: Box, region: Int = 0)

  final case class Cuts(nodes: IndexedSeq[Node], leaves: IndexedSeq[Leaf])
}

/**
 * The cuts of a tree in the form of [[CutTree]]. A CutTree numbers the bounds of a column and the gaps between them
 * (its slots); here a cut has the rank of a sampled value instead.
 *
 * @param areAtValues for each cut, whether it lies at a value. Any other cut separates NULL from all values
 */
private[sparkzorder] final class TopCuts(
    val columns: Array[Int],
    val ranks: Array[Int],
    val areAtValues: Array[Boolean],
    val children: Array[Int])

private[sparkzorder] object TopCuts {

  /** The keys of all values at which the tree of a grid cuts a column. */
  def keysOf(grid: FolderGrid, column: Int): Seq[AnyRef] =
    grid.tree.slotsOf(column).filter(_ > 0).distinct.map(s => keyAt(grid, column, s))

  /** @param columns the columns of a sample; each has all values of [[keysOf]] */
  def of(grid: FolderGrid, columns: IndexedSeq[RankedColumn]): TopCuts = {
    val tree = grid.tree
    val ranks = tree.column.indices.map { i =>
      val (c, slot) = (tree.column(i), tree.slot(i))
      if (slot == 0) 1 else 1 + (columns(c).distinct.slotOfKey(keyAt(grid, c, slot)) >> 1)
    }
    new TopCuts(tree.column, ranks.toArray, tree.slot.map(_ > 0), tree.children)
  }

  // The slot 2 * i + 1 is bound i. An even slot above 0 is the gap above a bound,
  // where KdCuts makes no cut.
  private def keyAt(grid: FolderGrid, column: Int, slot: Int): AnyRef =
    grid.columns(column).bounds.key(math.min(slot >> 1, grid.columns(column).bounds.length - 1))
}
