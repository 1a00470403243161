// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}

/** Whether an expression can be NULL, by what Spark says of it. */
private[predicate] final class Nullability(columns: TableColumns) {

  /** True if the expression has a value for each row, whatever the columns hold. */
  def isNever(e: Expression): Boolean = !isNullable(e, columnsAre = true)

  /** The columns of which one is NULL where the expression is NULL; None if that is not known. */
  def columnsOf(e: Expression): Option[Seq[Expression]] =
    if (isNullable(e, columnsAre = false)) None else Some(columnsIn(e))

  // a field of a struct is a column, and the struct around it does not count
  private def columnsIn(e: Expression): Seq[Expression] =
    if (isColumn(e)) Seq(e) else e.children.flatMap(columnsIn)

  /** Also true for an expression with anything but columns of the table. */
  private def isNullable(e: Expression, columnsAre: Boolean): Boolean = {
    val assumed = e.transformDown {
      case c if isColumn(c) => BoundReference(0, c.dataType, columnsAre)
    }
    assumed.references.nonEmpty || assumed.nullable
  }

  private def isColumn(e: Expression): Boolean = columns.find(e).isRight
}
