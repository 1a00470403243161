// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.bits

import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.RandomInputs

class GuidedBoundsSuite extends AnyFunSuite with RandomInputs {

  private def check(bounds: Array[Long], probes: Seq[Long]): Unit = {
    val sorted = bounds.sorted
    val guided = new GuidedBounds(sorted)
    val near = sorted.toSeq.flatMap(b => Seq(b - 1, b, b + 1))
    for (v <- probes ++ near ++ Seq(Long.MinValue, -1L, 0L, 1L, Long.MaxValue)) {
      assert(guided.lowerBound(v) === sorted.count(_ < v), s"for $v in ${sorted.take(20).toSeq}")
    }
  }

  test("no bound, one bound, equal bounds") {
    check(Array.empty, Nil)
    check(Array(5L), Nil)
    check(Array(5L, 5L, 5L), Nil)
  }

  test("the whole range of a long does not overflow") {
    check(Array(Long.MinValue, Long.MaxValue), Nil)
    check(Array(Long.MinValue, 0L, Long.MaxValue), Nil)
    check(Array(Long.MinValue, Long.MinValue + 1, Long.MaxValue - 1, Long.MaxValue), Nil)
  }

  test("random bounds, even, clustered and skewed") {
    withRandom { random =>
      for (n <- Seq(1, 2, 3, 5, 17, 100, 257)) {
        check(Array.fill(n)(random.nextLong()), Seq.fill(50)(random.nextLong()))
        check(Array.fill(n)(random.nextInt(50).toLong), Nil)
        check(Array.fill(n)(1L << random.nextInt(64)), Nil)
        check(Long.MinValue +: Array.fill(n)(random.nextInt(1000).toLong), Nil)
      }
    }
  }

  test("prefixed bounds: the run of bounds that share a prefix") {
    val prefixed = new PrefixedBounds(Array(1L, 3L, 3L, 3L, 9L))
    assert(prefixed.runStart(3) === 1)
    assert(prefixed.runEnd(1, 3) === 4)
    assert(prefixed.runStart(4) === 4)
    assert(prefixed.runEnd(4, 4) === 4)
    assert(prefixed.runStart(10) === 5)
    assert(prefixed.runEnd(5, 10) === 5)
  }
}
