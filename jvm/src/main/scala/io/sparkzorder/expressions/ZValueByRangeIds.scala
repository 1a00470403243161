package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.{
  CodegenContext,
  CodeGenerator,
  ExprCode,
  FalseLiteral
}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.{DataType, LongType}

/**
 * The Z-value of a row by known range ids: internal, for who holds the ids on the driver.
 *
 * Every column looks up its slot, and the slot's part of the Z-value, spread to its bits in advance,
 * is ORed in. NULL gives id 0, which is no bits.
 *
 * @param columns the ordering columns, of orderable atomic types
 * @param folder INT, never null: which row of `models` places this row
 * @param models `[folder][column]`, ids of [[io.sparkzorder.bits.ZValues.bitsPerColumn]] bits
 */
case class ZValueByRangeIds(
    columns: Seq[Expression],
    folder: Expression,
    models: Array[Array[ColumnRangeIds]])
    extends Expression {

  require(
    models.forall(_.length == columns.length),
    s"every folder needs range ids for ${columns.length} columns")

  override def children: Seq[Expression] = columns :+ folder
  override def nullable: Boolean = false
  override def dataType: DataType = LongType
  override def prettyName: String = "z_value_by_range_ids"
  // the default would print the models
  override def toString: String = s"$prettyName(${columns.mkString(", ")})"
  override def stringArgs: Iterator[Any] = children.iterator

  @transient private lazy val curves: Array[ZCurve] = models.map(new ZCurve(_))

  override def eval(input: InternalRow): Any = {
    val curve = curves(folder.eval(input).asInstanceOf[Int])
    var z = 0L
    var c = 0
    while (c < columns.length) {
      z |= curve.part(c, columns(c).eval(input))
      c += 1
    }
    z
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val all = ctx.addReferenceObj("curves", curves)
    val at = folder.genCode(ctx)
    val curve = ctx.freshName("curve")
    val curveType = classOf[ZCurve].getName
    val body = ZCurve.partsCode(ctx, columns, curve, curveType, ev.value)
    ev.copy(
      code = code"""
        ${at.code}
        $curveType $curve = $all[${at.value}];
        ${CodeGenerator.JAVA_LONG} ${ev.value} = 0L;
        $body
      """,
      isNull = FalseLiteral)
  }

  override def equals(other: Any): Boolean = other match {
    case that: ZValueByRangeIds =>
      columns == that.columns && folder == that.folder && (models eq that.models)
    case _ => false
  }

  override def hashCode(): Int =
    31 * (31 * columns.hashCode + folder.hashCode) + System.identityHashCode(models)

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[Expression]): ZValueByRangeIds =
    copy(columns = newChildren.init, folder = newChildren.last)
}
