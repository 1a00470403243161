package io.sparkzorder.expressions

import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionDescription}

import io.sparkzorder.bits.HilbertCurve
import io.sparkzorder.expressions.sampling.SampledCurve

/**
 * `hilbert(c1, ..., cn)`: the Hilbert index of the columns' range ids.
 *
 * Stands for the index until [[ResolveSampledCalls]] has put a sample of the operator's input under it.
 * The range ids are those of [[ZOrder]], so the two share a sample and, in one query, the Z-value.
 */
// scalastyle:off line.size.limit
@ExpressionDescription(
  usage =
    """
    _FUNC_(col1, col2, ...) - Returns the Hilbert index of the columns within the rows of the query, a BIGINT of at least 0. Rows that are near each other in every column have indices near each other, and rows that follow each other in its order are near each other in every column.
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
    Takes the columns' range ids of min(16, floor(63 / n)) bits, as `zorder` does, and numbers their points along the Hilbert curve, which never jumps. Samples the rows that enter the operator, once for all calls of the operator, when the query runs; so types and ranges of the columns do not matter, only the ranks of their values. Of one column it is `zorder`: it ascends with the column, but not strictly. NULL has range id 0. It does not work in streams, lambda functions, or over columns of an outer query; `zorder_by_value` does.
  """,
  since = "0.1.0",
  group = "misc_funcs")
// scalastyle:on line.size.limit
case class Hilbert(children: Seq[Expression]) extends SampledCurve {

  override def prettyName: String = Hilbert.Name
  override protected def maxColumns: Int = HilbertCurve.MaxColumns

  override def bySample(sample: Expression, positions: Seq[Int]): Expression =
    HilbertIndex(ZValueBySample(children, sample, positions), children.length)

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Hilbert =
    copy(children = newChildren)
}

object Hilbert {
  val Name = "hilbert"
}
