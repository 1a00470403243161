// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.math.{BigDecimal, BigInteger, RoundingMode}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

import io.sparkzorder.skipping.values.Extent.Between
import io.sparkzorder.skipping.values.Piece.{double, ends, long, require, unknown}

/** Pieces for arithmetic, rounding, mathematical functions and casts between numbers. */
private[values] object PiecesOfNumbers {

  def of(e: Expression): Option[Piece] = e match {
    case a: Add if isNumber(a) => Some(arithmetic(_.add(_)))
    case s: Subtract if isNumber(s) => Some(arithmetic(_.subtract(_)))
    case m: Multiply if isNumber(m) => Some(arithmetic(_.multiply(_)))
    case u: UnaryMinus if isNumber(u) => Some(unlessRounded(negated))
    case _: UnaryPositive => Some(Ordered())
    case a: Abs if isNumber(a) => Some(unlessRounded(absolute))
    case d: Divide if isNumber(d) => Some(divided)
    case i: IntegralDivide if isNumber(i.left) => Some(divided)
    case r: Remainder if isIntegral(r.dataType) => Some(remainder(r.dataType, isPositive = false))
    case p: Pmod if isIntegral(p.dataType) => Some(remainder(p.dataType, isPositive = true))
    case _: Remainder | _: Pmod =>
      Some(e.dataType).collect { case t: DecimalType => decimalRemainder(t) }
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
    // log(1.0, x) is NaN for x = 1 and infinite for every other x, so it keeps no order
    case Logarithm(Literal(base: Double, _), _) if base != 1.0 => Some(mathematical)
    // for an infinite power, the result is NaN for 1 and for no other value, so it keeps no order
    case Pow(_, Literal(power: Double, _)) if power > 0 && !power.isInfinite =>
      Some(mathematical.copy(samples = { c =>
        val values = ends(c)
        // An even power falls until 0 and rises from there. A power that is not an integer has no result
        // for a value below 0.
        if (double(c.head.low) >= 0 || power % 2 == 1) values
        else {
          require(power % 2 == 0)
          if (double(c.head.high) <= 0) values else (values.head :+ 0.0) +: values.tail
        }
      }))
    case c: Cast
        if isIntegral(c.child.dataType) && isIntegral(c.dataType) &&
          c.evalMode == EvalMode.TRY => Some(narrowed(c.child.dataType, c.dataType))
    case c: Cast if isNumber(c.child) && isNumber(c) => Some(cast(c.dataType))
    case c: Cast if c.child.dataType == BooleanType && isNumber(c) => Some(Ordered())
    case _ => None
  }

  /**
   * The greatest number of digits of a DECIMAL that Spark always negates exactly. Whether Spark rounds a
   * longer DECIMAL depends on how the value was computed.
   */
  val NegatedDigits = 34

  /** The given piece. Nothing is known of the results for a DECIMAL that Spark may round. */
  private def unlessRounded(piece: Piece): Piece = new Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent =
      if (children.exists(hasManyDigits)) Extent.Anything else piece(call, children)
  }

  private def hasManyDigits(e: Extent): Boolean = e match {
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

  private def isNumber(e: Expression): Boolean = e.dataType.isInstanceOf[NumericType]

  /** The exact value. Raises for NaN and infinities, which keep no order: Infinity - Infinity is NaN. */
  private def exact(value: Any): BigDecimal = value match {
    case d: Decimal => d.toJavaBigDecimal
    case d: Double => new BigDecimal(d)
    case f: Float => new BigDecimal(f.toDouble)
    case n: Number => BigDecimal.valueOf(n.longValue)
    case _ => unknown
  }

  /** Raises if an integer type cannot hold the value: Spark's result could wrap around. */
  private def requireFits(value: BigDecimal, t: DataType): Unit =
    if (isIntegral(t)) {
      val (least, greatest) = OrderedValue.range(t).get
      require(value.compareTo(BigDecimal.valueOf(least)) >= 0 &&
        value.compareTo(BigDecimal.valueOf(greatest)) <= 0)
    }

  /** A piece that depends on the type of the call's results. */
  private def typed(piece: DataType => Piece): Piece = new Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent =
      piece(call.expression.dataType)(call, children)
  }

  private def arithmetic(op: (BigDecimal, BigDecimal) => BigDecimal): Piece = typed(t =>
    Ordered { c =>
      val values = ends(c)
      for (l <- values(0); r <- values(1)) requireFits(op(exact(l), exact(r)), t)
      values
    })

  private val negated: Piece = typed(t =>
    Ordered { c =>
      ends(c).map(_.map { v =>
        requireFits(exact(v).negate, t)
        v
      })
    })

  private val absolute: Piece = typed(t =>
    Ordered { c =>
      val zero = Cast(Literal(0), t).eval()
      val (low, high) = (exact(c.head.low), exact(c.head.high))
      requireFits(low.negate, t)
      Seq(Seq(c.head.low, c.head.high) ++ (if (low.signum < 0 && high.signum > 0) Seq(zero)
                                           else Nil))
    })

  /** A division. Nothing is known where the divisor may be 0, or where the result may not fit into its type. */
  private val divided: Piece = typed(t =>
    Ordered { c =>
      val values = ends(c)
      val divisors = values(1).map(exact)
      require(divisors.forall(_.signum > 0) || divisors.forall(_.signum < 0))
      if (isIntegral(t)) {
        for (l <- values(0); d <- divisors) requireFits(exact(l).divide(d, 0, RoundingMode.DOWN), t)
      } else values(0).foreach(exact)
      values
    })

  /**
   * The remainder rises between two multiples of the divisor, and starts again at each multiple. So the ends of the
   * extent give the least and the greatest result only if no multiple lies between them. `otherwise` gives the range of
   * all results.
   */
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
        // for d = 3, a period of pmod is -3 to -1, and a period of % is -5 to -3
        def period(n: Long) = if (isPositive) Math.floorDiv(n, d.longValue) else n / d.longValue
        require(period(low) == period(high))
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

  /**
   * Like [[remainder]], for values that are not negative. The bounds have the scale of the results, so that their
   * texts have the form of the texts of the results: 0.00 and not 0.
   */
  private def decimalRemainder(t: DecimalType): Piece = {
    val most = new BigDecimal(BigInteger.TEN.pow(t.precision).subtract(BigInteger.ONE), t.scale)
    def value(bound: BigDecimal) =
      Decimal(bound.min(most).setScale(t.scale, RoundingMode.CEILING), t.precision, t.scale)
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
      otherwise = c => Some((value(BigDecimal.ZERO), value(divisor(c)))))
  }

  /**
   * Rounding at a constant place. At a negative place, the rounded integer may lie beyond its type: `round(127Y, -1)`
   * would be 130, which is no TINYINT.
   */
  private val rounded: Piece = typed(t =>
    Ordered { c =>
      require(c(1).isPoint)
      val place = long(c(1).low)
      val values = ends(c)
      if (place < 0) {
        require(place > -19)
        val step = BigDecimal.TEN.pow(-place.toInt)
        values.head.foreach { v =>
          requireFits(exact(v).add(step), t)
          requireFits(exact(v).subtract(step), t)
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
    values.head.foreach(v => requireFits(exact(v).multiply(factor), t))
    values
  }

  /** Functions whose results may differ in the last bits between interpreted and generated code. */
  private val mathematical: Ordered = Ordered(around = { (low, high) =>
    def far(value: Double, by: Double) =
      if (value.isInfinite) value
      else value + by * (math.abs(value) * 1e-14 + Double.MinPositiveValue)
    (far(double(low), -1), far(double(high), 1))
  })

  /** A cast between numbers. If the target is an integer type, it must be able to hold all values. */
  private def cast(to: DataType): Piece = Ordered { c =>
    val values = ends(c)
    if (isIntegral(to)) values.head.foreach(v => requireFits(exact(v), to))
    values
  }

  /** A cast of integers that is NULL for values that the target does not hold. */
  private def narrowed(from: DataType, to: DataType): Piece = new Piece {
    private val (least, greatest) = OrderedValue.range(to).get
    private val value = OrderedValue.ofLong(from)

    override def apply(call: Call, children: Seq[Extent]): Extent = children match {
      case Seq(b: Between) =>
        val (low, high) = (math.max(long(b.low), least), math.min(long(b.high), greatest))
        if (low > high) Extent.OnlyNull
        else {
          val held = b.copy(
            low = value(low),
            high = value(high),
            isPoint = low == high,
            mayBeNull = b.mayBeNull || low > long(b.low) || high < long(b.high))
          cast(to)(call, Seq(held))
        }
      case _ => cast(to)(call, children)
    }
  }
}
