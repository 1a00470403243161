// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.bits

import java.math.BigInteger

import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.RandomInputs

class ZValuesSuite extends AnyFunSuite with RandomInputs {

  /** Interleaves bit by bit into a big integer, starting with the first column's highest bit. */
  private def oracle(ids: Seq[Int]): Long = {
    val bits = math.min(16, 63 / ids.length)
    val z = for (k <- bits - 1 to 0 by -1; id <- ids) yield (id >> k) & 1
    z.foldLeft(BigInteger.ZERO)((n, bit) => n.shiftLeft(1).or(BigInteger.valueOf(bit.toLong)))
      .longValueExact
  }

  test("the bits of a column") {
    assert(Seq(1, 2, 3, 4, 8, 9, 31, 32, 63).map(ZValues.bitsPerColumn) ===
      Seq(16, 16, 16, 15, 7, 7, 2, 1, 1))
    intercept[IllegalArgumentException](ZValues.bitsPerColumn(0))
    intercept[IllegalArgumentException](ZValues.bitsPerColumn(64))
  }

  test("one column is itself, two by hand") {
    assert(ZValues.interleave(Array(12345)) === 12345L)
    assert(ZValues.interleave(Array(1, 0)) === 2L)
    assert(ZValues.interleave(Array(3, 1)) === 11L)
  }

  for (n <- Seq(1, 2, 3, 8, 9, 31, 32, 63)) {
    test(s"$n columns agree with the definition and are never negative") {
      withRandom { random =>
        val top = (1 << ZValues.bitsPerColumn(n)) - 1
        for (_ <- 1 to 100) {
          val ids = Seq.fill(n)(random.nextInt(top + 1))
          assert(ZValues.interleave(ids.toArray) === oracle(ids))
        }
        assert(ZValues.interleave(Array.fill(n)(top)) === oracle(Seq.fill(n)(top)))
        assert(ZValues.interleave(Array.fill(n)(top)) >= 0)
      }
    }
  }
}
