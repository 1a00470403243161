package io.sparkzorder.skipping.scan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types.DataType

/**
 * Keys of a join as a short filter. Parquet and ORC compare the filter with the min and max of every row
 * group and page, and every task gets a copy, so it must stay small however many keys there are.
 */
private[scan] object KeyRanges {

  // more ranges would prune little more, and the reader tests them one by one
  val MaxRanges = 32

  /** @param values not null, at least one */
  def of(key: Expression, values: Array[Any]): Seq[Expression] =
    if (isColumn(key)) Seq(ranges(key, values, MaxRanges)) else Nil

  /**
   * A filter that is true for all values, and for few others.
   *
   * @param values not null, at least one
   */
  def ranges(key: Expression, values: Array[Any], atMost: Int): Expression = {
    val found = whole(values).map(longs =>
      widestGaps(longs, atMost).map { case (a, b) =>
        (back(values.head, a), back(values.head, b))
      }).getOrElse {
      val order = TypeUtils.getInterpretedOrdering(key.dataType)
      Seq((values.min(order), values.max(order)))
    }
    balanced(found.map { case (a, b) => between(key, a, b) }.toIndexedSeq)
  }

  // a chain of thousands of ORs would be as deep
  private def balanced(parts: IndexedSeq[Expression]): Expression =
    if (parts.size == 1) parts.head
    else {
      val (left, right) = parts.splitAt(parts.size / 2)
      Or(balanced(left), balanced(right))
    }

  // Spark's readers get no filter on anything else
  private def isColumn(key: Expression): Boolean = key match {
    case _: Attribute => true
    case g: GetStructField => isColumn(g.child)
    case _ => false
  }

  private def between(key: Expression, low: Any, high: Any): Expression = {
    val t: DataType = key.dataType
    if (low == high) EqualTo(key, Literal(low, t))
    else And(GreaterThanOrEqual(key, Literal(low, t)), LessThanOrEqual(key, Literal(high, t)))
  }

  /** Sorted ranges that hold all values; between them lie the widest gaps. */
  private[scan] def widestGaps(values: Array[Long], atMost: Int = MaxRanges): Seq[(Long, Long)] = {
    val sorted = values.distinct.sorted
    val gaps = (1 until sorted.length)
      // a gap may be wider than the greatest long
      .map(i => i -> (BigInt(sorted(i)) - sorted(i - 1)))
      .filter(_._2 > 1)
    val starts =
      0 +: gaps.sortBy { case (i, gap) => (-gap, i) }.take(atMost - 1).map(_._1).sorted
    starts.zip(starts.tail :+ sorted.length).map { case (from, until) =>
      (sorted(from), sorted(until - 1))
    }
  }

  /** Values of a type that Spark keeps as whole numbers; None for other types. */
  private def whole(values: Array[Any]): Option[Array[Long]] = values.head match {
    case _: Byte | _: Short | _: Int | _: Long =>
      Some(values.map(_.asInstanceOf[Number].longValue))
    case _ => None
  }

  private def back(like: Any, value: Long): Any = like match {
    case _: Byte => value.toByte
    case _: Short => value.toShort
    case _: Int => value.toInt
    case _ => value
  }
}
