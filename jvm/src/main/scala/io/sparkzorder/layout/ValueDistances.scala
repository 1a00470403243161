package io.sparkzorder.layout

import java.math.BigInteger

import org.apache.spark.sql.types.{DataType, Decimal, DoubleType, FloatType}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.expressions._

/**
 * How far the values of a column lie apart, so that rows can be taken to be spread evenly between two
 * of them. The unit does not matter.
 *
 * @param point room that one value takes: 1 for whole numbers, dates, timestamps and decimals, 0 for
 *   types whose values lie as dense as one likes
 */
private[layout] sealed abstract class ValueDistances(val point: Double, number: Int) {

  /** Room of all values, from the least to the greatest. */
  final def total: Double = if (number == 0) 0.0 else room(0, number - 1)

  /** Distance of the values of two ranks, `i` not above `j`. */
  def between(i: Int, j: Int): Double

  /** Room between two neighbouring values, themselves left out. */
  final def gap(i: Int): Double = math.max(0.0, between(i, i + 1) - point)

  /** Room of the values of ranks `i` to `j`, both included. */
  final def room(i: Int, j: Int): Double = between(i, j) + point
}

private[layout] object ValueDistances {

  // With fewer values than this share of the ends that were seen, ends are values that come again and
  // again: then the values are those seen, and none lies between them.
  private val FewOfEnds = 0.25
  private val EndsToJudge = 16

  /**
   * @param values distinct, ascending
   * @param ends number of ends of ranges that they are
   */
  def of(dataType: DataType, values: IndexedSeq[Any], ends: Int): ValueDistances =
    if (isFew(values.length, ends)) new Ranks(values.length)
    else OrderedType.require(dataType) match {
      case FixedOrder(FloatType | DoubleType, _) =>
        new Doubles(values.map(v => finite(v.asInstanceOf[Number].doubleValue)).toArray, 0.0)
      case f: FixedOrder => new Longs(values.map(f.toLong).toArray)
      case w: WideDecimalOrder =>
        new Doubles(values.map(v => w.unscaled(v.asInstanceOf[Decimal]).doubleValue).toArray, 1.0)
      case StringOrder => new Doubles(fractions(values.map(_.asInstanceOf[UTF8String].getBytes)), 0.0)
      case BinaryOrder => new Doubles(fractions(values.map(_.asInstanceOf[Array[Byte]])), 0.0)
    }

  private def isFew(values: Int, ends: Int): Boolean =
    ends >= EndsToJudge && values <= FewOfEnds * ends

  /** Values that are alone on the axis: each takes the same room, and there is none between them. */
  private final class Ranks(count: Int) extends ValueDistances(1.0, count) {
    override def between(i: Int, j: Int): Double = (j - i).toDouble
  }

  private final class Longs(values: Array[Long]) extends ValueDistances(1.0, values.length) {
    override def between(i: Int, j: Int): Double = {
      val d = values(j) - values(i)
      // below zero where the difference does not fit
      if (d >= 0) d.toDouble else values(j).toDouble - values(i).toDouble
    }
  }

  private final class Doubles(values: Array[Double], width: Double)
      extends ValueDistances(width, values.length) {
    override def between(i: Int, j: Int): Double = values(j) - values(i)
  }

  // the difference of two values must be a number, and NaN is the greatest
  private def finite(d: Double): Double = {
    val limit = Double.MaxValue / 4
    if (d.isNaN) 1.5 * limit else math.max(-limit, math.min(limit, d))
  }

  /** The bytes behind the prefix that all share, as digits of a number below 1. */
  private def fractions(values: IndexedSeq[Array[Byte]]): Array[Double] =
    if (values.isEmpty) Array.emptyDoubleArray
    else {
      // in order, so what the first and the last share all share
      val shared = values.head.zip(values.last).takeWhile { case (a, b) => a == b }.length
      val digits = 8
      values.map { bytes =>
        val tail = java.util.Arrays.copyOf(bytes.slice(shared, shared + digits), digits)
        new BigInteger(1, tail).doubleValue / math.pow(256.0, digits.toDouble)
      }.toArray
    }
}
