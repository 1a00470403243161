// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.bits

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.RandomInputs

class BitInterleaverSuite extends AnyFunSuite with RandomInputs {

  /**
   * A literal implementation: columns are strings of '0' and '1', and the result takes one
   * character of each in turn.
   */
  private def oracle(columns: Seq[Array[Byte]]): Array[Byte] = {
    val bits = columns.map(_.map(b => (b & 0xff | 0x100).toBinaryString.tail).mkString)
    val deepest = (0 +: bits.map(_.length)).max
    val out = (0 until deepest).flatMap(k => bits.filter(_.length > k).map(_.charAt(k))).mkString
    out.grouped(8).map(Integer.parseInt(_, 2).toByte).toArray
  }

  private def interleaved(columns: Seq[Array[Byte]]): Array[Byte] = {
    val interleaver = new BitInterleaver(columns.length)
    columns.zipWithIndex.foreach { case (c, i) => interleaver.set(i, c) }
    interleaver.result()
  }

  private def hex(bytes: Array[Byte]): String = bytes.map(b => f"$b%02x").mkString

  private def bytes(random: Random, n: Int): Array[Byte] = {
    val b = new Array[Byte](n)
    random.nextBytes(b)
    b
  }

  test("two bytes by hand") {
    // 11010110 and 01100001, first column first
    assert(hex(interleaved(Seq(Array(214.toByte), Array(97.toByte)))) === "b629")
  }

  test("a column that has run out of bits contributes none") {
    assert(hex(interleaved(Seq(Array(-1), Array(0, 0, 0, 0)))) === "aaaa000000")
    assert(hex(interleaved(Seq(Array.empty[Byte], Array(1, 2)))) === "0102")
    assert(hex(interleaved(Seq(Array.empty[Byte]))) === "")
  }

  for (n <- Seq(1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 200)) {
    test(s"$n columns of random widths agree with the definition") {
      withRandom { random =>
        for (_ <- 1 to 20) {
          val columns = Seq.fill(n)(bytes(random, random.nextInt(20)))
          assert(hex(interleaved(columns)) === hex(oracle(columns)), columns.map(hex))
        }
      }
    }
  }

  test("a column given as longs is the same as its bytes, and an instance serves many rows") {
    withRandom { random =>
      val interleaver = new BitInterleaver(3)
      for (_ <- 1 to 200) {
        val widths = Seq.fill(3)(1 + random.nextInt(16))
        val columns = widths.map(bytes(random, _))
        columns.zipWithIndex.foreach { case (column, i) =>
          val long = java.nio.ByteBuffer.wrap(column.padTo(16, 0.toByte))
          interleaver.set(i, long.getLong, long.getLong, column.length)
        }
        assert(hex(interleaver.result()) === hex(oracle(columns)))
      }
    }
  }
}
