// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.RandomInputs

class ColumnRangeIdsSuite extends AnyFunSuite with RandomInputs {

  private def ids(
      values: Seq[Any],
      dataType: DataType = IntegerType,
      weights: Array[Double] = null,
      nullWeight: Double = 0,
      bits: Int = 8,
      maxBounds: Int = 100): ColumnRangeIds =
    RangeIds.fromSample(dataType, values.toArray, weights, nullWeight, bits, maxBounds)

  test("mid-ranks by hand: values, gaps and both ends") {
    val model = ids(Seq(10, 20, 20, 30))
    // below 10: 0 of 4; 10: 0.5 of 4; between: 1 of 4; 20: 2 of 4; between: 3 of 4; 30: 3.5 of 4
    assert(Seq(9, 10, 15, 20, 25, 30).map(model.idOf) === Seq(0, 32, 64, 128, 192, 224))
    assert(model.idOf(31) === 255)
    assert(model.idOf(null) === 0)
  }

  test("nulls of the sample lie below all values") {
    val model = ids(Seq(1, 2), nullWeight = 2)
    assert(Seq[Any](null, 0, 1, 2).map(model.idOf) === Seq(0, 128, 160, 224))
  }

  test("without a sample every id is 0") {
    val model = ids(Nil)
    assert(Seq[Any](null, Int.MinValue, 0, Int.MaxValue).map(model.idOf) === Seq(0, 0, 0, 0))
  }

  test("weights count as copies") {
    val copies = ids(Seq(1, 1, 1, 5, 9, 9))
    val weighted = ids(Seq(9, 1, 5), weights = Array(2, 3, 1))
    assert((0 to 10).map(copies.idOf) === (0 to 10).map(weighted.idOf))
    assert(ids(Seq(1, 2), weights = Array(0, 1)).bounds.length === 1)
  }

  test("Delta's packed ids: three values of a column still use the whole width") {
    val model = ids(Seq(1, 2, 3), bits = 10)
    assert(Seq(1, 2, 3).map(model.idOf) === Seq(170, 512, 853))
  }

  test("thinning keeps heavy values as bounds and gives gaps the mid-rank of their mass") {
    val values = (1 to 1000) ++ Seq.fill(1000)(400)
    val model = ids(values, bits = 16, maxBounds = 10)
    assert(model.bounds.length <= 10)
    val expected = (65536 * ((399 + 1001 / 2.0) / 2000)).toInt
    assert(model.idOf(400) === expected)
    assert(model.idOf(399) < expected && model.idOf(401) > expected)
    // every bound has a tenth of the weight, so no id is off by more than a tenth
    for (v <- 1 to 1000 if v != 400) {
      val rank = (v - 0.5 + (if (v > 400) 1000 else 0)) / 2000
      assert(math.abs(model.idOf(v) / 65536.0 - rank) < 0.1, v)
    }
  }

  test("never more bounds than asked for, in any distribution") {
    withRandom { random =>
      for (_ <- 1 to 100) {
        val n = 1 + random.nextInt(300)
        val weights = Array.fill(n)(math.pow(random.nextDouble(), 8) + 1e-9)
        val max = 1 + random.nextInt(20)
        val model = ids(0 until n, weights = weights, maxBounds = max)
        assert(model.bounds.length <= max)
        val seen = (-1 to n).map(model.idOf)
        assert(seen === seen.sorted)
        assert(seen.head >= 0 && seen.last <= 255)
      }
    }
  }

  test("strings that share their first eight bytes, and byte strings") {
    val texts = Seq("", "b", "common/prefix/1", "common/prefix/2", "common/prefix/20", "漢字")
    val strings = texts.map(UTF8String.fromString)
    val model = ids(strings, StringType)
    val found = strings.map(model.idOf)
    assert(found === found.sorted && found.distinct.size === texts.size)
    val between = model.idOf(UTF8String.fromString("common/prefix/15"))
    assert(between > found(2) && between < found(3))
    val binary = ids(strings.map(_.getBytes), BinaryType)
    assert(strings.map(s => binary.idOf(s.getBytes)) === found)
  }

  test("wide decimals, doubles and negative zero") {
    val decimals = Seq("-9e19", "-1", "0", "0.000000000000000001", "9e19").map(d =>
      Decimal(BigDecimal(d), 38, 18))
    val wide = ids(decimals, DecimalType(38, 18))
    assert(decimals.map(wide.idOf).sorted.distinct === decimals.map(wide.idOf))
    val doubles = ids(Seq(-1.5d, -0.0d, 0.0d, Double.NaN), DoubleType)
    assert(doubles.idOf(0.0d) === doubles.idOf(-0.0d))
    assert(doubles.bounds.length === 3)
  }

  test("survives serialisation") {
    val model = ids(Seq(3, 1, 2))
    val bytes = new java.io.ByteArrayOutputStream
    new java.io.ObjectOutputStream(bytes).writeObject(model)
    val in = new java.io.ObjectInputStream(new java.io.ByteArrayInputStream(bytes.toByteArray))
    val copy = in.readObject().asInstanceOf[ColumnRangeIds]
    assert((0 to 4).map(copy.idOf) === (0 to 4).map(model.idOf))
  }
}
