// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodeGenerator}
import org.apache.spark.sql.types.DataType

import io.sparkzorder.bits.ZValues

/**
 * Maps the values of one column to range ids, by the slot of a value among the bounds of the column. Immutable and
 * thread-safe.
 *
 * Of two values, the greater one in Spark's order has the same id or a greater one. NULL has id 0.
 *
 * @param ids one id for each slot of `bounds`, so `2 * bounds.length + 1` ids; not negative, and never
 *   descending
 */
private[sparkzorder] final class ColumnRangeIds(
    val dataType: DataType,
    val bounds: BoundsIndex,
    val ids: Array[Int])
    extends Serializable {

  require(
    ids.length == 2 * bounds.length + 1,
    s"${bounds.length} bounds have ${2 * bounds.length + 1} slots, not ${ids.length}")

  /** The id of a Catalyst value of the column's type; null has id 0. */
  def idOf(value: Any): Int = if (value == null) 0 else ids(bounds.slotOf(value))

  /** The id of a value of a type of fixed width, by its ordered long ([[FixedOrder.toLong]]). */
  def idOfLong(ordered: Long): Int = ids(bounds.asInstanceOf[LongBounds].slot(ordered))
}

/**
 * Computes the Z-values of rows. For each column, the curve holds the bounds. For each slot of the bounds
 * ([[BoundsIndex]]), it holds the bits that a value in the slot contributes to the Z-value. So a row costs one
 * search and one OR for each column.
 *
 * Immutable and thread-safe.
 *
 * @param ids the range ids of each column, which have [[io.sparkzorder.bits.ZValues.bitsPerColumn]] bits
 */
private[sparkzorder] final class ZCurve(ids: Array[ColumnRangeIds]) extends Serializable {

  private val bounds: Array[BoundsIndex] = ids.map(_.bounds)

  private val parts: Array[Array[Long]] = ids.zipWithIndex.map { case (column, c) =>
    column.ids.map(ZValues.part(_, c, ids.length))
  }

  /** The part that the value of column `c`, which may be null, contributes to the Z-value. */
  def part(c: Int, value: Any): Long =
    if (value == null) 0L else parts(c)(bounds(c).slotOf(value))

  /** Like [[part]], for a non-null value of a type of fixed width, by its ordered long ([[FixedOrder.toLong]]). */
  def partOfLong(c: Int, ordered: Long): Long =
    parts(c)(bounds(c).asInstanceOf[LongBounds].slot(ordered))
}

private[sparkzorder] object ZCurve {

  /**
   * Java code that ORs the parts of all columns into a local variable. If the code is long, Spark splits it
   * into methods.
   *
   * @param curve the name of a local variable of type `curveType`
   * @param z the name of the local variable of type long for the result
   */
  def partsCode(
      ctx: CodegenContext,
      columns: Seq[Expression],
      curve: String,
      curveType: String,
      z: String): String = {
    val steps = columns.zipWithIndex.map { case (column, c) =>
      val value = column.genCode(ctx)
      val part = OrderedType.require(column.dataType) match {
        case f: FixedOrder => s"$curve.partOfLong($c, ${f.longCode(value.value)})"
        case _ => s"$curve.part($c, ${value.value})"
      }
      s"${value.code}\n${ctx.nullSafeExec(column.nullable, value.isNull)(s"$z |= $part;")}"
    }
    ctx.splitExpressionsWithCurrentInputs(
      expressions = steps,
      funcName = "zParts",
      extraArguments = Seq(curveType -> curve, CodeGenerator.JAVA_LONG -> z),
      returnType = CodeGenerator.JAVA_LONG,
      makeSplitFunction = body => s"$body\nreturn $z;",
      foldFunctions = _.map(call => s"$z = $call;").mkString("\n"))
  }
}
