package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionDescription}

import io.sparkzorder.bits.ZValues
import io.sparkzorder.expressions.sampling.SampledCurve

/**
 * `zorder(c1, ..., cn)`: the Z-value of the columns' range ids.
 *
 * Stands for the Z-value until [[ResolveSampledCalls]] has put a sample of the operator's input under it.
 */
// scalastyle:off line.size.limit
@ExpressionDescription(
  usage =
    """
    _FUNC_(col1, col2, ...) - Returns the Z-value of the columns within the rows of the query, a BIGINT of at least 0. Rows that are near each other in every column have Z-values near each other, so sorting by it clusters by all columns alike.
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
    Interleaves the columns' range ids of min(16, floor(63 / n)) bits, the first column's bit first. Samples the rows that enter the operator, once for all calls of the operator, when the query runs; so types and ranges of the columns do not matter, only the ranks of their values. Of one column it ascends with the column, but not strictly. NULL has range id 0. It does not work in streams, lambda functions, or over columns of an outer query; `zorder_by_value` does.
  """,
  since = "0.1.0",
  group = "misc_funcs")
// scalastyle:on line.size.limit
case class ZOrder(children: Seq[Expression]) extends SampledCurve {

  override def prettyName: String = ZOrder.Name
  override protected def maxColumns: Int = ZValues.MaxColumns

  override def bySample(sample: Expression, positions: Seq[Int]): Expression =
    ZValueBySample(children, sample, positions)

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): ZOrder =
    copy(children = newChildren)
}

object ZOrder {
  val Name = "zorder"
}
