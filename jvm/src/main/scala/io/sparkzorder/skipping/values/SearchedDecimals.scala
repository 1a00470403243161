// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.math.{BigDecimal, BigInteger}

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Abs, Expression, UnaryMinus}
import org.apache.spark.sql.types.{Decimal, DecimalType}

import io.sparkzorder.index.IndexValue
import io.sparkzorder.skipping.values.Extent.Between

/**
 * Like [[SearchedFunction]], for a DECIMAL column of more than 18 digits, whose values do not fit into a long. The
 * search covers all values of the type, whatever values the files have.
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

  // beyond, a search would find nothing
  private val searched = e.collectFirst { case n @ (_: UnaryMinus | _: Abs) => n }.fold(most)(_ =>
    most.min(BigInteger.TEN.pow(PiecesOfNumbers.NegatedDigits).subtract(BigInteger.ONE)))

  override def valuesFor(
      results: Intervals,
      ofNulls: Boolean,
      range: => Option[KnownRange]): Intervals =
    if (results.isEmpty && !ofNulls) Intervals.none
    else {
      val judge = new Judge(SearchedFunction.coarser(results), ofNulls, domain)
      val taken = Seq.newBuilder[(BigInteger, BigInteger)]
      if (searched != most) {
        taken += ((most.negate, searched.negate.subtract(BigInteger.ONE)))
        taken += ((searched.add(BigInteger.ONE), most))
      }
      val open = mutable.Queue((searched.negate, searched))
      var (steps, isOut) = (0, false)
      while (open.nonEmpty && steps < MaxSteps && (isOut || steps < MaxStepsInVain)) {
        val (low, high) = open.dequeue()
        steps += 1
        judge(tree(between(low, high))) match {
          case Out => isOut = true
          case In => taken += ((low, high))
          case _ if low == high => taken += ((low, high))
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
      Intervals.ofByteRanges((taken.result() ++ open).map { case (low, high) =>
        (end(low), end(high))
      })
    }

  private def between(low: BigInteger, high: BigInteger): Extent =
    if (low == high) Extent.point(value(low))
    else Between(value(low), value(high), isPoint = false)

  private def value(unscaled: BigInteger): Decimal =
    Decimal(new BigDecimal(unscaled, t.scale), t.precision, t.scale)

  private def end(unscaled: BigInteger): ByteEnd =
    ByteEnd(IndexValue.wide(unscaled).get, inclusive = true)
}

private object SearchedDecimals {
  private val MaxSteps = 8192
  private val MaxStepsInVain = 1024

  /**
   * The first value of the upper part: the multiple of the greatest power of ten that lies in the interval, next to
   * the middle. Results of rounding and of functions of texts often change there.
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
