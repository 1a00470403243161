// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import scala.util.Random

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Catalyst values of every orderable atomic type that are hard to order: extremes, random bit
 * patterns, and the neighbours of both.
 */
object ValuesOfTypes {

  val types: Seq[DataType] = Seq(
    BooleanType,
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DateType,
    TimestampType,
    TimestampNTZType,
    DayTimeIntervalType(),
    YearMonthIntervalType(),
    DecimalType(1, 1),
    DecimalType(5, 2),
    DecimalType(18, 6),
    DecimalType(19, 0),
    DecimalType(20, 2),
    DecimalType(38, 18),
    DecimalType(38, 0),
    StringType,
    BinaryType) ++ TimeTypes.all

  def values(dataType: DataType, random: Random): Seq[Any] = dataType match {
    case BooleanType => Seq(false, true)
    case ByteType => (-128 to 127).map(_.toByte)
    case ShortType => longs(random, Short.MinValue, Short.MaxValue).map(_.toShort)
    case IntegerType | DateType | _: YearMonthIntervalType =>
      // days: 0001-01-01, the last Julian day and the day after it, 9999-12-31
      (longs(random, Int.MinValue, Int.MaxValue) ++ Seq(-719162L, -141428L, -141427L, 2932896L))
        .map(_.toInt)
    case FloatType => floats(random)
    case DoubleType => doubles(random)
    case d: DecimalType => decimals(d, random)
    case StringType => strings(random).map(UTF8String.fromString)
    case BinaryType => strings(random).map(_.getBytes("UTF-8")) ++ Seq.fill(20)(bytes(random))
    case t if TimeTypes.all.contains(t) =>
      longs(random, 0, 86399999999999L).map(n => n - n % 1000000000L).distinct
    // micros: microseconds apart, before 1582 and before 1970
    case _ => longs(random, Long.MinValue, Long.MaxValue) ++
        Seq(-12219292800000001L, -12219292800000000L, -1L, 999999L, 1000000L, 1000001L)
  }

  private def longs(random: Random, min: Long, max: Long): Seq[Long] = {
    val drawn = Seq.fill(30)(random.nextLong() >> random.nextInt(64)).map(v =>
      if (v < min || v > max) v % (max + 1) else v)
    val some =
      Seq(min, min + 1, -256L, -255L, -2L, -1L, 0L, 1L, 2L, 255L, 256L, max - 1, max).filter(v =>
        v >= min && v <= max)
    (some ++ drawn.flatMap(v => Seq(v - 1, v, v + 1).filter(n => n >= min && n <= max))).distinct
  }

  private def floats(random: Random): Seq[Float] = {
    val some = Seq(
      0f,
      -0f,
      1f,
      Float.MinPositiveValue,
      java.lang.Float.MIN_NORMAL,
      Float.MaxValue,
      0.1f,
      0.9f)
    val drawn = Seq.fill(30)(java.lang.Float.intBitsToFloat(random.nextInt()))
    val ends = Seq(
      Float.NaN,
      Float.PositiveInfinity,
      Float.NegativeInfinity,
      java.lang.Float.intBitsToFloat(0xffc00001))
    ends ++ (some ++ some.map(-_) ++ drawn).flatMap(v => Seq(Math.nextDown(v), v, Math.nextUp(v)))
  }

  private def doubles(random: Random): Seq[Double] = {
    val some = Seq(
      0d,
      -0d,
      1d,
      Double.MinPositiveValue,
      java.lang.Double.MIN_NORMAL,
      Double.MaxValue,
      0.1,
      0.9)
    val drawn = Seq.fill(30)(java.lang.Double.longBitsToDouble(random.nextLong()))
    val ends = Seq(
      Double.NaN,
      Double.PositiveInfinity,
      Double.NegativeInfinity,
      java.lang.Double.longBitsToDouble(0xfff8000000000001L))
    ends ++ (some ++ some.map(-_) ++ drawn).flatMap(v => Seq(Math.nextDown(v), v, Math.nextUp(v)))
  }

  private def decimals(d: DecimalType, random: Random): Seq[Decimal] = {
    val max = BigInt(10).pow(d.precision) - 1
    val drawn =
      Seq.fill(30)(BigInt(d.precision * 3, random) * (if (random.nextBoolean()) 1 else -1))
    // values at which the upper half of the 128 bits changes
    val steps = Seq(BigInt(1) << 63, BigInt(1) << 64, BigInt(1) << 65).flatMap(v => Seq(v, -v))
    (drawn ++ steps ++ Seq(BigInt(0), max, -max))
      .flatMap(v => Seq(v - 1, v, v + 1))
      .filter(v => v.abs <= max)
      .distinct
      .map(v => Decimal(BigDecimal(v, d.scale), d.precision, d.scale))
  }

  private def strings(random: Random): Seq[String] = {
    val some = Seq(
      "",
      "a",
      "b",
      "ab",
      "ba",
      "z",
      "Zürich",
      "zürich",
      "漢字",
      "\uD83D\uDE00",
      "12345678",
      "123456789",
      "common/prefix/1",
      "common/prefix/2",
      "common/prefix/20",
      "x" * 63,
      "x" * 64)
    some ++ Seq.fill(30)(random.alphanumeric.take(random.nextInt(20)).mkString)
  }

  private def bytes(random: Random): Array[Byte] = {
    val b = new Array[Byte](random.nextInt(12))
    random.nextBytes(b)
    b
  }
}
