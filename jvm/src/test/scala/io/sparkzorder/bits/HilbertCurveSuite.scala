// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.bits

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.sparkzorder.RandomInputs

class HilbertCurveSuite extends AnyFunSuite with RandomInputs {

  /** The coordinates of `levels` bits each in a Z-value of `n` columns. */
  private def point(z: Long, n: Int, levels: Int): Seq[Int] =
    Seq.tabulate(n) { c =>
      (levels - 1 to 0 by -1).foldLeft(0)((x, k) =>
        (x << 1) | ((z >>> (n * k + n - 1 - c)) & 1).toInt)
    }

  private def distance(a: Seq[Int], b: Seq[Int]): Int =
    a.zip(b).map { case (x, y) => math.abs(x - y) }.sum

  /**
   * Checks that `indexOf` numbers the 2^(n * levels) cells along a curve whose steps have length 1.
   */
  private def assertCurve(n: Int, levels: Int, indexOf: Long => Long): Unit = {
    val cells = 1 << (n * levels)
    val walked = Array.fill(cells)(-1)
    for (z <- 0 until cells) {
      val at = indexOf(z.toLong)
      assert(at >= 0 && at < cells && walked(at.toInt) === -1, s"index $at of cell $z")
      walked(at.toInt) = z
    }
    for (i <- 1 until cells) {
      val step = distance(point(walked(i - 1), n, levels), point(walked(i), n, levels))
      assert(step === 1, s"from index ${i - 1} to $i")
    }
  }

  for (n <- 1 to HilbertCurve.MaxColumns) {
    val bits = ZValues.bitsPerColumn(n)
    val curve = HilbertCurve.of(n)
    val last = (1L << (n * bits)) - 1

    test(
      s"$n columns: unit steps through all coarse cells, whatever is below them",
      (if (n < 7) Nil else Seq(Slow)): _*) {
      withRandom { random =>
        // at least two levels: 2^12 to 2^18 cells
        for (levels <- 1 to math.max(2, 12 / n)) {
          val below = n * (bits - levels)
          assertCurve(
            n,
            levels,
            z => curve.index((z << below) | (random.nextLong() & ((1L << below) - 1))) >>> below)
        }
      }
    }

    test(s"$n columns: unit steps through all points of a cell") {
      withRandom { random =>
        val levels = math.max(1, 12 / n)
        for (_ <- 1 to 5) {
          val cell = (random.nextLong() & last) >>> (n * levels) << (n * levels)
          val first = curve.index(cell) >>> (n * levels) << (n * levels)
          assertCurve(n, levels, z => curve.index(cell | z) - first)
        }
      }
    }

    test(s"$n columns: the curve of Butz at full width") {
      withRandom { random =>
        val indices = Seq(0L, 1L, last / 2, last / 2 + 1, last - 1, last) ++
          Seq.fill(2000)(random.nextLong() & last)
        for (i <- indices) {
          val p = PublishedCurves.butz(i, n, bits)
          assert(curve.index(ZValues.interleave(p)) === i)
          if (i < last) assert(distance(p.toSeq, PublishedCurves.butz(i + 1, n, bits).toSeq) === 1)
        }
      }
    }

    test(s"$n columns: from all zeros, and all ones stay in the grid") {
      assert(curve.index(0L) === 0L)
      assert(curve.index(last) >= 0L && curve.index(last) <= last)
      // the curve ends on an axis: one coordinate has its maximum, the others are 0
      val end = point(ZValues.interleave(PublishedCurves.butz(last, n, bits)), n, bits)
      assert(end.sorted === Seq.fill(n - 1)(0) :+ ((1 << bits) - 1))
    }
  }

  test("one column is itself") {
    withRandom { random =>
      for (id <- Seq(0, 65535) ++ Seq.fill(100)(random.nextInt(65536))) {
        assert(HilbertCurve.of(1).index(id.toLong) === id.toLong)
      }
    }
  }

  test("two columns are Skilling's curve") {
    withRandom { random =>
      for (_ <- 1 to 2000) {
        val p = Array.fill(2)(random.nextInt(1 << 16))
        assert(HilbertCurve.of(2).index(ZValues.interleave(p)) === PublishedCurves.skilling(p, 16))
      }
    }
  }

  test("two columns by hand: the four quadrants") {
    val corners = Seq(Array(0, 0), Array(0, 65535), Array(65535, 65535), Array(65535, 0))
    val quadrants = corners.map(p => HilbertCurve.of(2).index(ZValues.interleave(p)) >>> 30)
    assert(quadrants === Seq(0, 1, 2, 3))
  }

  test("one instance for each number of columns, also after serialisation") {
    for (n <- 1 to HilbertCurve.MaxColumns) {
      val bytes = new ByteArrayOutputStream()
      val out = new ObjectOutputStream(bytes)
      out.writeObject(HilbertCurve.of(n))
      out.close()
      assert(bytes.size < 400, "the table stays here")
      val in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray))
      assert(in.readObject() eq HilbertCurve.of(n))
    }
  }

  test("1 to 9 columns") {
    for (n <- Seq(-1, 0, 10)) {
      val e = intercept[IllegalArgumentException](HilbertCurve.of(n))
      assert(e.getMessage.contains("1 to 9") && e.getMessage.contains(n.toString))
    }
  }
}
