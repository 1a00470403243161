// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.math.{BigDecimal, BigInteger}

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.ByteArray

import io.sparkzorder.index.{IndexValue, LeafType}
import io.sparkzorder.skipping.values.Extent.Between

/**
 * A function of DECIMALs of more than 18 digits that keeps or reverses their order. So the values whose
 * results lie in one interval form one interval, too. Bisection finds the ends of the interval of values.
 *
 * @param call Spark's result for an unscaled value. It may throw far from 0, where Spark raises an error or
 *   returns NULL. Such values are always kept
 * @param limit values above `limit` and below `-limit` are always kept, too
 */
private[sparkzorder] final class WideFunction(
    call: BigInteger => LiteralPosition,
    limit: BigInteger,
    isReversed: Boolean)
    extends ColumnFunction {
  import WideFunction._

  private lazy val least = farthest(limit.negate)
  private lazy val greatest = farthest(limit)

  override def valuesFor(
      results: Intervals,
      ofNulls: Boolean,
      range: => Option[KnownRange]): Intervals =
    if (ofNulls) ByteIntervals.all
    else {
      val few = results.coarser
      val inside = (0 until few.size).flatMap(i => valuesFor(new Ends(few, i)))
      Intervals.ofByteRanges(inside ++ Seq(
        (ByteEnd.Endless, end(least).outside),
        (end(greatest).outside, ByteEnd.Endless)))
    }

  /** The values whose results lie in one interval. */
  private def valuesFor(interval: Ends): Option[(ByteEnd, ByteEnd)] = {
    def isFrom(r: LiteralPosition) = interval.isFrom(r)
    def isBeyond(r: LiteralPosition) = interval.isBeyond(r)
    val start = if (isReversed) first(!isBeyond(_)) else first(isFrom)
    val beyond = if (isReversed) first(!isFrom(_)) else first(isBeyond)
    val last = beyond.fold(greatest)(_.subtract(BigInteger.ONE))
    start.filter(_.compareTo(last) <= 0).map(low => (end(low), end(last)))
  }

  /** The least value whose result has a property; None without such a value. All greater values must have it, too. */
  private def first(has: LiteralPosition => Boolean): Option[BigInteger] =
    if (has(call(least))) Some(least)
    else if (!has(call(greatest))) None
    else Some(boundary(least, greatest)(v => has(call(v))))

  /** Among the values from 0 to `to`, the value farthest from 0 for which Spark has a result. */
  private def farthest(to: BigInteger): BigInteger = {
    def fails(v: BigInteger) =
      try {
        val _ = call(v)
        false
      } catch { case NonFatal(_) => true }
    if (!fails(to)) to
    else {
      val _ = call(BigInteger.ZERO)
      val sign = BigInteger.valueOf(to.signum.toLong)
      boundary(BigInteger.ZERO, to.abs)(v => fails(v.multiply(sign)))
        .subtract(BigInteger.ONE).multiply(sign)
    }
  }
}

private object WideFunction {

  /**
   * The least value with a property. `high` must have the property, `low` must not, and all values above the
   * returned value must have it.
   */
  private def boundary(low: BigInteger, high: BigInteger)(has: BigInteger => Boolean): BigInteger =
    if (high.subtract(low).equals(BigInteger.ONE)) high
    else {
      val middle = low.add(high).shiftRight(1)
      if (has(middle)) boundary(low, middle)(has) else boundary(middle, high)(has)
    }

  private def end(value: BigInteger): ByteEnd =
    ByteEnd(IndexValue.wide(value).get, inclusive = true)
}

/** A call that keeps or reverses the order of DECIMALs of more than 18 digits. */
private[skipping] object WideCall {

  /** The only argument that is not a literal, and what the call computes from it. */
  def unapply(call: Expression): Option[(Expression, ColumnFunction)] = call match {
    case c: Cast => c.dataType match {
        case to: NumericType => of(c, c.child, most = mostOf(to))
        case _ => None
      }
    case Add(child, Literal(_: Decimal, _), _) => of(call, child)
    case Add(Literal(_: Decimal, _), child, _) => of(call, child)
    case Subtract(child, Literal(_: Decimal, _), _) => of(call, child)
    case Subtract(Literal(_: Decimal, _), child, _) => of(call, child, isReversed = true)
    case Multiply(child, Factor(isNegative), _) => of(call, child, isNegative)
    case Multiply(Factor(isNegative), child, _) => of(call, child, isNegative)
    case UnaryMinus(Exact(child), _) => of(call, child, isReversed = true)
    case Divide(child, Factor(isNegative), _) => of(call, child, isNegative)
    case Floor(child) => of(call, child)
    case Ceil(child) => of(call, child)
    case r: RoundBase if r.children(1).foldable => of(call, r.children.head)
    case _ => None
  }

  /** An expression that Spark always negates exactly. */
  private object Exact {
    def unapply(e: Expression): Option[Expression] = e.dataType match {
      case d: DecimalType if d.precision > PiecesOfNumbers.NegatedDigits => None
      case _ => Some(e)
    }
  }

  /** A literal by which numbers are multiplied or divided. True if the factor reverses their order. */
  private object Factor {
    def unapply(e: Expression): Option[Boolean] = e match {
      case Literal(n: Decimal, _) if n.toJavaBigDecimal.signum != 0 =>
        Some(n.toJavaBigDecimal.signum < 0)
      case _ => None
    }
  }

  /** @param most the greatest number that the type of the result holds; None if the type holds all arguments */
  private def of(
      call: Expression,
      child: Expression,
      isReversed: Boolean = false,
      most: Option[BigDecimal] = None): Option[(Expression, ColumnFunction)] =
    (child.dataType, ComparisonDomain.of(call.dataType)) match {
      case (d: DecimalType, Some(domain)) if d.precision > LeafType.LongDigits =>
        val all = BigInteger.TEN.pow(d.precision).subtract(BigInteger.ONE)
        val limit = most.fold(all)(_.scaleByPowerOfTen(d.scale).toBigInteger.min(all))
        val variable = BoundReference(0, d, nullable = true)
        val bound = call.withNewChildren(call.children.map(c => if (c eq child) variable else c))
        def result(unscaled: BigInteger) = {
          val value = Decimal(new BigDecimal(unscaled, d.scale), d.precision, d.scale)
          LiteralPosition.of(bound.eval(InternalRow(value)), domain).getOrElse {
            throw new ArithmeticException(s"${call.prettyName} has no usable result for some value")
          }
        }
        Some(child -> new WideFunction(result, limit, isReversed))
      case _ => None
    }

  /** The greatest integer of a type; beyond it Spark wraps values, returns NULL or raises an error. */
  private def mostOf(t: DataType): Option[BigDecimal] = t match {
    case d: DecimalType => Some(BigDecimal.ONE.scaleByPowerOfTen(d.precision - d.scale)
        .subtract(BigDecimal.ONE))
    case ByteType | ShortType | IntegerType | LongType =>
      OrderedValue.range(t).map(r => BigDecimal.valueOf(r._2))
    case _ => None
  }
}

/** Compares results with one interval of a set. */
private final class Ends(intervals: Intervals, i: Int) {

  /** Whether a result is not below the interval. */
  def isFrom(result: LiteralPosition): Boolean = (intervals, result) match {
    case (longs: LongIntervals, p: LongPosition) => p.high >= longs.lows(i)
    case (bytes: ByteIntervals, p: BytesPosition) =>
      val low = bytes.lows(i)
      low.isEndless || low.isReachedBy(ByteArray.compareBinary(p.high, low.value))
    case _ => throw new IllegalArgumentException("a result of another domain")
  }

  /** Whether a result is above the interval. */
  def isBeyond(result: LiteralPosition): Boolean = (intervals, result) match {
    case (longs: LongIntervals, p: LongPosition) => p.low > longs.highs(i)
    case (bytes: ByteIntervals, p: BytesPosition) =>
      val high = bytes.highs(i)
      !high.isEndless && !high.isReachedBy(-ByteArray.compareBinary(p.low, high.value))
    case _ => throw new IllegalArgumentException("a result of another domain")
  }
}

/**
 * Like [[SearchedFunction]], for a DECIMAL column of more than 18 digits, whose values do not fit into a
 * long. The search covers all values of the type, whatever values the files have.
 */
private[sparkzorder] final class SearchedDecimals(
    e: Expression,
    variable: Expression,
    t: DecimalType)
    extends ColumnFunction {
  import SearchedDecimals._
  import SearchedFunction.{In, Judge, Out}

  private val tree = ExtentTree.of(e, variable)
  private val domain = ComparisonDomain.of(e.dataType).orNull
  private val most = BigInteger.TEN.pow(t.precision).subtract(BigInteger.ONE)

  // The greatest value of the search. Of values with more digits, Spark may round the negation and the absolute value,
  // so a search among such values would exclude nothing.
  private val searched = e.collectFirst { case n @ (_: UnaryMinus | _: Abs) => n }.fold(most)(_ =>
    most.min(BigInteger.TEN.pow(PiecesOfNumbers.NegatedDigits).subtract(BigInteger.ONE)))

  override def valuesFor(
      results: Intervals,
      ofNulls: Boolean,
      range: => Option[KnownRange]): Intervals =
    if (results.isEmpty && !ofNulls) Intervals.none
    else {
      val judge = new Judge(results.coarser, ofNulls, domain)
      val included = Seq.newBuilder[(BigInteger, BigInteger)]
      if (searched != most) {
        included += ((most.negate, searched.negate.subtract(BigInteger.ONE)))
        included += ((searched.add(BigInteger.ONE), most))
      }
      val open = mutable.Queue((searched.negate, searched))
      var (steps, isOut) = (0, false)
      while (open.nonEmpty && steps < MaxSteps && (isOut || steps < MaxStepsWithoutGain)) {
        val (low, high) = open.dequeue()
        steps += 1
        judge(tree(between(low, high))) match {
          case Out => isOut = true
          case In => included += ((low, high))
          case _ if low == high => included += ((low, high))
          case _ =>
            val cut = cutOf(low, high)
            open += ((low, cut.subtract(BigInteger.ONE)))
            open += ((cut, high))
        }
      }
      if (!isOut && (open.nonEmpty || tree.unknown.isDefined)) {
        throw new NotSearched(
          s"the expression ${SearchedFunction.textOf(tree.unknown.getOrElse(e))}")
      }
      Intervals.ofByteRanges((included.result() ++ open).map { case (low, high) =>
        (end(low), end(high))
      })
    }

  private def between(low: BigInteger, high: BigInteger): Extent =
    Between(value(low), value(high), isPoint = low == high)

  private def value(unscaled: BigInteger): Decimal =
    Decimal(new BigDecimal(unscaled, t.scale), t.precision, t.scale)

  private def end(unscaled: BigInteger): ByteEnd =
    ByteEnd(IndexValue.wide(unscaled).get, inclusive = true)
}

private object SearchedDecimals {
  private val MaxSteps = 8192
  private val MaxStepsWithoutGain = 1024

  /**
   * The first value of the upper part: the multiple of a power of ten next to the middle, for the greatest
   * power that has a multiple in the interval. Results of rounding and of functions of texts often change there.
   */
  private def cutOf(low: BigInteger, high: BigInteger): BigInteger = {
    val middle = low.add(high).shiftRight(1).max(low.add(BigInteger.ONE))
    Powers.iterator.map { power =>
      val floor = middle.subtract(middle.mod(power))
      if (floor.compareTo(low) > 0) floor else floor.add(power)
    }.find(c => c.compareTo(low) > 0 && c.compareTo(high) <= 0).getOrElse(middle)
  }

  private val Powers = (DecimalType.MAX_PRECISION to 0 by -1).map(BigInteger.TEN.pow)
}
