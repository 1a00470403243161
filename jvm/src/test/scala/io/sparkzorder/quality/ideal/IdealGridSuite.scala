// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality.ideal

import org.scalatest.funsuite.AnyFunSuite

class IdealGridSuite extends AnyFunSuite {

  private def near(a: Double, b: Double) = assert(math.abs(a - b) < 1e-9, s"$a, not $b")

  test("slabs that a range touches") {
    near(IdealGrid.slabsTouched(1, 0.3), 1)
    // one edge in the middle: a tenth of all rows crosses it in 0.1 / 0.9 of its positions
    near(IdealGrid.slabsTouched(2, 0.1), 1 + 0.1 / 0.9)
    // edges at a quarter, a half and three quarters of the rows; the range covers half of the rows
    near(IdealGrid.slabsTouched(4, 0.5), 1 + (0.25 + 0.5 + 0.25) / 0.5)
    near(IdealGrid.slabsTouched(4, 1e-12), 1)
    // a range of nearly all rows touches every slab
    near(IdealGrid.slabsTouched(4, 1 - 1e-12), 4)
    near(
      IdealGrid.slabsTouched(2.5, 0.1),
      (IdealGrid.slabsTouched(2, 0.1) + IdealGrid.slabsTouched(3, 0.1)) / 2)
  }

  test("the formula for ranges is what a fine grid of places counts") {
    for (slabs <- Seq(2, 3, 7, 10); width <- Seq(0.01, 0.1, 0.37, 0.8)) {
      val places = 20000
      val counted = (0 until places).map { i =>
        val from = (i + 0.5) / places * (1 - width)
        math.ceil((from + width) * slabs) - math.floor(from * slabs)
      }.sum / places
      assert(math.abs(counted - IdealGrid.slabsTouched(slabs, width)) < 1e-3)
    }
  }

  test("columns of very many values share the units evenly") {
    val grid = IdealGrid.continuous(64, 3)
    for (c <- 0 until 3) {
      near(grid.point(c), 16)
      near(grid.range(c, 0.1), 16 * IdealGrid.slabsTouched(4, 0.1))
    }
    near(grid.box(0, 1, 0.1), 4 * math.pow(IdealGrid.slabsTouched(4, 0.1), 2))
    near(IdealGrid.continuous(100, 2).point(0), 10)
  }

  test("a column takes no more slabs than it has values") {
    val grid = new IdealGrid(64, Seq(400000, 2))
    near(grid.point(0), 2)
    near(grid.point(1), 32)
    // of 5 bits, the column with two values gets one and the others get two each
    val three = new IdealGrid(32, Seq(1e6, 2, 1e6))
    near(three.point(1), 16)
    near(three.point(0), 8)
    near(three.point(2), 8)
    // fewer values than units: each value is a slab
    val few = new IdealGrid(64, Seq(3, 5))
    near(few.point(0), 64.0 / 3)
    near(few.point(1), 64.0 / 5)
  }

  test("one constant column costs every unit") {
    val grid = new IdealGrid(16, Seq(1, Double.PositiveInfinity))
    near(grid.point(0), 16)
    near(grid.point(1), 1)
  }
}
