// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.math.{BigDecimal, BigInteger, RoundingMode}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

import io.sparkzorder.skipping.values.Extent.Between
import io.sparkzorder.skipping.values.Piece.{double, ends, long, require, unknown}

/** Arithmetic, rounding, functions of mathematics and casts between numbers. */
private[values] object PiecesOfNumbers {

  def of(e: Expression): Option[Piece] = e match {
    case a: Add if isNumber(a) => Some(arithmetic(_.add(_)))
    case s: Subtract if isNumber(s) => Some(arithmetic(_.subtract(_)))
    case m: Multiply if isNumber(m) => Some(arithmetic(_.multiply(_)))
    case u: UnaryMinus if isNumber(u) => Some(exactly(negated))
    case _: UnaryPositive => Some(Ordered())
    case a: Abs if isNumber(a) => Some(exactly(absolute))
    case d: Divide if isNumber(d) => Some(divided)
    case i: IntegralDivide if isNumber(i.left) => Some(divided)
    case r: Remainder if isIntegral(r.dataType) => Some(remainder(r.dataType, isPositive = false))
    case p: Pmod if isIntegral(p.dataType) => Some(remainder(p.dataType, isPositive = true))
    case r: Remainder if isDecimal(r.dataType) => Some(decimalRemainder)
    case p: Pmod if isDecimal(p.dataType) => Some(decimalRemainder)
    case _: Floor | _: Ceil | _: Rint => Some(Ordered())
    case _: Round | _: BRound | _: RoundCeil | _: RoundFloor => Some(rounded)
    case _: Signum => Some(Ordered())
    case _: ShiftRight => Some(shifted(_ => true))
    case _: ShiftRightUnsigned => Some(shifted(b => long(b.low) >= 0))
    case s: ShiftLeft => Some(shiftedLeft(s.dataType))
    case _: BitwiseNot => Some(Ordered())
    case w: WidthBucket if isNumber(w.value) && w.children.tail.forall(_.isInstanceOf[Literal]) =>
      Some(Ordered())
    case _: Sqrt | _: Cbrt | _: Exp | _: Expm1 | _: Log | _: Log10 | _: Log2 | _: Log1p |
        _: ToDegrees | _: ToRadians | _: Atan | _: Asin | _: Sinh | _: Tanh => Some(mathematical)
    // to the base 1 the logarithm of 1 alone is NaN, and all others are infinite
    case Logarithm(Literal(base: Double, _), _) if base != 1.0 => Some(mathematical)
    // with an infinite power, 1 alone has the result NaN
    case Pow(_, Literal(power: Double, _)) if power > 0 && !power.isInfinite =>
      Some(mathematical.copy(samples = { c =>
        val values = ends(c)
        // an even power falls up to zero; one that is no integer has no result below zero
        if (double(c.head.low) >= 0 || power % 2 == 1) values
        else {
          require(power % 2 == 0)
          if (double(c.head.high) <= 0) values else (values.head :+ 0.0) +: values.tail
        }
      }))
    case c: Cast if isNumber(c.child) && isNumber(c) => Some(cast(c.dataType))
    case c: Cast if c.child.dataType == BooleanType && isNumber(c) => Some(Ordered())
    case _ => None
  }

  /**
   * Digits of a DECIMAL that Spark negates without a loss. It rounds longer ones, or does not, by the way in which
   * the value came about.
   */
  val NegatedDigits = 34

  /** Knows nothing of DECIMALs that Spark may round. */
  private def exactly(piece: Piece): Piece = new Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent =
      if (children.exists(isLong)) Extent.Anything else piece(call, children)
  }

  private def isLong(e: Extent): Boolean = e match {
    case b: Between => Seq(b.low, b.high).exists {
        case d: Decimal => d.toJavaBigDecimal.precision > NegatedDigits
        case _ => false
      }
    case _ => false
  }

  def isIntegral(t: DataType): Boolean = t match {
    case ByteType | ShortType | IntegerType | LongType => true
    case _ => false
  }

  private def isDecimal(t: DataType): Boolean = t.isInstanceOf[DecimalType]

  private def isNumber(e: Expression): Boolean = e.dataType.isInstanceOf[NumericType]

  /** The exact value; raises for NaN and infinities, with which arithmetic keeps no order. */
  private def exact(value: Any): BigDecimal = value match {
    case d: Decimal => d.toJavaBigDecimal
    case d: Double => new BigDecimal(d)
    case f: Float => new BigDecimal(f.toDouble)
    case n: Number => BigDecimal.valueOf(n.longValue)
    case _ => unknown
  }

  /** Raises if a type of integers cannot hold a value: Spark would begin again at the other end. */
  private def fits(value: BigDecimal, t: DataType): Unit =
    if (isIntegral(t)) {
      val (least, greatest) = OrderedValue.range(t).get
      require(value.compareTo(BigDecimal.valueOf(least)) >= 0 &&
        value.compareTo(BigDecimal.valueOf(greatest)) <= 0)
    }

  /** A piece that knows the type of its results. */
  private def typed(piece: DataType => Piece): Piece = new Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent =
      piece(call.expression.dataType)(call, children)
  }

  private def arithmetic(op: (BigDecimal, BigDecimal) => BigDecimal): Piece = typed(t =>
    Ordered { c =>
      val values = ends(c)
      for (l <- values(0); r <- values(1)) fits(op(exact(l), exact(r)), t)
      values
    })

  private val negated: Piece = typed(t =>
    Ordered { c =>
      ends(c).map(_.map { v =>
        fits(exact(v).negate, t)
        v
      })
    })

  private val absolute: Piece = typed(t =>
    Ordered { c =>
      val zero = Cast(Literal(0), t).eval()
      val (low, high) = (exact(c.head.low), exact(c.head.high))
      fits(low.negate, t)
      Seq(Seq(c.head.low, c.head.high) ++ (if (low.signum < 0 && high.signum > 0) Seq(zero)
                                           else Nil))
    })

  /** A division by what is never zero, and which an integer can hold. */
  private val divided: Piece = typed(t =>
    Ordered { c =>
      val values = ends(c)
      val divisors = values(1).map(exact)
      require(divisors.forall(_.signum > 0) || divisors.forall(_.signum < 0))
      if (isIntegral(t)) {
        for (l <- values(0); d <- divisors) fits(exact(l).divide(d, 0, RoundingMode.DOWN), t)
      } else values(0).foreach(exact)
      values
    })

  /** It begins anew with each multiple of the divisor. */
  private def remainder(t: DataType, isPositive: Boolean): Piece = {
    def divisor(c: Seq[Between]): BigInteger = {
      require(c(1).isPoint)
      BigInteger.valueOf(long(c(1).low))
    }
    def value(n: Long): Any = OrderedValue.ofLong(t)(n)
    Ordered(
      { c =>
        val d = divisor(c).abs
        require(d.signum > 0 && d.bitLength < 64 && (!isPositive || divisor(c).signum > 0))
        val (low, high) = (long(c.head.low), long(c.head.high))
        require(low < 0 == high < 0)
        def period(n: Long) = Math.floorDiv(if (n < 0) -(n + 1) else n, d.longValue)
        // the rest of a negative number has its sign, and the periods end at multiples
        val same =
          if (low >= 0) period(low) == period(high)
          else if (isPositive) {
            Math.floorDiv(low, d.longValue) == Math.floorDiv(high, d.longValue)
          } else low / d.longValue == high / d.longValue
        require(same)
        ends(c)
      },
      otherwise = { c =>
        val most = divisor(c).abs.subtract(BigInteger.ONE)
        require(most.signum >= 0 && most.bitLength < 63 && (!isPositive || divisor(c).signum > 0))
        val least = if (isPositive || long(c.head.low) >= 0) 0L else -most.longValue
        val greatest = if (!isPositive && long(c.head.high) <= 0) 0L else most.longValue
        Some((value(least), value(greatest)))
      })
  }

  /** As [[remainder]] of values that are not negative. */
  private val decimalRemainder: Piece = {
    def divisor(c: Seq[Between]): BigDecimal = {
      require(c(1).isPoint && exact(c(1).low).signum > 0 && exact(c.head.low).signum >= 0)
      exact(c(1).low)
    }
    Ordered(
      { c =>
        def period(value: Any) = exact(value).divideToIntegralValue(divisor(c))
        require(period(c.head.low).compareTo(period(c.head.high)) == 0)
        ends(c)
      },
      otherwise = c => Some((Decimal(0), Decimal(divisor(c)))))
  }

  /** Rounding at a constant place; integers could pass the end of their type. */
  private val rounded: Piece = typed(t =>
    Ordered { c =>
      require(c(1).isPoint)
      val place = long(c(1).low)
      val values = ends(c)
      if (place < 0) {
        require(place > -19)
        val step = BigDecimal.TEN.pow(-place.toInt)
        values.head.foreach { v =>
          fits(exact(v).add(step), t)
          fits(exact(v).subtract(step), t)
        }
      }
      values
    })

  private def shifted(isKnown: Between => Boolean): Piece = Ordered { c =>
    require(c(1).isPoint && isKnown(c.head))
    ends(c)
  }

  private def shiftedLeft(t: DataType): Piece = Ordered { c =>
    val most = if (t == LongType) 63 else 31
    require(c(1).isPoint && long(c(1).low) >= 0 && long(c(1).low) < most)
    val factor = BigDecimal.valueOf(2).pow(long(c(1).low).toInt)
    val values = ends(c)
    values.head.foreach(v => fits(exact(v).multiply(factor), t))
    values
  }

  /** Functions whose last bits may differ between Spark's ways to compute them. */
  private val mathematical: Ordered = Ordered(around = { (low, high) =>
    def far(value: Double, by: Double) =
      if (value.isInfinite) value
      else value + by * (math.abs(value) * 1e-14 + Double.MinPositiveValue)
    (far(double(low), -1), far(double(high), 1))
  })

  /** Numbers that both types can hold. */
  private def cast(to: DataType): Piece = Ordered { c =>
    val values = ends(c)
    if (isIntegral(to)) values.head.foreach(v => fits(exact(v), to))
    values
  }
}
