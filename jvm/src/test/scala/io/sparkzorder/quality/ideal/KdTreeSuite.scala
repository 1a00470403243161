// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality.ideal

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types.IntegerType

import io.sparkzorder.RandomInputs
import io.sparkzorder.quality.UnitsRead
import io.sparkzorder.table.OrderingColumn

class KdTreeSuite extends AnyFunSuite with RandomInputs {

  private type Row = Seq[Option[Int]]

  private def columns(rows: Seq[Row]): IndexedSeq[RankedColumn] =
    rows.head.indices.map { c =>
      RankedColumn(
        OrderingColumn(Seq(s"c$c"), IntegerType),
        rows.map(r => r(c).map(Int.box).orNull: Any).toArray)
    }

  /**
   * A literal implementation of the tree: the rows of each leaf, and the number of files it
   * represents.
   */
  private def slow(table: Seq[Row], node: Seq[Row], files: Int): Seq[(Seq[Row], Int)] = {
    // None stands for NULL, the lowest value
    def extent(c: Int) = {
      val (low, high) = (node.map(_(c)).min, node.map(_(c)).max)
      table.count { r =>
        val o = Ordering[Option[Int]]
        o.gteq(r(c), low) && o.lteq(r(c), high)
      }
    }
    val splittable = node.head.indices.filter(c => node.map(_(c)).distinct.size > 1)
    if (files == 1 || splittable.isEmpty) Seq((node, files))
    else {
      val widest = splittable.map(extent).max
      val c = splittable.find(extent(_) == widest).get
      val wanted = node.size.toDouble * (files / 2) / files
      val parts = node.map(_(c)).distinct.map { v =>
        node.partition(r => Ordering[Option[Int]].lt(r(c), v))
      }.filter(_._1.nonEmpty)
      val (low, high) =
        parts.minBy(p => (math.abs(p._1.size - wanted), p._1.size))
      val share = math.round(files.toDouble * low.size / node.size).toInt
      val lower = math.max(1, math.min(files - 1, share))
      slow(table, low, lower) ++ slow(table, high, files - lower)
    }
  }

  private def bag(rows: Seq[Row]) = rows.groupBy(identity).map { case (r, rs) => r -> rs.size }

  test("leaves as the definition has them") {
    withRandom { random =>
      for (_ <- 0 until 200) {
        val rows = randomRows(random)
        val files = 1 + random.nextInt(12)
        val tree = new KdTree(columns(rows), files)
        val expected = slow(rows, rows, files)
        assert(tree.leaves.map(_.files) === expected.map(_._2))
        assert(tree.leaves.map(l => bag(l.rows.toSeq.map(rows(_)))) ===
          expected.map(e => bag(e._1)))
      }
    }
  }

  private def randomRows(random: Random): Seq[Row] = {
    val values = Seq.fill(1 + random.nextInt(3))(1 + random.nextInt(30))
    Seq.fill(1 + random.nextInt(60))(values.map { n =>
      if (random.nextInt(6) == 0) None else Some(random.nextInt(n))
    })
  }

  test("a grid of 8 by 8 in 16 files is cut into squares") {
    val rows = for (x <- 0 until 8; y <- 0 until 8) yield Seq(Option(x), Option(y))
    val data = columns(rows)
    val tree = new KdTree(data, 16)
    for (c <- 0 to 1) {
      assert(tree.ranges(c).forall(r => r.high - r.low == 1))
      assert(UnitsRead.point(data(c), tree.ranges(c)) === 4.0)
    }
  }

  test("a heavy key stays whole and stands for its files; files of NULLs hold no value") {
    val rows: Seq[Row] = Seq.fill(60)(Seq(None)) ++ Seq.tabulate(20)(i => Seq(Some(i)))
    val data = columns(rows)
    val tree = new KdTree(data, 4)
    assert(tree.leaves.map(l => (l.rows.length, l.files)) === Seq((60, 3), (20, 1)))
    assert(tree.ranges(0) === Seq.fill(3)(RankRange.Empty) :+ RankRange(0, 19))
    assert(UnitsRead.point(data(0), tree.ranges(0)) === 1.0)
  }
}
