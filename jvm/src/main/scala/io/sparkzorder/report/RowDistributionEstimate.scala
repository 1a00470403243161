// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.report

import java.math.BigInteger

import org.apache.spark.sql.types.{DataType, Decimal, DoubleType, FloatType}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.ordering.{BinaryOrder, FixedOrder, OrderedType, StringOrder, WideDecimalOrder}

/**
 * Estimates how the rows of a table are spread over the values of a column. The estimate uses only
 * the ranges of units (pages, row groups or files) and reads no row.
 *
 * The first guess spreads the rows of each unit evenly over the unit's range, and adds up all units. By this sum, the
 * table may have very uneven numbers of rows within the range of a unit. Then the rows of that unit are spread again:
 * in proportion to the sum. An example is a unit whose range one stray value has widened: its rows then count where
 * the table has most rows. (This is one step of the self-consistency algorithm of Turnbull, 1976, for observations that
 * are known to lie in intervals. The step is not applied to all units: it would count rows twice where neighbouring
 * units overlap a little.)
 *
 * The range of the column is cut into pieces. Pieces 0, 2, 4, ... are the values of the ranks.
 * Pieces 1, 3, ... are the gaps between neighbouring values.
 *
 * @param below for each piece, the number of rows in the pieces before it; the last element is the
 *   number of all rows
 */
private[sparkzorder] final class RowDistributionEstimate private (below: Array[Double]) {

  /** Share of the rows whose value lies between two ranks, both included. */
  def share(low: Int, high: Int): Double =
    if (below.last <= 0) 0.0 else (below(2 * high + 1) - below(2 * low)) / below.last
}

private[sparkzorder] object RowDistributionEstimate {

  /** The rows of one unit: `count` rows whose values lie between two ranks, both included. */
  final case class UnitRows(low: Int, high: Int, count: Double)

  // The rows of a unit are spread again if a ratio is above `Uneven`. The ratio compares two means of the
  // density of the table's rows over the range of the unit: the mean weighted by rows, divided by the mean
  // weighted by length. The ratio is 1 if the rows lie evenly, and below 2 if only neighbouring units overlap.
  private val Uneven = 4.0

  /**
   * @param ranks the number of distinct values
   * @param values the distances between these values
   */
  def of(ranks: Int, values: ValueSpacing, units: Seq[UnitRows]): RowDistributionEstimate = {
    val pieces = 2 * ranks - 1
    val width = Array.tabulate(pieces)(i => if (i % 2 == 0) values.point else values.gap(i / 2))
    val even = evenly(width, values, units)
    val below = even.scanLeft(0.0)(_ + _)
    val squares =
      even.zip(width).map { case (r, w) =>
        val square = r * (r / w)
        if (square < Double.MaxValue) square else 0.0
      }.scanLeft(0.0)(_ + _)
    val (uneven, others) = units.partition { u =>
      def sum(sums: Array[Double]) = sums(2 * u.high + 1) - sums(2 * u.low)
      sum(squares) * values.room(u.low, u.high) > Uneven * sum(below) * sum(below)
    }
    val factors = new RangeSums(pieces)
    uneven.foreach { u =>
      val there = below(2 * u.high + 1) - below(2 * u.low)
      factors.add(2 * u.low, 2 * u.high, u.count / there)
    }
    val again = factors.values.zip(even).map { case (factor, rows) => factor * rows }
    val spread = evenly(width, values, others).zip(again).map { case (a, b) => a + b }
    new RowDistributionEstimate(spread.scanLeft(0.0)(_ + _))
  }

  /**
   * Number of rows in each piece if the rows of each unit are spread evenly over the unit's range.
   */
  private def evenly(
      width: Array[Double],
      values: ValueSpacing,
      units: Seq[UnitRows]): Array[Double] = {
    val density = new RangeSums(width.length)
    val atOneValue = new Array[Double](width.length)
    units.foreach { u =>
      // the quotient overflows for a range such as 0.0 to 1e-305
      val rowsOfWidth = u.count / values.room(u.low, u.high)
      if (rowsOfWidth < Double.MaxValue) density.add(2 * u.low, 2 * u.high, rowsOfWidth)
      else atOneValue(2 * u.low) += u.count
    }
    density.values.zip(width).zip(atOneValue).map { case ((d, w), one) => d * w + one }
  }
}

/**
 * An array of numbers. `add` adds a number to all elements of a range, and no method subtracts. An array of
 * differences would add a large number at one position and subtract it at another: the rounding error that remains
 * would look like rows.
 */
private[sparkzorder] final class RangeSums(length: Int) {
  // a binary tree over the array: a number in node n counts for nodes 2n and 2n + 1; leaf i is node
  // length + i
  private val nodes = new Array[Double](2 * length)

  /** Adds `x` to the numbers `from` to `to`, both included. */
  def add(from: Int, to: Int, x: Double): Unit = {
    var low = from + length
    var high = to + length + 1
    while (low < high) {
      if ((low & 1) == 1) {
        nodes(low) += x
        low += 1
      }
      if ((high & 1) == 1) {
        high -= 1
        nodes(high) += x
      }
      low >>= 1
      high >>= 1
    }
  }

  def values: Array[Double] = {
    val sums = nodes.clone()
    var n = 1
    while (n < length) {
      sums(2 * n) += sums(n)
      sums(2 * n + 1) += sums(n)
      n += 1
    }
    sums.slice(length, 2 * length)
  }
}

/**
 * Distances between the values of a column, in any unit. An estimate needs them to spread rows evenly between two
 * values.
 *
 * @param axis the positions of the values
 * @param extra the additional room of each value; above 0 for a column whose few values have many rows each
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

  // The values are taken from the ends (min and max) of ranges. If there are at most this many distinct values
  // per end, the column has few values, and many ranges end at the same value. Each value then gets as much
  // room as the median gap between two values.
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
