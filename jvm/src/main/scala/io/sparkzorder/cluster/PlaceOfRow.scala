// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.codegen.{
  CodegenContext,
  CodeGenerator,
  ExprCode,
  FalseLiteral
}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.types.{DataType, LongType}

import io.sparkzorder.ordering.{FixedOrder, OrderedType}

/**
 * The place of a row in a layout, BIGINT; see [[Placement]].
 *
 * @param columns the ordering columns
 * @param folder INT, never null
 * @param tie BIGINT, never null: tells rows apart that have the same values in all ordering columns
 */
private[sparkzorder] case class PlaceOfRow(
    columns: Seq[Expression],
    folder: Expression,
    tie: Expression,
    placement: Placement)
    extends Expression {

  override def children: Seq[Expression] = columns :+ folder :+ tie
  override def nullable: Boolean = false
  override def dataType: DataType = LongType
  override def prettyName: String = "place_of_row"
  // the default would print the grid
  override def toString: String = s"$prettyName(${columns.mkString(", ")})"
  override def stringArgs: Iterator[Any] = children.iterator

  override def eval(input: InternalRow): Any = {
    val at = placement.folder(folder.eval(input).asInstanceOf[Int])
    val slots = columns.indices.map { c =>
      val value = columns(c).eval(input)
      // NULL has the slot -1, below the slots of all values
      if (value == null) -1 else at.slotOf(c, value)
    }
    at.place(slots.toArray, tie.eval(input).asInstanceOf[Long])
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val all = ctx.addReferenceObj("placement", placement)
    val slots = ctx.addMutableState(
      "int[]",
      "slots",
      name => s"$name = new int[${columns.length}];",
      forceInline = true)
    val (folderCode, tieCode) = (folder.genCode(ctx), tie.genCode(ctx))
    val at = ctx.freshName("folder")
    val atType = classOf[PlacedFolder].getName
    val steps = columns.zipWithIndex.map { case (column, c) =>
      val value = column.genCode(ctx)
      val slot = OrderedType.require(column.dataType) match {
        case f: FixedOrder => s"$at.slotOfOrdered($c, ${f.longCode(value.value)})"
        case _ => s"$at.slotOf($c, ${value.value})"
      }
      val assign =
        if (column.nullable) s"$slots[$c] = ${value.isNull} ? -1 : $slot;"
        else s"$slots[$c] = $slot;"
      s"${value.code}\n$assign"
    }
    val body = ctx.splitExpressionsWithCurrentInputs(
      expressions = steps,
      funcName = "slots",
      extraArguments = Seq(atType -> at))
    ev.copy(
      code = code"""
        ${folderCode.code}
        ${tieCode.code}
        $atType $at = $all.folder(${folderCode.value});
        $body
        ${CodeGenerator.JAVA_LONG} ${ev.value} = $at.place($slots, ${tieCode.value});
      """,
      isNull = FalseLiteral)
  }

  override def equals(other: Any): Boolean = other match {
    case that: PlaceOfRow => children == that.children && (placement eq that.placement)
    case _ => false
  }

  override def hashCode(): Int = 31 * children.hashCode + System.identityHashCode(placement)

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[Expression]): PlaceOfRow =
    copy(
      columns = newChildren.dropRight(2),
      folder = newChildren(newChildren.length - 2),
      tie = newChildren.last)
}

private[sparkzorder] object PlaceOfRow {

  /**
   * The shuffle key of a row: a BIGINT that Spark's hash partitioning maps to the partition with the number of
   * the row's file.
   *
   * @param place BIGINT, never null
   */
  def shuffleKeyOf(place: Expression, placement: Placement): Expression = Invoke(
    Literal.fromObject(placement),
    "preimage",
    LongType,
    Seq(place),
    propagateNull = false,
    returnNullable = false)
}
