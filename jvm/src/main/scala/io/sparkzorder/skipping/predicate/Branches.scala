// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.{ArrayType, BooleanType, DataType}

/**
 * Matches a COALESCE, IF or CASE, or the cast of a condition, as a list of branches. The first branch whose
 * condition is true gives the value.
 */
private[predicate] object Branches {

  /** Conditions with their values, and the value where no condition is true. */
  def unapply(e: Expression): Option[(Seq[(Expression, Expression)], Expression)] = e match {
    case Coalesce(values) => Some((values.init.map(v => IsNotNull(v) -> v), values.last))
    case If(condition, yes, no) => Some((Seq(condition -> yes), no))
    case CaseWhen(branches, otherwise) =>
      Some((branches, otherwise.getOrElse(Literal(null, e.dataType))))
    case c: Cast if isCondition(c.child) && c.dataType != BooleanType =>
      def as(value: Boolean) = Folded(c.withNewChildren(Seq(Literal(value))))
      Some((Seq(c.child -> as(true), Not(c.child) -> as(false)), Literal(null, c.dataType)))
    case _ => None
  }

  /** The predicate with a value in place of one part, which may be the predicate itself. */
  def replaced(predicate: Expression, part: Expression, value: Expression): Expression =
    if (predicate eq part) value
    else Folded.parts(predicate.transformDown { case e if e eq part => value })

  /** An expression that is TRUE, FALSE or NULL because of what it computes. */
  def isCondition(e: Expression): Boolean = e.dataType == BooleanType && (e match {
    case _: Attribute | _: GetStructField | _: Literal => false
    case _ => true
  })
}

/** Matches a predicate that has [[Branches]] among the values that it reads. */
private[predicate] object Chain {

  /** If there are more ways than this through a predicate, the branches are not tried. */
  private val MaxWays = 1000L

  /**
   * The first branches in the predicate, the value where no condition is true, and the predicate as a function of
   * a value in place of these branches.
   */
  def unapply(predicate: Expression)
      : Option[(Seq[(Expression, Expression)], Expression, Expression => Expression)] =
    first(predicate).filter(_ => waysOf(predicate) <= MaxWays).collect {
      case chain @ Branches(branches, otherwise) =>
        (branches, otherwise, Branches.replaced(predicate, chain, _))
    }

  // a lambda is called with many values for one row, which may take different ways
  private def first(e: Expression): Option[Expression] = e match {
    case _: LambdaFunction => None
    case Branches(_, _) => Some(e)
    case other =>
      other.children.iterator.map(first).collectFirst { case Some(found) => found }
  }

  /** Conditions do not count: they are tested alone. */
  private def waysOf(e: Expression): Long = e match {
    case _: LambdaFunction => 1L
    case Branches(branches, otherwise) =>
      math.min((branches.map(_._2) :+ otherwise).map(waysOf).sum, MaxWays + 1)
    case other => other.children.map(waysOf).foldLeft(1L)((a, b) => math.min(a * b, MaxWays + 1))
  }
}

/** An expression, or the literal that it always is. */
private[predicate] object Folded {
  def apply(e: Expression): Expression = e match {
    case _: Literal => e
    case _ => value(e).fold(e)(Literal(_, e.dataType))
  }

  /** The same with all parts. */
  def parts(e: Expression): Expression = e match {
    case _: Literal => e
    case other => apply(other.mapChildren(parts))
  }

  /** The value of an expression without columns, which may be NULL. None where Spark raises an error. */
  def value(e: Expression): Option[Any] = e match {
    case Literal(v, _) => Some(v)
    case _ =>
      try {
        if (e.foldable || isClosed(e)) Some(e.eval()) else None
      } catch { case NonFatal(_) => None }
  }

  /** A call of a lambda without columns, such as `transform(array(5, 7), v -> v * 2)`. */
  private def isClosed(e: Expression): Boolean = {
    val (used, declared) = (
      e.collect { case v: NamedLambdaVariable => v.exprId }.toSet,
      e.collect { case l: LambdaFunction => l.arguments.map(_.exprId) }.flatten.toSet)
    !e.isInstanceOf[LambdaFunction] && declared.nonEmpty && used.subsetOf(declared) &&
    e.deterministic && e.references.isEmpty && !e.exists {
      case _: PlanExpression[_] | _: UserDefinedExpression | _: Attribute => true
      case _ => false
    }
  }

  /** A literal list, as the elements and their type. */
  object Elements {
    def unapply(e: Expression): Option[(Seq[Any], DataType)] = e.dataType match {
      case t: ArrayType =>
        value(e).collect { case list: ArrayData =>
          list.toSeq[Any](t.elementType) -> t.elementType
        }
      case _ => None
    }
  }
}
