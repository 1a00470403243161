// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types.{DoubleType, IntegerType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.RandomInputs
import io.sparkzorder.quality.ideal.{RankedColumn, RankRange}
import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.FileRange

class UnitsReadSuite extends AnyFunSuite with RandomInputs {

  private def column(values: Seq[Any]) =
    RankedColumn(OrderingColumn(Seq("c"), IntegerType), values.toArray)

  private def randomValues(random: Random): Seq[Any] =
    7 +: Seq.fill(random.nextInt(40))(if (random.nextInt(5) == 0) null else random.nextInt(25))

  /** Units as ranges of values; None is a unit of NULLs only. */
  private def randomUnits(random: Random, n: Int): IndexedSeq[Option[(Int, Int)]] =
    IndexedSeq.fill(n) {
      val low = random.nextInt(30) - 2
      if (random.nextInt(6) == 0) None else Some((low, low + random.nextInt(12)))
    }

  private def ranked(c: RankedColumn, units: IndexedSeq[Option[(Int, Int)]]) = units.map {
    case None => RankRange.Empty
    case Some((low, high)) => c.ranksIn(FileRange(low, high))
  }

  /** All queries of `width` consecutive rows, as ranges of values. */
  private def windows(values: Seq[Any], width: Int): Seq[(Int, Int)] =
    values.filter(_ != null).map(_.asInstanceOf[Int]).sorted.sliding(width)
      .map(w => (w.head, w.last)).toSeq

  private def touches(unit: Option[(Int, Int)], query: (Int, Int)): Boolean =
    unit.exists { case (low, high) => low <= query._2 && high >= query._1 }

  test("points and ranges as a literal loop over values and units counts them") {
    withRandom { random =>
      for (_ <- 0 until 500) {
        val values = randomValues(random)
        val c = column(values)
        val units = randomUnits(random, random.nextInt(8))
        val width = 1 + random.nextInt(c.rows.toInt)
        for (w <- Seq(1, width)) {
          val queries = windows(values, w)
          val slow = queries.map(q => units.count(touches(_, q))).sum.toDouble / queries.size
          assert(math.abs(UnitsRead.window(c, ranked(c, units), w) - slow) < 1e-9)
        }
      }
    }
  }

  test("boxes as a literal loop over all pairs of places counts them") {
    withRandom { random =>
      for (_ <- 0 until 200) {
        val (values1, values2) = (randomValues(random), randomValues(random))
        val (c1, c2) = (column(values1), column(values2))
        val n = random.nextInt(8)
        val (units1, units2) = (randomUnits(random, n), randomUnits(random, n))
        val share = 0.3
        val boxes = for {
          a <- windows(values1, UnitsRead.width(c1, share).toInt)
          b <- windows(values2, UnitsRead.width(c2, share).toInt)
        } yield (a, b)
        val slow = boxes.map { case (a, b) =>
          (0 until n).count(i => touches(units1(i), a) && touches(units2(i), b))
        }.sum.toDouble / boxes.size
        val fast = UnitsRead.box(c1, ranked(c1, units1), c2, ranked(c2, units2), share)
        assert(math.abs(fast - slow) < 1e-9)
      }
    }
  }

  test("ranks follow Spark's order, and bounds need not be values") {
    val doubles = RankedColumn(
      OrderingColumn(Seq("d"), DoubleType),
      Array(Double.NaN, -0.0, null, 0.0, -5.5, 1.0))
    assert(doubles.ranks.toSeq === Seq(3, 1, -1, 1, 0, 2))
    assert(doubles.rowsBelow.toSeq === Seq(0, 1, 3, 4, 5))
    assert(doubles.ranksIn(FileRange(-1.0, 7.0)) === RankRange(1, 2))
    def text(s: String) = UTF8String.fromString(s)
    val strings = RankedColumn(
      OrderingColumn(Seq("s"), StringType),
      Array(text("b"), text("é"), text("a"), text("b")))
    assert(strings.ranks.toSeq === Seq(1, 2, 0, 1))
    assert(strings.ranksIn(FileRange(text("aa"), text("z"))) === RankRange(1, 1))
    assert(strings.ranksIn(FileRange(text("c"), text("d"))) === RankRange(2, 1))
  }
}
