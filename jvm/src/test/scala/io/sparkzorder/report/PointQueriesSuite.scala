// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.report

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.RandomInputs
import io.sparkzorder.cluster.{FolderSample, Grid, KeyColumns}
import io.sparkzorder.table.stats.FileRange

class PointQueriesSuite extends AnyFunSuite with RandomInputs {

  test("mean files as a slow count has them") {
    withRandom { random =>
      for (_ <- 0 until 300) {
        val ranges = Seq.fill(random.nextInt(30)) {
          if (random.nextInt(10) == 0) None
          else {
            val lo = random.nextInt(50)
            Some(FileRange(lo, lo + random.nextInt(20)))
          }
        }
        // a NULL is no value; folders have rows of different weight
        val folders = Seq.fill(1 + random.nextInt(3)) {
          val values = Seq.fill(random.nextInt(40)) {
            if (random.nextInt(8) == 0) null else random.nextInt(70): Any
          }
          (values, 1.0 + random.nextInt(5))
        }
        val present = folders.flatMap { case (vs, w) => vs.filter(_ != null).map((_, w)) }
        val slow = present.map { case (v, w) =>
          val x = v.asInstanceOf[Int]
          w * ranges.count(_.forall(r =>
            r.min.asInstanceOf[Int] <= x && x <= r.max.asInstanceOf[Int]))
        }.sum
        val expected = if (present.isEmpty) 0.0 else slow / present.map(_._2).sum
        val values = ValueDistribution.of(folders.map { case (vs, w) =>
          (KeyColumns.of(IntegerType, vs).ranked, w)
        })
        assert(math.abs(PointQueries.meanFiles(ranges, values) - expected) < 1e-9)
      }
    }
  }

  private def asked(t: DataType, value: Any) =
    ValueDistribution.of(Seq((KeyColumns.of(t, Seq(value)).ranked, 1.0)))

  test("strings compare as Spark compares them, doubles with NaN as the greatest") {
    def text(s: String) = UTF8String.fromString(s)
    val strings = Seq(
      Some(FileRange(text("a"), text("m"))),
      Some(FileRange(text("m"), text("é"))),
      None)
    def of(s: String) = PointQueries.meanFiles(strings, asked(StringType, text(s)))
    assert(Seq("a", "m", "z", "é", "日", "").map(of) === Seq(2.0, 3.0, 2.0, 2.0, 1.0, 1.0))
    val doubles = Seq(Some(FileRange(-0.0, 1.0)), Some(FileRange(0.5, Double.NaN)))
    def at(d: Double) = PointQueries.meanFiles(doubles, asked(DoubleType, d))
    assert(Seq(0.0, 0.7, Double.PositiveInfinity, Double.NaN, -1.0).map(at) ===
      Seq(1.0, 2.0, 1.0, 1.0, 0.0))
    val wide = DecimalType(38, 2)
    def decimal(n: Int) = Decimal(BigDecimal(n), 38, 2)
    val decimals = Seq(Some(FileRange(decimal(1), decimal(5))))
    assert(Seq(1, 3, 5, 6).map(n => PointQueries.meanFiles(decimals, asked(wide, decimal(n)))) ===
      Seq(1.0, 1.0, 1.0, 0.0))
  }

  test("many folders are thinned, and their rows stay") {
    val folders = Seq.tabulate(300)(f =>
      (KeyColumns.of(LongType, (0L until 2000L).map(_ * 300 + f)).ranked, 2.0))
    val values = ValueDistribution.of(folders).get
    assert(math.abs(values.total - 1200000.0) < 1e-3)
    val half = values.rowsIn(FileRange(0L, 299999L)) / values.total
    assert(math.abs(half - 0.5) < 0.01)
  }

  for ((times, tags) <- Seq(6 -> Nil, 30 -> Seq(Slow))) test(
    s"what a grid will cost, as counted on the sampled rows themselves: $times grids",
    tags: _*) {
    withRandom { random =>
      for (_ <- 0 until times) {
        val n = 50 + random.nextInt(500)
        val columns = Seq.fill(2)(Seq.fill(n)(
          if (random.nextInt(9) == 0) null else random.nextInt(60): Any))
        val sample = FolderSample(columns.map(KeyColumns.of(IntegerType, _)).toIndexedSeq)
        val grid = Grid.build(
          Seq("a" -> IntegerType, "b" -> IntegerType),
          IndexedSeq(n.toLong),
          IndexedSeq(n / 10.0),
          IndexedSeq(sample))
        val placed = grid.folders.head.get
        columns.indices.foreach { c =>
          val cellOf = (0 until n).map(r =>
            placed.tree.cellOf(columns.map(_(r)).zip(placed.columns).map { case (v, g) =>
              if (v == null) -1 else g.bounds.slotOf(v)
            }.toArray))
          val values = columns(c).zip(cellOf).collect { case (v: Int, cell) => (v, cell) }
          val reads = values.map { case (v, _) =>
            placed.cells.indices.filter { i =>
              val held = values.filter(_._2 == i).map(_._1)
              held.nonEmpty && held.min <= v && v <= held.max
            }.map(placed.cells(_).files).sum.toDouble
          }
          val expected = reads.sum / reads.size
          val distribution = ValueDistribution.of(Seq((sample.ranked(c), 1.0)))
          assert(math.abs(
            PointQueries.predicted(
              Seq((placed, sample.ranked(c))),
              c,
              distribution) - expected) < 1e-9)
        }
      }
    }
  }

  test("the ideal") {
    def ideal(files: Seq[Int], columns: Int) =
      PointQueries.ideal(files, IndexedSeq.fill(columns)(1.0), columns - 1)
    assert(ideal(Seq(64), 2) === 8.0)
    assert(ideal(Seq(64), 1) === 1.0)
    assert(math.abs(ideal(Seq(64), 3) - 16.0) < 1e-9)
    assert(ideal(Seq(1, 4, 0), 2) === 3.0)
    assert(ideal(Nil, 2) === 0.0)
  }
}
