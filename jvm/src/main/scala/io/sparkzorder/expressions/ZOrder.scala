// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.expressions.{
  Expression,
  ExpressionDescription,
  UnaryExpression
}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.types.{DataType, LongType}

import io.sparkzorder.bits.{HilbertCurve, ZValues}
import io.sparkzorder.expressions.sampling.SampledCurve

/**
 * `zorder(c1, ..., cn)`: the Z-value of the range ids of the columns.
 *
 * The call is a placeholder, which [[ResolveSampledCalls]] replaces by an expression that reads a sample.
 */
// scalastyle:off line.size.limit
@ExpressionDescription(
  usage =
    """
    _FUNC_(col1, col2, ...) - Returns the Z-value of a row, a BIGINT of at least 0. The Z-value is computed from the ranks of the columns' values among the rows of the query. Rows with close Z-values mostly have similar ranks in every column, so sorting by the Z-value clusters by all columns equally.
  """,
  arguments = """
    Arguments:
      * col - a column of an orderable atomic type; 1 to 63 of them.
  """,
  examples = """
    Examples:
      > SELECT a, b FROM VALUES (0, 0), (0, 1), (1, 0), (1, 1) AS tab(a, b) ORDER BY _FUNC_(a, b);
       0	0
       0	1
       1	0
       1	1
      > SELECT _FUNC_(a) FROM VALUES (7), (7) AS tab(a);
       32768
       32768
  """,
  note =
    """
    The function maps each column to a range id of min(16, floor(63 / n)) bits and interleaves the bits of the ids, the first column first. When the query runs, Spark samples the input of the operator once for all calls in it. Only the ranks of the values matter, not the types and ranges of the columns. With one column the result never decreases as the column increases, but different values can share a Z-value. NULL has range id 0. The function does not work in streams, in lambda functions, or over columns of an outer query. `zorder_by_value` works there.
  """,
  since = "0.3.0",
  group = "misc_funcs")
// scalastyle:on line.size.limit
private[sparkzorder] case class ZOrder(children: Seq[Expression]) extends SampledCurve {

  override def prettyName: String = ZOrder.Name
  override protected def maxColumns: Int = ZValues.MaxColumns

  override def bySample(sample: Expression, positions: Seq[Int]): Expression =
    ZValueBySample(children, sample, positions)

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): ZOrder =
    copy(children = newChildren)
}

private[sparkzorder] object ZOrder {
  val Name = "zorder"
}

/**
 * `hilbert(c1, ..., cn)`: the Hilbert index of the columns' range ids.
 *
 * The call is a placeholder, which [[ResolveSampledCalls]] replaces by an expression that reads a sample. The
 * range ids are those of [[ZOrder]]. If one operator calls both functions with the same columns, both read the
 * same sample, and Spark can compute the Z-value of a row once for both.
 */
// scalastyle:off line.size.limit
@ExpressionDescription(
  usage =
    """
    _FUNC_(col1, col2, ...) - Returns the Hilbert index of a row, a BIGINT of at least 0. The index is computed from the ranks of the columns' values among the rows of the query. Rows with close indices have similar ranks in every column.
  """,
  arguments = """
    Arguments:
      * col - a column of an orderable atomic type; 1 to 9 of them.
  """,
  examples = """
    Examples:
      > SELECT a, b FROM VALUES (0, 0), (0, 1), (1, 0), (1, 1) AS tab(a, b) ORDER BY _FUNC_(a, b);
       0	0
       0	1
       1	1
       1	0
      > SELECT _FUNC_(a) FROM VALUES (7), (7) AS tab(a);
       32768
       32768
  """,
  note =
    """
    The function maps each column to a range id of min(16, floor(63 / n)) bits, as `zorder` does, and returns the position of that point on the Hilbert curve. When the query runs, Spark samples the input of the operator once for all calls in it. Only the ranks of the values matter, not the types and ranges of the columns. With one column the result equals that of `zorder`: it never decreases as the column increases, but different values can share an index. NULL has range id 0. The function does not work in streams, in lambda functions, or over columns of an outer query. `zorder_by_value` works there.
  """,
  since = "0.3.0",
  group = "misc_funcs")
// scalastyle:on line.size.limit
private[sparkzorder] case class Hilbert(children: Seq[Expression]) extends SampledCurve {

  override def prettyName: String = Hilbert.Name
  override protected def maxColumns: Int = HilbertCurve.MaxColumns

  override def bySample(sample: Expression, positions: Seq[Int]): Expression =
    HilbertIndex(ZValueBySample(children, sample, positions), children.length)

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Hilbert =
    copy(children = newChildren)
}

private[sparkzorder] object Hilbert {
  val Name = "hilbert"
}

/**
 * The Hilbert index of the point that a Z-value denotes. Internal: users cannot call this function.
 *
 * @param child BIGINT, never null: the Z-value of `columns` range ids
 * @param columns 1 to [[io.sparkzorder.bits.HilbertCurve.MaxColumns]]
 */
private[sparkzorder] case class HilbertIndex(child: Expression, columns: Int)
    extends UnaryExpression {

  override def nullable: Boolean = false
  override def dataType: DataType = LongType
  override def prettyName: String = "hilbert_index"

  @transient private lazy val curve = HilbertCurve.of(columns)

  override protected def nullSafeEval(z: Any): Any = curve.index(z.asInstanceOf[Long])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val kernel = ctx.addReferenceObj("hilbertCurve", curve)
    defineCodeGen(ctx, ev, z => s"$kernel.index($z)")
  }

  override protected def withNewChildInternal(newChild: Expression): HilbertIndex =
    copy(child = newChild)
}
