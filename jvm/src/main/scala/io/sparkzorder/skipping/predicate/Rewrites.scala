// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.{ArrayType, BooleanType, DataType, StructType}

import io.sparkzorder.skipping.values.Comparison

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

  /** A BOOLEAN expression that is neither a column nor a literal. */
  def isCondition(e: Expression): Boolean = e.dataType == BooleanType && (e match {
    case _: Attribute | _: GetStructField | _: Literal => false
    case _ => true
  })
}

/** Matches a predicate that is, or has somewhere inside, a COALESCE, IF or CASE: [[Branches]]. */
private[predicate] object InnerBranches {

  /** A predicate with more ways through its branches than this is not matched. */
  private val MaxWays = 1000L

  /**
   * The first [[Branches]] in the predicate, as three parts: the conditions with their values, the value where
   * no condition is true, and a function that puts a value into the predicate in place of these branches.
   */
  def unapply(predicate: Expression)
      : Option[(Seq[(Expression, Expression)], Expression, Expression => Expression)] =
    first(predicate).filter(_ => waysOf(predicate) <= MaxWays).collect {
      case chain @ Branches(branches, otherwise) =>
        (branches, otherwise, Branches.replaced(predicate, chain, _))
    }

  // not in a lambda: Spark calls it with many values for one row, and different values may take different branches
  private def first(e: Expression): Option[Expression] = e match {
    case _: LambdaFunction => None
    case Branches(_, _) => Some(e)
    case other =>
      other.children.iterator.map(first).collectFirst { case Some(found) => found }
  }

  /** The number of ways through an expression. Branches in conditions do not count: conditions are tested alone. */
  private def waysOf(e: Expression): Long = e match {
    case _: LambdaFunction => 1L
    case Branches(branches, otherwise) =>
      math.min((branches.map(_._2) :+ otherwise).map(waysOf).sum, MaxWays + 1)
    case other => other.children.map(waysOf).foldLeft(1L)((a, b) => math.min(a * b, MaxWays + 1))
  }
}

/** Replaces an expression by a literal if the expression always has this value. */
private[predicate] object Folded {
  def apply(e: Expression): Expression = e match {
    case _: Literal => e
    case _ => value(e).fold(e)(Literal(_, e.dataType))
  }

  /** Folds each part of the expression, from the innermost parts outwards. */
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

  /** Matches a list without columns. The result has its elements and their type. */
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

/** Matches a row of expressions, such as `(a, b)` in `(a, b) IN ((1, 2), (3, 4))`. */
private[predicate] object RowOf {
  def unapply(e: Expression): Option[Seq[Expression]] = e match {
    case s: CreateNamedStruct => Some(s.valExprs)
    case _ => None
  }
}

/** The values of literal rows. */
private[predicate] object RowValues {

  /** For each row, its values with their types. None without rows, if a row is NULL, or if the type is no struct. */
  def of(rows: Seq[Any], dataType: DataType): Option[Seq[Seq[(Any, DataType)]]] = dataType match {
    case StructType(fields) =>
      val tuples = rows.collect { case r: InternalRow =>
        fields.toSeq.zipWithIndex.map { case (f, i) =>
          (if (r.isNullAt(i)) null else r.get(i, f.dataType)) -> f.dataType
        }
      }
      if (tuples.size == rows.size && tuples.nonEmpty) Some(tuples) else None
    case _ => None
  }
}

/**
 * A comparison of a row with a literal row, such as `(day, id) > (date'2024-11-01', 100)`, by which
 * programs query the next page of a result. The first values decide, unless they are equal. In such
 * comparisons, NULL is less than all other values.
 */
private[predicate] object RowOrder {

  /**
   * A function that returns a weaker filter, which reads only the first expression of the row. The argument of
   * the function is true for the negation. The weaker filter is true in each row in which the given filter is
   * true or, if negated, false. For example, `(a, b) > (1, 2)` becomes `a >= 1`. The filter `a > 1` would
   * wrongly skip `a = 1, b = 3`.
   */
  def unapply(filter: Expression): Option[Boolean => Expression] = filter match {
    case Comparison.WithLiteral(RowOf(row), comparison, FirstOf(value)) =>
      Some(first(row.head, value, comparison.isGreater))
    case _ => None
  }

  private object FirstOf {
    def unapply(e: Expression): Option[Literal] = e match {
      case Literal(row: InternalRow, StructType(fields)) if fields.nonEmpty =>
        val t = fields.head.dataType
        Some(Literal(if (row.isNullAt(0)) null else row.get(0, t), t))
      case _ => None
    }
  }

  private def first(e: Expression, value: Literal, isGreater: Boolean)(
      negated: Boolean): Expression =
    if (isGreater != negated) {
      if (value.value == null) Literal(true) else GreaterThanOrEqual(e, value)
    } else if (value.value == null) IsNull(e)
    else Or(LessThanOrEqual(e, value), IsNull(e))
}

/**
 * Rewrites functions that choose one element of a list, so that they work on the elements themselves. For
 * example, `array_min(array(a, b))` becomes `least(a, b)`.
 */
private[predicate] object Lists {

  /** A filter with the same result for each row; None if nothing can be rewritten. */
  def unapply(filter: Expression): Option[Expression] =
    if (filter.exists(isOfList)) rewritten(filter) else None

  private def isOfList(e: Expression): Boolean = e match {
    case _: Elt | _: ArrayMin | _: ArrayMax | _: SortArray => true
    case _ => false
  }

  private def rewritten(filter: Expression): Option[Expression] = {
    val changed = filter.transformUp {
      case Elt(Literal(n: Int, _) +: values, _) if n >= 1 && n <= values.size => values(n - 1)
      case ArrayMin(CreateArray(values, _)) if values.nonEmpty => least(values)
      case ArrayMax(CreateArray(values, _)) if values.nonEmpty => greatest(values)
      case First(SortArray(CreateArray(values, _), Literal(ascending: Boolean, _)))
          if values.nonEmpty =>
        // NULL comes first in ascending order, and last in descending order
        if (!ascending) greatest(values)
        else {
          CaseWhen(
            Seq(values.map(IsNull(_): Expression).reduce(Or(_, _)) ->
              Literal(null, values.head.dataType)),
            least(values))
        }
    }
    if (changed eq filter) None else Some(changed)
  }

  private def least(values: Seq[Expression]): Expression =
    if (values.size == 1) values.head else Least(values)

  private def greatest(values: Seq[Expression]): Expression =
    if (values.size == 1) values.head else Greatest(values)

  private object First {
    def unapply(e: Expression): Option[Expression] = e match {
      case GetArrayItem(list, Literal(0, _), _) => Some(list)
      case ElementAt(list, Literal(1, _), _, _) => Some(list)
      case _ => None
    }
  }
}

/**
 * A comparison of GREATEST or LEAST of several columns with a literal, as comparisons of the columns. Both
 * functions leave NULLs out, so `greatest(a, b) < 5` is also true where `a` is NULL and `b` is 1.
 */
private[predicate] object Extremes {

  /**
   * A function that returns a filter without GREATEST or LEAST. The argument of the function is true for the
   * negation. The returned filter is true in every row in which the given filter is true or, if negated, false.
   * It may be true in further rows.
   */
  def unapply(filter: Expression): Option[Boolean => Expression] = filter match {
    case Comparison.WithLiteral(Extreme(values, isGreatest), comparison, x) if x.value != null =>
      Some(negated =>
        compared(values, isGreatest, if (negated) comparison.negated else comparison, x))
    case EqualTo(Extreme(values, isGreatest), x: Literal) if x.value != null =>
      Some(equal(values, isGreatest, x, _))
    case EqualTo(x: Literal, Extreme(values, isGreatest)) if x.value != null =>
      Some(equal(values, isGreatest, x, _))
    case In(Extreme(values, _), list) if list.forall(_.isInstanceOf[Literal]) =>
      Some { negated =>
        // a column with a value of the list proves nothing: GREATEST or LEAST may be the value of another column
        if (negated) Literal(true) else values.map(In(_, list): Expression).reduce(Or)
      }
    case _ => None
  }

  /** The values of a GREATEST or LEAST of several columns. */
  private object Extreme {
    def unapply(e: Expression): Option[(Seq[Expression], Boolean)] = e match {
      case _: Greatest | _: Least if e.references.size > 1 =>
        Some((e.children, e.isInstanceOf[Greatest]))
      case _ => None
    }
  }

  private def compared(
      values: Seq[Expression],
      isGreatest: Boolean,
      comparison: Comparison,
      x: Literal): Expression = {
    def one(v: Expression): Expression = comparison match {
      case Comparison.Less => LessThan(v, x)
      case Comparison.AtMost => LessThanOrEqual(v, x)
      case Comparison.Greater => GreaterThan(v, x)
      case Comparison.AtLeast => GreaterThanOrEqual(v, x)
    }
    // GREATEST is above x if one of the values is, and below x if each of them is; LEAST the other way around
    if (comparison.isGreater == isGreatest) values.map(one).reduce(Or)
    else values.map(v => Or(one(v), IsNull(v)): Expression).reduce(And)
  }

  private def equal(
      values: Seq[Expression],
      isGreatest: Boolean,
      x: Literal,
      negated: Boolean): Expression = {
    def is(comparison: Comparison) = compared(values, isGreatest, comparison, x)
    if (negated) Or(is(Comparison.Greater), is(Comparison.Less))
    else {
      val one = values.map(EqualTo(_, x): Expression).reduce(Or)
      And(And(one, is(Comparison.AtLeast)), is(Comparison.AtMost))
    }
  }
}
