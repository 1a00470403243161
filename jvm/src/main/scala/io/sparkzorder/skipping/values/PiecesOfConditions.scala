// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import org.apache.spark.sql.catalyst.expressions._

import io.sparkzorder.skipping.values.Extent.{Between, OnlyNull}
import io.sparkzorder.skipping.values.Piece.{require, unknown}

/** Conditions, and expressions that choose among values. These expressions may turn NULL into a value. */
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
    // extents have no NaN, which is tested separately, so here NaNvl returns its first argument
    case NaNvl(_, Literal(value, _)) if value != null => Some(Ordered())
    case _ => None
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
          val first = children.indexWhere {
            case b: Between => !b.mayBeNull
            case _ => false
          }
          Extent.union(if (first < 0) children else children.take(first + 1), order) match {
            case b: Between if first >= 0 => b.copy(mayBeNull = false)
            case other => other
          }
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
