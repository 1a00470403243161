// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import org.apache.spark.SparkFunSuite
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{ByteArray, UTF8String}

import io.sparkzorder.ordering.{RangeIds, ValuesOfTypes}

/** Orders that other implementations of Z-order got wrong, one test for each. */
class PeersWrongOrdersSuite extends SparkFunSuite {

  private def ascending(dataType: DataType, values: Any*): Unit = {
    val bits = values.map(OrderedBits.of(dataType, _))
    bits.sliding(2).zip(values.sliding(2)).foreach { case (Seq(a, b), pair) =>
      assert(ByteArray.compareBinary(a, b) < 0, s"${dataType.sql}: ${pair.mkString(" < ")}")
    }
    val ids = RangeIds.fromSample(dataType, values.reverse.toArray, null, 0, 16, 4096)
    val found = values.map(ids.idOf)
    assert(found === found.sorted && found.distinct.size === values.size, dataType.sql)
  }

  private def text(values: String*): Seq[UTF8String] = values.map(UTF8String.fromString)

  private def decimal(d: DecimalType)(values: String*): Seq[Decimal] =
    values.map(v => Decimal(BigDecimal(v), d.precision, d.scale))

  test("Kyuubi, Paimon #9627: negative floats and doubles backwards") {
    ascending(FloatType, -2f, -1f, 1f, 2f)
    ascending(DoubleType, -2d, -1d, 1d, 2d)
  }

  test("Iceberg #17070, Paimon #9627: a float's neighbour before it") {
    ascending(FloatType, Math.nextDown(1f), 1f, Math.nextUp(1f))
    ascending(DoubleType, 0.25d, Math.nextUp(0.25d), 0.5d, 1d, Math.nextUp(1d))
  }

  test("Hudi: 0.0 and NaN below all negatives; Impala: -0.0 below -Infinity") {
    ascending(
      DoubleType,
      Double.NegativeInfinity,
      -1d,
      -Double.MinPositiveValue,
      0d,
      Double.MinPositiveValue,
      Double.PositiveInfinity,
      Double.NaN)
    assert(OrderedBits.of(DoubleType, -0d) === OrderedBits.of(DoubleType, 0d))
    ascending(FloatType, Float.NegativeInfinity, -0f, Float.PositiveInfinity, Float.NaN)
  }

  test("Kyuubi #1218, Hudi: negative integers after positive ones") {
    ascending(ByteType, Byte.MinValue, -1.toByte, 0.toByte, 1.toByte, Byte.MaxValue)
    ascending(ShortType, Short.MinValue, -1.toShort, 0.toShort, 1.toShort, Short.MaxValue)
    ascending(IntegerType, Int.MinValue, -1, 0, 1, Int.MaxValue)
    ascending(LongType, Long.MinValue, -1L, 0L, 1L, 1L << 32, Long.MaxValue)
  }

  test("Kyuubi, Hudi: decimals lose their fraction or overflow; Paimon #9625: -1.00 above 1.00") {
    val tenth = DecimalType(1, 1)
    ascending(tenth, decimal(tenth)("-0.9", "-0.1", "0.0", "0.1", "0.9"): _*)
    val small = DecimalType(5, 2)
    ascending(small, decimal(small)("-1.00", "0.00", "1.00", "1.01", "100.00"): _*)
    val wide = DecimalType(38, 18)
    ascending(
      wide,
      decimal(wide)("-1e19", "-0.000000000000000001", "0", "0.1", "9.3e18", "1.9e19"): _*)
  }

  test("Paimon #9514, Kyuubi #1307: TRUE and FALSE equal") {
    ascending(BooleanType, false, true)
  }

  test("Hudi, Kyuubi: strings padded on the left") {
    ascending(StringType, text("", "a", "ab", "b", "ba", "zürich", "漢字"): _*)
  }

  test("delta-rs #2844: one string column of 15 characters or more comes out unsorted") {
    val values = text((10 to 60).map(i => s"a common prefix of 20/$i"): _*)
    val ids = RangeIds.fromSample(StringType, values.reverse.toArray, null, 0, 16, 4096)
    assert(values.map(ids.idOf).sliding(2).forall(p => p.head < p.last))
  }

  test("Iceberg: timestamps in one second equal; Delta: dates and times before 1582") {
    ascending(TimestampType, -12219292800000001L, -1L, 0L, 1L, 999999L, 1000000L)
    ascending(TimestampNTZType, -1L, 0L, 1L)
    ascending(DateType, -719162, -141428, -141427, -1, 0, 2932896)
  }

  test("Iceberg #10022, Hudi #4404: null in every type") {
    for (t <- ValuesOfTypes.types) {
      assert(OrderedBits.of(t, null).forall(_ == 0), t)
      assert(RangeIds.fromSample(t, Array.empty[Any], null, 3, 16, 10).idOf(null) === 0)
    }
  }

  test("Delta, Kyuubi, Iceberg: a narrow column gets no share of the curve") {
    val few = RangeIds.fromSample(IntegerType, Array[Any](1, 2, 3), null, 0, 16, 4096)
    assert(Seq(1, 2, 3).map(v => few.idOf(v) >> 14) === Seq(0, 2, 3))
  }
}
