// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.apache.spark.sql.catalyst.expressions.{BinaryExpression, Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.types.{DataType, IntegerType, LongType}
import org.apache.spark.unsafe.types.UTF8String

/** The number of the folder of a row, from its path below the table. */
private[sparkzorder] case class FolderOfPath(child: Expression, cells: CellsOfGrid)
    extends UnaryExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = IntegerType
  override def prettyName: String = "folder_of_path"
  override def stringArgs: Iterator[Any] = children.iterator

  override protected def nullSafeEval(path: Any): Any = cells.folder(path.asInstanceOf[UTF8String])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val all = ctx.addReferenceObj("cells", cells)
    nullSafeCodeGen(ctx, ev, path => s"${ev.value} = $all.folder($path);")
  }

  override protected def withNewChildInternal(newChild: Expression): FolderOfPath =
    copy(child = newChild)
}

/**
 * The shuffle key of a row, see [[WriteCells.key]].
 *
 * @param left the place of the row
 * @param right the path of its folder below the table
 */
private[sparkzorder] case class CellOfPlace(left: Expression, right: Expression, cells: WriteCells)
    extends BinaryExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = LongType
  override def prettyName: String = "cell_of_place"
  override def stringArgs: Iterator[Any] = children.iterator

  override protected def nullSafeEval(place: Any, path: Any): Any =
    cells.key(place.asInstanceOf[Long], path.asInstanceOf[UTF8String])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val all = ctx.addReferenceObj("cells", cells, classOf[WriteCells].getName)
    nullSafeCodeGen(ctx, ev, (place, path) => s"${ev.value} = $all.key($place, $path);")
  }

  override protected def withNewChildrenInternal(
      newLeft: Expression,
      newRight: Expression): CellOfPlace = copy(left = newLeft, right = newRight)
}
