// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{DataType, Decimal, StringType}

import io.sparkzorder.skipping.values.Extent.{Anything, Between, OnlyNull}
import io.sparkzorder.skipping.values.Piece.{require, unknown}

/** One node of an expression. Spark evaluates the node for given values of its children. */
private[values] final class Call(val expression: Expression) {
  private val bound =
    expression.withNewChildren(expression.children.zipWithIndex.map {
      case (l: Literal, _) => l
      case (child, i) => BoundReference(i, child.dataType, nullable = true)
    })

  val order: Option[Ordering[Any]] = ValueOrder.of(expression.dataType)

  /**
   * The value of the node.
   *
   * @param values one for each child
   * @throws scala.Exception the error that Spark raises for these values
   */
  def apply(values: Seq[Any]): Any = {
    val input: InternalRow = new GenericInternalRow(values.toArray)
    bound.eval(input)
  }
}

/** Computes the results of one kind of Spark's expressions from the extents of the children. */
private[values] trait Piece {

  /**
   * An extent that holds each result for which the value of each child lies in the child's extent. An exception
   * means that nothing is known of the results.
   */
  def apply(call: Call, children: Seq[Extent]): Extent
}

private[values] object Piece {

  /** Raised where nothing is known about the results. */
  private object Unknown extends Exception {
    override def fillInStackTrace(): Throwable = this
  }

  def unknown: Nothing = throw Unknown

  /** Raises [[Unknown]] unless the condition is true. Unlike Scala's `require`, this demands nothing of the caller. */
  def require(condition: Boolean): Unit = if (!condition) unknown

  /**
   * Evaluates the call for each combination of the samples of its children. Returns the least and the greatest
   * result. Raises if a result is NULL or NaN.
   */
  def spanned(call: Call, samples: Seq[Seq[Any]]): (Any, Any) = {
    val order = call.order.getOrElse(unknown)
    val results = ways(samples, MaxSamples).map(call(_))
    require(results.forall(isUsual))
    (results.min(order), results.max(order))
  }

  def long(value: Any): Long = value.asInstanceOf[Number].longValue

  def double(value: Any): Double = value match {
    case d: Decimal => d.toDouble
    case n: Number => n.doubleValue
    case _ => unknown
  }

  /** True for texts that Spark orders by their bytes. Texts of other collations have another order. */
  def isText(t: DataType): Boolean = t == StringType && ComparisonDomain.of(t).contains(BytesDomain)

  /** All combinations of one value of each child. Raises if there are more than `most` combinations. */
  def ways(values: Seq[Seq[Any]], most: Long): Seq[Seq[Any]] = {
    require(values.map(_.size.toLong).product <= most)
    values.foldLeft(Seq(Vector.empty[Any]))((found, some) =>
      for (f <- found; s <- some) yield f :+ s)
  }

  /** False for NULL and NaN. */
  def isUsual(value: Any): Boolean = value match {
    case null => false
    case d: Double => !d.isNaN
    case f: Float => !f.isNaN
    case _ => true
  }

  def isReal(value: Any): Boolean = value.isInstanceOf[Double] || value.isInstanceOf[Float]

  private val MaxSamples = 256L

  def between(
      call: Call,
      ends: (Any, Any),
      mayBeNull: Boolean,
      template: Option[TextTemplate] = None): Extent =
    Between(
      ends._1,
      ends._2,
      call.order.exists(_.compare(ends._1, ends._2) == 0),
      mayBeNull,
      template)

  /** The values of each child at the ends of its extent. */
  val ends: Seq[Between] => Seq[Seq[Any]] =
    _.map(b => if (b.isPoint) Seq(b.low) else Seq(b.low, b.high))

  /** The given values of the first child, and the ends of the other children. */
  def onlyFirst(values: (Any, Any) => Seq[Any]): Seq[Between] => Seq[Seq[Any]] = children =>
    values(children.head.low, children.head.high) +: ends(children.tail)
}

/**
 * A function that is NULL where a child is NULL. While one child grows and the others stay, the result never falls,
 * or never rises, except at certain places. So the least and the greatest result are at the ends of the children's
 * extents or at these places. Example: `abs` falls until 0 and rises from 0 on, so the samples of -3 to 2 are
 * -3, 0 and 2.
 *
 * @param samples the values of each child at which the least or the greatest result may be; raises where the
 *   order is not known
 * @param around widens the interval of the results where some results break the order
 * @param template the form of the results, if they are texts of one form
 * @param otherwise the least and the greatest result, if `samples` raises; None if they are not known
 * @param hasNulls a result may be NULL though no child is
 */
private[values] final case class Ordered(
    samples: Seq[Between] => Seq[Seq[Any]] = Piece.ends,
    around: (Any, Any) => (Any, Any) = (_, _),
    template: Seq[Between] => Option[TextTemplate] = _ => None,
    otherwise: Seq[Between] => Option[(Any, Any)] = _ => None,
    hasNulls: Boolean = false)
    extends Piece {

  override def apply(call: Call, children: Seq[Extent]): Extent =
    if (children.contains(OnlyNull)) OnlyNull
    else if (children.contains(Anything)) Anything
    else {
      Piece.require(call.expression.dataType != StringType || !hasZero(call, children))
      val some = children.collect { case b: Between => b }
      val mayBeNull = some.exists(_.mayBeNull)
      if (some.forall(_.isPoint)) Extent.point(call(some.map(_.low))).withNulls(mayBeNull)
      else {
        // NaN is the greatest value, but floor(NaN) is 0: the results at NaN need not be the greatest or least
        Piece.require(some.forall(b => Piece.isUsual(b.low) && Piece.isUsual(b.high)))
        val ends =
          try around.tupled(Piece.spanned(call, samples(some)))
          catch {
            case scala.util.control.NonFatal(_) => otherwise(some).getOrElse(Piece.unknown)
          }
        Piece.between(call, ends, mayBeNull || hasNulls, template(some))
      }
    }

  /** True if a child is the point 0.0. That point also stands for -0.0, which has another text. */
  private def hasZero(call: Call, children: Seq[Extent]): Boolean =
    children.zip(call.expression.children).exists {
      case (b: Between, child) =>
        b.isPoint && !child.foldable && Piece.isReal(b.low) && Piece.double(b.low) == 0.0
      case _ => false
    }
}

/**
 * A function of which nothing is known, except that Spark gives the same result for the same values. If its
 * children have few values, the function is evaluated for each combination of them.
 */
private[values] object Repeatable extends Piece {

  override def apply(call: Call, children: Seq[Extent]): Extent = {
    val values = children.zip(call.expression.children).map {
      case (OnlyNull, _) => Seq(null)
      case (b: Between, child) =>
        val some = if (b.isPoint) Seq(b.low) else few(b)
        // the point 0.0 also stands for -0.0, for which the function may have another result
        Piece.require(
          child.isInstanceOf[Literal] || some.forall(_ != 0.0) || !Piece.isReal(some.head))
        if (b.mayBeNull) some :+ null else some
      case _ => Piece.unknown
    }
    val results = Piece.ways(values, MaxValues).map(v => Extent.point(call(v)))
    if (results.size == 1) results.head
    else Extent.union(results, call.order.getOrElse(Piece.unknown))
  }

  private val MaxValues = 32L

  private def few(b: Between): Seq[Any] = (b.low, b.high) match {
    case (l: Int, h: Int) if h.toLong - l < MaxValues => l to h
    case (l: Long, h: Long) if h - l >= 0 && h - l < MaxValues => l to h
    case (l: Short, h: Short) if h - l < MaxValues => (l to h).map(_.toShort)
    case (l: Byte, h: Byte) if h - l < MaxValues => (l to h).map(_.toByte)
    case (_: Boolean, _: Boolean) => Seq(false, true)
    case _ => Piece.unknown
  }
}

/** Conditions, and expressions that choose one of several values. They need not be NULL where an argument is NULL. */
private[values] object PiecesOfConditions {

  def of(e: Expression): Option[Piece] = e match {
    case _: LessThan | _: LessThanOrEqual | _: GreaterThan | _: GreaterThanOrEqual =>
      Some(Ordered())
    case _: EqualTo => Some(Equal)
    case _: In | _: InSet => Some(Listed)
    case _: Greatest => Some(extreme(isGreatest = true))
    case _: Least => Some(extreme(isGreatest = false))
    case _: If | _: CaseWhen | _: Coalesce => Some(Chosen)
    case _: IsNull | _: IsNotNull => Some(NullTested)
    case _: TaggingExpression => Some(Ordered())
    // The only extent with NaN is the point NaN, for which Spark computes the result itself. For all others, NaNvl
    // returns its first argument.
    case NaNvl(_, Literal(value, _)) => Some(if (value == null) NullForNaN else Ordered())
    case _ => None
  }

  /** `nanvl(c, NULL)`, which `fillna` of PySpark makes. Every value but NaN stays. */
  private object NullForNaN extends Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent = children.head match {
      case b: Between if b.isPoint => Extent.point(call(Seq(b.low, null))).withNulls(b.mayBeNull)
      case b: Between =>
        Piece.require(Piece.isUsual(b.low) && Piece.isUsual(b.high))
        b
      case other => other
    }
  }

  private object Equal extends Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent = {
      val order = ValueOrder.of(call.expression.children.head.dataType).getOrElse(unknown)
      Ordered(
        _ => unknown,
        otherwise = { case Seq(a, b) =>
          val apart = order.compare(a.high, b.low) < 0 || order.compare(b.high, a.low) < 0
          Some((false, !apart))
        }).apply(call, children)
    }
  }

  /**
   * IN. Unlike with most functions, a NULL argument need not make the result NULL: `1 IN (1, NULL)` is
   * true.
   */
  private object Listed extends Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent = {
      val values = children.map {
        case OnlyNull => Some(null)
        case b: Between if b.isPoint && !b.mayBeNull => Some(b.low)
        case _ => None
      }
      if (values.forall(_.isDefined)) Extent.point(call(values.map(_.get)))
      else Piece.between(call, (false, true), mayBeNull = true)
    }
  }

  /**
   * Greatest or Least. Spark ignores arguments that are NULL, and the result is NULL only if all are NULL.
   */
  private def extreme(isGreatest: Boolean): Piece = new Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent = {
      val order = call.order.getOrElse(unknown)
      val some = children.collect { case b: Between => b }
      require(!children.contains(Extent.Anything))
      val surely = some.filterNot(_.mayBeNull)
      if (some.isEmpty) OnlyNull
      else {
        val (lows, highs) = (some.map(_.low), some.map(_.high))
        val low =
          if (isGreatest && surely.nonEmpty) surely.map(_.low).max(order) else lows.min(order)
        val high =
          if (!isGreatest && surely.nonEmpty) surely.map(_.high).min(order) else highs.max(order)
        Piece.between(call, (low, high), mayBeNull = surely.isEmpty)
      }
    }
  }

  /** If, CaseWhen and Coalesce: the union of all values that can be chosen. */
  private object Chosen extends Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent = {
      val order = call.order.getOrElse(unknown)
      def isTrue(e: Extent) = e match {
        case b: Between => b.isPoint && b.low == true && !b.mayBeNull
        case _ => false
      }
      def isNever(e: Extent) = e match {
        case b: Between => b.isPoint && b.low == false
        case other => other == OnlyNull
      }
      def branches(open: List[Extent]): List[Extent] = open match {
        case condition :: value :: rest =>
          if (isTrue(condition)) List(value)
          else if (isNever(condition)) branches(rest)
          else value :: branches(rest)
        case otherwise :: Nil => List(otherwise)
        case Nil => List(OnlyNull)
      }
      call.expression match {
        case _: Coalesce =>
          val first = children.indexWhere(!_.mayBeNull)
          if (first < 0) Extent.union(children, order)
          else Extent.union(children.take(first + 1), order).withNulls(false)
        case _ => Extent.union(branches(children.toList), order)
      }
    }
  }

  private object NullTested extends Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent = {
      val isNull = call.expression.isInstanceOf[IsNull]
      children.head match {
        case OnlyNull => Extent.point(isNull)
        case b: Between if !b.mayBeNull => Extent.point(!isNull)
        case _ => Piece.between(call, (false, true), mayBeNull = false)
      }
    }
  }
}
