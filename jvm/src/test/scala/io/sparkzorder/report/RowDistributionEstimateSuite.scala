// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.report

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.RandomInputs
import io.sparkzorder.table.stats.{ColumnRange, FileRange, FileSpan}

/** Where rows are taken to lie, and how deep files lie upon each other, by ranges alone. */
class RowDistributionEstimateSuite extends AnyFunSuite with RandomInputs {

  private type Range = (Any, Any)

  private def spanOf(t: DataType, ranges: Seq[Range]): FileSpan =
    FileSpan.ofRanges(t, ranges.map { case (a, b) => FileRange(a, b) }.toIndexedSeq)

  /** Mean number of the units that hold a value, each unit with as many rows. */
  private def mean(t: DataType, ranges: Seq[Range]): Double = {
    val span = spanOf(t, ranges)
    val spread = RowDistributionEstimate.of(
      span.ranks,
      ValueSpacing.of(t, span.values, 2 * ranges.size),
      ranges.indices.map(i => RowDistributionEstimate.UnitRows(span.low(i), span.high(i), 1000.0)))
    ranges.indices.map(i => spread.share(span.low(i), span.high(i))).sum
  }

  private def near(actual: Double, expected: Double, share: Double = 0.02) =
    assert(math.abs(actual - expected) <= share * expected, s"$actual is not about $expected")

  test("units from minus to plus infinity all hold a value") {
    val all = (Double.NegativeInfinity, Double.PositiveInfinity)
    near(mean(DoubleType, Seq.fill(64)(all)), 64.0)
    near(
      mean(DoubleType, Seq.fill(32)(all) ++ Seq.fill(32)((0.0, Double.PositiveInfinity))),
      48.0,
      0.4)
  }

  test("units of the same rows in no order: all hold a value, wherever their ends lie") {
    withRandom { random =>
      for (spread <- Seq(1e-2, 1e-4)) {
        val doubles = Seq.fill(64)((random.nextDouble() * spread, 1 - random.nextDouble() * spread))
        near(mean(DoubleType, doubles), 64.0)
        val longs = doubles.map { case (a, b) => ((a * 1e12).toLong, (b * 1e12).toLong) }
        near(mean(LongType, longs), 64.0)
        val texts = doubles.map { case (a, b) =>
          val digits = (d: Double) => UTF8String.fromString(f"customer#${(d * 1e9).toLong}%09d")
          (digits(a), digits(b))
        }
        near(mean(StringType, texts), 64.0, 0.1)
      }
    }
  }

  test("a range so small that the rows of a width overflow: no NaN") {
    for (least <- Seq(1e-305, Double.MinPositiveValue)) {
      val ranges = (0.0 -> least) +: (1 until 8).map(i => i.toDouble -> (i + 1).toDouble)
      assert(mean(DoubleType, ranges.map { case (low, high) => (low, high): Range }) < 3, least)
    }
  }

  test("units that follow the column: one holds a value") {
    near(mean(IntegerType, (0 until 50).map(i => (i * 10, i * 10 + 9))), 1.0)
    near(mean(DoubleType, (0 until 50).map(i => (i.toDouble, i + 0.99))), 1.0)
    // late rows: 0.1 of 1.1 lie in the unit before, and as many in the next
    val late = 1 + 2 * 49 * 0.1 / (50 * 1.1)
    near(mean(DoubleType, (0 until 50).map(i => (i.toDouble, i + 1.1))), late)
    near(mean(LongType, (0L until 50L).map(i => (i * 1000000, (i + 1) * 1000000 + 100000))), late)
  }

  test("slabs of eight units each") {
    val slabs = for (i <- 0 until 8; j <- 0 until 8)
      yield (i * 1000 + j: Any, i * 1000 + 990 + j % 3: Any)
    near(mean(IntegerType, slabs), 8.0)
  }

  test("a stray value does not draw the rows of its unit away from the others") {
    val others = (0L until 63L).map(i => (i, 10000L - i): Range)
    assert(mean(LongType, others :+ ((0L, 1000000000000L))) > 62.0)
    assert(mean(LongType, (Long.MinValue, 9999L) +: others) > 62.0)
    val doubles = (0 until 63).map(i => (i / 10000.0, 1 - i / 10000.0): Range)
    assert(mean(DoubleType, doubles :+ ((0.0, Double.PositiveInfinity))) > 62.0)
    assert(mean(DoubleType, doubles :+ ((0.0, Double.NaN))) > 62.0)
  }

  test("few values that come again and again: rows lie on them too") {
    val (a, n, r) =
      (UTF8String.fromString("A"), UTF8String.fromString("N"), UTF8String.fromString("R"))
    // each value lies in 20 units
    val pairs = Seq.fill(10)(Seq((a, n), (n, r), (a, a), (r, r))).flatten
    near(mean(StringType, pairs), 20.0, 0.1)
    // codes with nothing between them: the inner ones lie in two units
    val codes = for (_ <- 0 until 10; i <- 1 until 9) yield (i * 100: Any, (i + 1) * 100: Any)
    assert(mean(IntegerType, codes) > 15.0 && mean(IntegerType, codes) < 20.0)
    // whole numbers in no order: ends crowd at both sides, and the others lie between
    near(mean(IntegerType, Seq.tabulate(64)(i => (i % 3, 999 - i % 2))), 64.0)
  }

  test("constants, whole numbers beside each other, and nothing at all") {
    near(mean(DoubleType, Seq((5.0, 5.0), (5.0, 5.0), (7.0, 7.0))), (2 * 2 + 1) / 3.0)
    // of values 1 to 4 the middle ones have two thirds of the rows, and lie in two units
    near(mean(IntegerType, Seq((1, 2), (2, 3), (3, 4))), 5.0 / 3)
    assert(mean(IntegerType, Nil) === 0.0)
    for (t <- Seq(DateType, TimestampType)) assert(mean(t, Nil) === 0.0)
  }

  test("every orderable type has distances that grow with the values") {
    val decimal = DecimalType(38, 4)
    val values: Seq[(DataType, Seq[Any])] = Seq(
      BooleanType -> Seq(false, true),
      ByteType -> Seq(-5.toByte, 0.toByte, 7.toByte),
      ShortType -> Seq(-500.toShort, 7.toShort),
      LongType -> Seq(Long.MinValue, -1L, 0L, Long.MaxValue),
      FloatType -> Seq(Float.NegativeInfinity, -1f, 0f, Float.NaN),
      DoubleType -> Seq(Double.NegativeInfinity, 0.0, Double.MaxValue, Double.NaN),
      DecimalType(7, 2) -> Seq(
        Decimal(BigDecimal("-1.50"), 7, 2),
        Decimal(BigDecimal("2.25"), 7, 2)),
      decimal -> Seq(-1, 5, 6).map(n => Decimal(BigDecimal(n), 38, 4)),
      BinaryType -> Seq(Array[Byte](1), Array[Byte](1, 2), Array[Byte](-1)),
      StringType -> Seq("", "a", "ab", "é").map(UTF8String.fromString))
    for ((t, vs) <- values) {
      val d = ValueSpacing.of(t, vs.toIndexedSeq, 0)
      for (i <- vs.indices; j <- i + 1 until vs.size) {
        val far = d.between(i, j)
        assert(far > 0 && !far.isInfinite, s"$t: ${vs(i)} to ${vs(j)}")
        assert(d.gap(i) >= 0)
        assert(far >= d.between(i, j - 1) && far >= d.between(i + 1, j))
      }
    }
  }

  test("sums over ranges, and the greatest of ranges, as slow loops have them") {
    withRandom { random =>
      for (_ <- 0 until 300) {
        val n = 1 + random.nextInt(40)
        val sums = new RangeSums(n)
        val slow = new Array[Double](n)
        for (_ <- 0 until random.nextInt(20)) {
          val (a, b) = (random.nextInt(n), random.nextInt(n))
          sums.add(math.min(a, b), math.max(a, b), 3.0)
          (math.min(a, b) to math.max(a, b)).foreach(i => slow(i) += 3.0)
        }
        assert(sums.values.toSeq === slow.toSeq)
        val numbers = Array.fill(n)(random.nextInt(100))
        val greatest = new RangeMaximum(numbers)
        for (i <- 0 until n; j <- i until n) {
          assert(greatest.of(i, j) === numbers.slice(i, j + 1).max)
        }
      }
    }
  }

  test("the depth of files as a slow count has it") {
    withRandom { random =>
      for (_ <- 0 until 300) {
        val folders = Seq.fill(1 + random.nextInt(3))(IndexedSeq.fill(random.nextInt(20)) {
          random.nextInt(10) match {
            case 0 => ColumnRange.Empty
            case 1 => ColumnRange.Unknown
            case _ =>
              val low = random.nextInt(30)
              FileRange(low, low + random.nextInt(8))
          }
        })
        def holds(r: ColumnRange, v: Int) = r != ColumnRange.Empty &&
          r.bounds.forall(x => x.min.asInstanceOf[Int] <= v && v <= x.max.asInstanceOf[Int])
        val depths = folders.flatMap { files =>
          // where no file says anything, all hold some value
          val points = (-1 to 40).filter(v => files.flatMap(_.bounds).isEmpty || v >= 0)
          files.map(f => (0 +: points.filter(holds(f, _)).map(v => files.count(holds(_, v)))).max)
        }
        val found = OverlapDepth.of(folders.map(FileSpan.ofRanges(IntegerType, _)))
        val held = depths.filter(_ > 0)
        assert(found.max === (0 +: held).max)
        val mean = if (held.isEmpty) 0.0 else held.sum.toDouble / held.size
        assert(math.abs(found.mean - mean) < 1e-9)
        val buckets = depths.groupBy { d =>
          Seq(0L, 1L, 2L, 4L, 8L, 16L, 32L, 64L).find(_ >= d).get
        }.map { case (b, ds) => b -> ds.size.toLong }
        assert(found.histogram === buckets)
      }
    }
  }
}
