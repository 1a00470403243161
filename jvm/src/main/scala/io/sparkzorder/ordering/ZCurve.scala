package io.sparkzorder.ordering

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodeGenerator}

import io.sparkzorder.bits.ZValues

/**
 * A row's place on the Z-curve: for each column its bounds, and the part of the Z-value that each of
 * their slots contributes, spread in advance, so that a row costs one search and one OR a column.
 *
 * Immutable and safe for threads.
 *
 * @param ids the columns' range ids of [[io.sparkzorder.bits.ZValues.bitsPerColumn]] bits
 */
final class ZCurve(ids: Array[ColumnRangeIds]) extends Serializable {

  private val bounds: Array[BoundsIndex] = ids.map(_.bounds)

  private val parts: Array[Array[Long]] = ids.zipWithIndex.map { case (column, c) =>
    column.ids.map(ZValues.part(_, c, ids.length))
  }

  /** The part of column `c` in the Z-value of a row whose value is `value`, null included. */
  def part(c: Int, value: Any): Long =
    if (value == null) 0L else parts(c)(bounds(c).slotOf(value))

  /** As [[part]], by the ordered long of a value of fixed width. */
  def partOfLong(c: Int, ordered: Long): Long =
    parts(c)(bounds(c).asInstanceOf[LongBounds].slot(ordered))
}

private[sparkzorder] object ZCurve {

  /**
   * Java code that ORs the parts of all columns into the local long `z`, split into methods where
   * it is long.
   *
   * @param curve the name of a local variable of type `curveType`
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
