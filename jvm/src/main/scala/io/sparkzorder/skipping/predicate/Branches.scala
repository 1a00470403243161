// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{BooleanType, DataType}

/**
 * A COALESCE, IF or CASE, or the cast of a condition, as a chain. The first branch whose condition
 * is true gives the value.
 *
 * @param branches conditions and values
 * @param otherwise the value where no condition is true
 */
private[predicate] final case class Branches(
    branches: Seq[(Expression, Expression)],
    otherwise: Expression)

private[predicate] object Branches {

  /** More ways than these through one predicate are not tried. */
  private val MostWays = 1000L

  def unapply(e: Expression): Option[(Seq[(Expression, Expression)], Expression)] =
    of(e).map(b => (b.branches, b.otherwise))

  def of(e: Expression): Option[Branches] = e match {
    case Coalesce(values) =>
      Some(Branches(values.init.map(v => IsNotNull(v) -> v), values.last))
    case If(condition, yes, no) => Some(Branches(Seq(condition -> yes), no))
    case CaseWhen(branches, otherwise) =>
      Some(Branches(branches, otherwise.getOrElse(Literal(null, e.dataType))))
    case c: Cast if isCondition(c.child) && c.dataType != BooleanType =>
      def as(value: Boolean) = Folded(c.withNewChildren(Seq(Literal(value))))
      val branches = Seq(c.child -> as(true), Not(c.child) -> as(false))
      Some(Branches(branches, Literal(null, c.dataType)))
    case _ => None
  }

  /**
   * The first chain among the values of a predicate.
   *
   * @return the chain as it stands there; None if there is none, or too many of them
   */
  def in(predicate: Expression): Option[Expression] =
    first(predicate).filter(_ => waysOf(predicate) <= MostWays)

  /** The predicate with a value in place of one chain, which may be the predicate itself. */
  def replaced(predicate: Expression, chain: Expression, value: Expression): Expression =
    if (predicate eq chain) value
    else Folded.parts(predicate.transformDown { case e if e eq chain => value })

  /** An expression that is TRUE, FALSE or NULL because of what it computes. */
  def isCondition(e: Expression): Boolean = e.dataType == BooleanType && (e match {
    case _: Attribute | _: GetStructField | _: Literal => false
    case _ => true
  })

  // a lambda is called with many values for one row, which may take different ways
  private def first(e: Expression): Option[Expression] = e match {
    case _: LambdaFunction => None
    case chain if of(chain).isDefined => Some(chain)
    case other =>
      other.children.iterator.map(first).collectFirst { case Some(found) => found }
  }

  /** Conditions do not count: they are tested alone. */
  private def waysOf(e: Expression): Long = e match {
    case _: LambdaFunction => 1L
    case Branches(branches, otherwise) => sum((branches.map(_._2) :+ otherwise).map(waysOf))
    case other => other.children.map(waysOf).foldLeft(1L)((a, b) => math.min(a * b, MostWays + 1))
  }

  private def sum(ways: Seq[Long]): Long = math.min(ways.sum, MostWays + 1)
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
      case t: org.apache.spark.sql.types.ArrayType =>
        value(e).collect { case list: org.apache.spark.sql.catalyst.util.ArrayData =>
          list.toSeq[Any](t.elementType) -> t.elementType
        }
      case _ => None
    }
  }
}
