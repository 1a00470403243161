// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionDescription}

import io.sparkzorder.bits.ZValues
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
    _FUNC_(col1, col2, ...) - Returns the Z-value of a row, a BIGINT of at least 0. The Z-value is computed from the ranks of the columns' values among the rows of the query. Rows with similar values in every column get similar Z-values, so sorting by the Z-value clusters by all columns equally.
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
  since = "0.1.0",
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
