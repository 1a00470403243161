package io.sparkzorder.layout

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.RandomInputs

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
        val values = Seq.fill(1 + random.nextInt(40)) {
          val v: Any = if (random.nextInt(8) == 0) null else random.nextInt(70)
          (v, 1.0 + random.nextInt(5))
        }
        val present = values.filter(_._1 != null)
        val slow = present.map { case (v, w) =>
          val x = v.asInstanceOf[Int]
          w * ranges.count(_.forall(r =>
            r.min.asInstanceOf[Int] <= x && x <= r.max.asInstanceOf[Int]))
        }.sum
        val expected = if (present.isEmpty) 0.0 else slow / present.map(_._2).sum
        assert(math.abs(
          PointQueries.meanFiles(IntegerType, ranges, values) - expected) < 1e-9)
      }
    }
  }

  test("strings compare as Spark compares them, doubles with NaN as the greatest") {
    def text(s: String) = UTF8String.fromString(s)
    val strings = Seq(
      Some(FileRange(text("a"), text("m"))),
      Some(FileRange(text("m"), text("é"))),
      None)
    def of(s: String) = PointQueries.meanFiles(StringType, strings, Seq((text(s), 1.0)))
    assert(Seq("a", "m", "z", "é", "日", "").map(of) === Seq(2.0, 3.0, 2.0, 2.0, 1.0, 1.0))
    val doubles = Seq(Some(FileRange(-0.0, 1.0)), Some(FileRange(0.5, Double.NaN)))
    def at(d: Double) = PointQueries.meanFiles(DoubleType, doubles, Seq((d, 1.0)))
    assert(Seq(0.0, 0.7, Double.PositiveInfinity, Double.NaN, -1.0).map(at) ===
      Seq(1.0, 2.0, 1.0, 1.0, 0.0))
  }

  test("the ideal") {
    assert(PointQueries.ideal(Seq(64), 2) === 8.0)
    assert(PointQueries.ideal(Seq(64), 1) === 1.0)
    assert(math.abs(PointQueries.ideal(Seq(64), 3) - 16.0) < 1e-9)
    assert(PointQueries.ideal(Seq(1, 4, 0), 2) === 3.0)
    assert(PointQueries.ideal(Nil, 2) === 0.0)
  }
}
