// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.DoubleType

import io.sparkzorder.skipping.values.Extent.Between

class PieceSuite extends AnyFunSuite {
  private val column = BoundReference(0, DoubleType, nullable = true)

  test("nothing is known of a function that makes a usual value of NaN, where NaN is an end") {
    val toNaN = Between(1.0, Double.NaN, isPoint = false)
    val functions = Seq[(Expression, Seq[Extent])](
      Floor(column) -> Seq(toNaN),
      Ceil(column) -> Seq(toNaN),
      NaNvl(column, Literal(5.0)) -> Seq(toNaN, Extent.point(5.0)))
    functions.foreach { case (f, extents) =>
      intercept[Exception](Ordered()(new Call(f), extents))
    }
    assert(Ordered()(new Call(Floor(column)), Seq(Between(1.0, 8.5, isPoint = false))) ===
      Between(1L, 8L, isPoint = false))
  }

  test("to the base 1, the logarithm of 1 is NaN among infinite ones: nothing is known of it") {
    assert(PiecesOfNumbers.of(Logarithm(Literal(1.0), column)).isEmpty)
    assert(PiecesOfNumbers.of(Logarithm(Literal(2.0), column)).isDefined)
  }
}
