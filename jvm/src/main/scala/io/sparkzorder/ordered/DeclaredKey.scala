// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.types.DataType

/**
 * Marks the key by which a write is ordered. The value is that of the child.
 *
 * The mark tells [[OrderWrites]] that a query is ordered already, and EXPLAIN shows the mark with
 * the way of ordering and its reason.
 *
 * @param grade `sort`, `cells` or `sampled`
 * @param why why this way was chosen
 * @param nested the declaration, where a nested write has to choose the key
 */
private[sparkzorder] case class DeclaredKey(
    child: Expression,
    grade: String,
    why: String,
    nested: Option[DeclaredWrite] = None)
    extends UnaryExpression {
  override def nullable: Boolean = child.nullable
  override def dataType: DataType = child.dataType
  // a constant column is sorted by like any other, so that the mark stays in the plan
  override def foldable: Boolean = false
  override def prettyName: String = "declared_order"
  override def toString: String = s"$prettyName($child; $grade: $why)"
  override def sql: String = s"$prettyName(${child.sql})"

  override def eval(input: InternalRow): Any = child.eval(input)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val value = child.genCode(ctx)
    ev.copy(code = value.code, isNull = value.isNull, value = value.value)
  }

  override protected def withNewChildInternal(newChild: Expression): DeclaredKey =
    copy(child = newChild)
}
