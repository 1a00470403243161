// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{DataType, StructType}

/** Matches a row of expressions, such as `(a, b)` in `(a, b) IN ((1, 2), (3, 4))`. */
private[predicate] object RowOf {
  def unapply(e: Expression): Option[Seq[Expression]] = e match {
    case s: CreateNamedStruct => Some(s.valExprs)
    case _ => None
  }
}

/** The values of literal rows. */
private[predicate] object RowValues {

  /** For each row, its values with their types. None if a row is NULL, or if the type is not a struct. */
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
   * Returns a function from `negated` to a weaker filter, which reads only the first expression of the row.
   * The weaker filter is true in each row in which the given filter is true or, with `negated`, false. For
   * example, `(a, b) > (1, 2)` becomes `a >= 1`: the filter `a > 1` would wrongly skip `a = 1, b = 3`.
   */
  def unapply(filter: Expression): Option[Boolean => Expression] = filter match {
    case GreaterThan(RowOf(row), FirstOf(value)) => Some(first(row.head, value, isGreater = true))
    case GreaterThanOrEqual(RowOf(row), FirstOf(value)) =>
      Some(first(row.head, value, isGreater = true))
    case LessThan(RowOf(row), FirstOf(value)) => Some(first(row.head, value, isGreater = false))
    case LessThanOrEqual(RowOf(row), FirstOf(value)) =>
      Some(first(row.head, value, isGreater = false))
    case GreaterThan(FirstOf(value), RowOf(row)) => Some(first(row.head, value, isGreater = false))
    case GreaterThanOrEqual(FirstOf(value), RowOf(row)) =>
      Some(first(row.head, value, isGreater = false))
    case LessThan(FirstOf(value), RowOf(row)) => Some(first(row.head, value, isGreater = true))
    case LessThanOrEqual(FirstOf(value), RowOf(row)) =>
      Some(first(row.head, value, isGreater = true))
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
