// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.report

import java.math.BigInteger

import org.apache.spark.sql.types.{DataType, Decimal, DoubleType, FloatType}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.ordering.{BinaryOrder, FixedOrder, OrderedType, StringOrder, WideDecimalOrder}

/**
 * Distances between the values of a column, in any unit. With these distances, an estimate can spread rows
 * evenly between two values.
 *
 * @param axis the positions of the values
 * @param extra the additional room of each value, for a column whose few values have many rows each
 */
private[sparkzorder] final class ValueSpacing private (
    axis: ValueAxis,
    size: Int,
    extra: Double) {

  /** The room of one value. */
  def point: Double = axis.step + extra

  /** The distance between the values of two ranks, `i` not above `j`. */
  def between(i: Int, j: Int): Double = axis.between(i, j)

  /** The room between the value of rank `i` and the next value, without the room of these two values. */
  def gap(i: Int): Double = math.max(0.0, between(i, i + 1) - axis.step)

  /** The room of the values of ranks `i` to `j`, both included. */
  def room(i: Int, j: Int): Double = between(i, j) + axis.step + extra * (j - i + 1)

  /** The room of all values, from the least to the greatest. */
  def total: Double = if (size == 0) 0.0 else room(0, size - 1)
}

private[sparkzorder] object ValueSpacing {

  // If the number of distinct values is at most this share of the number of ends of ranges, the column has
  // few values, and many ranges end at the same value. Each value then gets as much room as the median gap
  // between two values.
  private val FewOfEnds = 0.25
  private val EndsToJudge = 16

  /**
   * @param values distinct, ascending
   * @param ends number of ends of ranges from which the values were taken
   */
  def of(dataType: DataType, values: IndexedSeq[Any], ends: Int): ValueSpacing = {
    val axis = ValueAxis.of(dataType, values)
    val few = ends >= EndsToJudge && values.length <= FewOfEnds * ends && values.length > 1
    val gaps = if (few) values.indices.init.map(i => axis.between(i, i + 1)).sorted else Nil
    val usual = if (few) gaps(gaps.length / 2) else 0.0
    new ValueSpacing(axis, values.length, math.max(0.0, usual - axis.step))
  }
}

/**
 * The positions of the values of a column.
 *
 * @param step the least distance of two values: 1 for whole numbers, dates, timestamps and decimals, 0 for
 *   types whose values can lie arbitrarily close together
 */
private[sparkzorder] sealed abstract class ValueAxis(val step: Double) {

  /** The distance between the values of two ranks, `i` not above `j`. */
  def between(i: Int, j: Int): Double
}

private[sparkzorder] object ValueAxis {

  /** @param values distinct, ascending */
  def of(dataType: DataType, values: IndexedSeq[Any]): ValueAxis =
    OrderedType.require(dataType) match {
      case FixedOrder(FloatType | DoubleType, _) =>
        new Doubles(values.map(v => finite(v.asInstanceOf[Number].doubleValue)).toArray, 0.0)
      case f: FixedOrder => new Longs(values.map(f.toLong).toArray)
      case w: WideDecimalOrder =>
        new Doubles(values.map(v => w.unscaled(v.asInstanceOf[Decimal]).doubleValue).toArray, 1.0)
      case StringOrder =>
        new Doubles(fractions(values.map(_.asInstanceOf[UTF8String].getBytes)), 0.0)
      case BinaryOrder => new Doubles(fractions(values.map(_.asInstanceOf[Array[Byte]])), 0.0)
    }

  private final class Longs(values: Array[Long]) extends ValueAxis(1.0) {
    override def between(i: Int, j: Int): Double = {
      val d = values(j) - values(i)
      // the difference is negative if it overflows
      if (d >= 0) d.toDouble else values(j).toDouble - values(i).toDouble
    }
  }

  private final class Doubles(values: Array[Double], least: Double) extends ValueAxis(least) {
    override def between(i: Int, j: Int): Double = values(j) - values(i)
  }

  // the difference of two values must be finite, and NaN must stay the greatest value
  private def finite(d: Double): Double = {
    // small enough, so that the sum of a few distances stays finite
    val limit = Double.MaxValue / 1e12
    if (d.isNaN) 1.5 * limit else math.max(-limit, math.min(limit, d))
  }

  /** The bytes after the common prefix of all values, as the digits of a fraction below 1 in base 256. */
  private def fractions(values: IndexedSeq[Array[Byte]]): Array[Double] =
    if (values.isEmpty) Array.emptyDoubleArray
    else {
      // the values are sorted, so all have the prefix that the first and the last have in common
      val shared = values.head.zip(values.last).takeWhile { case (a, b) => a == b }.length
      val digits = 8
      values.map { bytes =>
        val tail = java.util.Arrays.copyOf(bytes.slice(shared, shared + digits), digits)
        new BigInteger(1, tail).doubleValue / math.pow(256.0, digits.toDouble)
      }.toArray
    }
}
