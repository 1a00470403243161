// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.lang.{Long => JLong}
import java.util.{Arrays, PriorityQueue}

import scala.collection.JavaConverters._

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

  /**
   * @param values not null, at least one
   * @param within the least and the greatest value of the key in the files, as far as is known
   */
  def of(
      key: Expression,
      values: Array[Any],
      within: => Option[(Long, Long)]): Seq[Expression] =
    if (isColumn(key)) Seq(ranges(key, values, MaxRanges, within)) else Nil

  /**
   * A filter that is true for all values, and for few others.
   *
   * @param values not null, at least one
   * @param within the least and the greatest value of the key in the files, as far as is known; the filter
   *   may be true for any other value outside
   */
  def ranges(
      key: Expression,
      values: Array[Any],
      atMost: Int,
      within: => Option[(Long, Long)]): Expression = {
    val found = whole(values).map(longs =>
      widestGaps(longs, atMost, within).map { case (a, b) =>
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

  /**
   * Sorted ranges that hold all values. Between the ranges lie the widest gaps of the values. Only the part of a
   * gap between the least and the greatest value of the files counts, because no file lies elsewhere. A
   * calendar of two hundred years, for example, has more gaps than a filter has ranges, and a table of
   * five of these years needs the gaps of its own years.
   *
   * @param within the least and the greatest value in the files; None if they are not known
   */
  private[scan] def widestGaps(
      values: Array[Long],
      atMost: Int,
      within: => Option[(Long, Long)]): Seq[(Long, Long)] = {
    val sorted = values.clone()
    Arrays.sort(sorted)
    // a difference may be greater than the greatest long: all of them are unsigned
    val gaps = (1 until sorted.length).toArray
      .filter(i => JLong.compareUnsigned(sorted(i) - sorted(i - 1), 1) > 0)
    val starts = 0 +: (if (gaps.length < atMost) gaps else widest(sorted, gaps, atMost - 1, within))
    starts.indices.map { r =>
      val end = if (r + 1 < starts.length) starts(r + 1) else sorted.length
      (sorted(starts(r)), sorted(end - 1))
    }
  }

  /**
   * The widest of some gaps, in ascending order.
   *
   * @param gaps the positions of the values that follow a gap
   */
  private def widest(
      sorted: Array[Long],
      gaps: Array[Int],
      most: Int,
      within: Option[(Long, Long)]): Array[Int] = {
    val (least, greatest) = within.getOrElse((Long.MinValue, Long.MaxValue))
    def width(i: Int): Long = {
      val first = math.max(sorted(i - 1) + 1, least)
      val last = math.min(sorted(i) - 1, greatest)
      if (first > last) 0 else last - first + 1
    }
    // the narrowest first, and of equal ones the last
    val found = new PriorityQueue[Integer](
      most + 1,
      (a: Integer, b: Integer) => {
        val byWidth = JLong.compareUnsigned(width(a), width(b))
        if (byWidth != 0) byWidth else b.compareTo(a)
      })
    gaps.foreach { i =>
      if (width(i) != 0) found.add(i)
      if (found.size > most) found.poll()
    }
    found.asScala.map(_.intValue).toArray.sorted
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
