// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.lang.{Long => JLong}
import java.util.{Arrays, PriorityQueue}

import scala.collection.JavaConverters._

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.{RebaseDateTime, TypeUtils}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.table.{DataFormat, ParquetFiles}

/**
 * Tells which filters the reader of a format may get for row groups and pages. Spark converts the values of a
 * filter to Java objects for the reader, and the reader compares these objects by rules of its own. Either step
 * can make a reader skip rows that match. For example, where a file stores a DECIMAL in 32 bits, Spark cuts the
 * value to 32 bits: `c < 4294967301` becomes `c < 5`.
 */
private[scan] final class ReaderFilters(format: DataFormat) {
  private val isParquet = format == ParquetFiles

  /**
   * True if the reader finds all rows for which the filter is true. `exists` visits each node of the filter. A case
   * that returns false does not end the search: the children of the node are visited next.
   */
  def isSafe(filter: Expression): Boolean = !filter.exists {
    // ORC's reader before ORC-1898 skips row groups that hold only NULL, although NOT (c <=> value) is true
    // for NULL
    case Not(e) => e.exists(_.isInstanceOf[EqualNullSafe])
    // the values of a set are no children of the set
    case InSet(child, values) => !values.forall(isComparable(_, child.dataType))
    case Literal(value, t) => !isComparable(value, t)
    case e => isFloating(e.dataType)
  }

  /**
   * True if readers compare the value as Spark does. False for NULL, because the readers of Spark 3.5 fail on
   * NULL, and for types that are not listed here. DECIMAL is not listed: if a value does not fit into the type of the
   * file, its upper bits are cut off.
   */
  private def isComparable(value: Any, t: DataType): Boolean = (value, t) match {
    case (null, _) => false
    case (_, BooleanType | ShortType | IntegerType | LongType) => true
    // the bounds of ORC's C++ writer before ORC-1725 are wrong
    case (_, ByteType) => isParquet
    case (days: Int, DateType) => isComparable(days)
    case (micros: Long, TimestampType) => isComparable(micros)
    case (text: UTF8String, _: StringType) => isComparable(text)
    case _ => false
  }

  /**
   * Before October 1582, two days that an old file stores may be read as the same day, and ORC's reader
   * looks days up in a bloom filter by another calendar than its writer. Unless
   * `spark.sql.datetime.java8API.enabled` is on, Spark gives readers the midnight of the day in the driver's
   * time zone, which may be another day in the time zone of an executor.
   */
  private def isComparable(days: Int): Boolean =
    days >= RebaseDateTime.lastSwitchJulianDay && SQLConf.get.datetimeJava8ApiEnabled

  /**
   * In a column of milliseconds, Parquet's reader compares with the whole millisecond before the value. ORC
   * keeps the bounds of timestamps as local times, and one hour of local time comes twice where summer time ends.
   */
  private def isComparable(micros: Long): Boolean =
    isParquet && micros % MicrosOfMilli == 0 && micros >= RebaseDateTime.lastSwitchJulianTs

  /**
   * Text that is not valid UTF-8 has other bytes after Spark has made a Java string of it. ORC's reader orders
   * text by UTF-16, but the bounds in ORC files are ordered by bytes.
   */
  private def isComparable(text: UTF8String): Boolean = {
    val string = text.toString
    UTF8String.fromString(string) == text && (isParquet || string.forall(_ < FirstNotAscii))
  }

  // Parquet's filter by dictionaries takes 0.0 and -0.0 for two values, which are one value for Spark
  private def isFloating(t: DataType): Boolean = t match {
    case FloatType | DoubleType => true
    case _ => false
  }

  private val MicrosOfMilli = 1000L
  private val FirstNotAscii = 0x80
}

/**
 * Turns the keys of a join into a short filter. The readers of Parquet and ORC compare the filter with the
 * min and max of every row group and page, and every task gets a copy of the filter. The filter must
 * therefore stay small however many keys there are.
 */
private[scan] object KeyRanges {

  // more ranges would prune little more, and the reader tests the ranges one by one
  val MaxRanges = 32

  /**
   * The filters for the reader: one filter that is true for all these values. Empty if Spark gives its readers no
   * filter on the key.
   *
   * @param values not null, at least one
   * @param within the least and the greatest value of the key in all files with known bounds; None if they
   *   are not known
   */
  def of(
      key: Expression,
      values: Array[Any],
      within: => Option[(Long, Long)]): Seq[Expression] =
    if (isColumn(key)) Seq(ranges(key, values, MaxRanges, within)) else Nil

  /**
   * A filter that is true for all these values, and for few other values.
   *
   * @param values not null, at least one
   * @param within the least and the greatest value of the key in all files with known bounds; None if they
   *   are not known. Gaps outside this interval are not used, so the filter may be true for any value
   *   there.
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

  // a chain of thousands of ORs would be a tree thousands of levels deep, and recursion over it could
  // overflow the stack
  private def balanced(parts: IndexedSeq[Expression]): Expression =
    if (parts.size == 1) parts.head
    else {
      val (left, right) = parts.splitAt(parts.size / 2)
      Or(balanced(left), balanced(right))
    }

  // Spark pushes only filters on columns and fields of structs down to its readers
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
   * Sorted ranges that hold all values. The gaps between the ranges are the widest gaps between the values.
   * Of each gap, only the part between the least and the greatest value of the files counts, because few or
   * no files have other values. For example, a calendar of two hundred years has more gaps than a filter
   * may have ranges. A table with five of these years needs the gaps that lie in its own years.
   *
   * @param within the least and the greatest value in all files with known bounds; None if they are not
   *   known
   */
  private[scan] def widestGaps(
      values: Array[Long],
      atMost: Int,
      within: => Option[(Long, Long)]): Seq[(Long, Long)] = {
    val sorted = values.clone()
    Arrays.sort(sorted)
    // the difference of two values may exceed Long.MaxValue, so all differences are taken as unsigned
    val gaps = (1 until sorted.length).toArray
      .filter(i => JLong.compareUnsigned(sorted(i) - sorted(i - 1), 1) > 0)
    val starts = 0 +: (if (gaps.length < atMost) gaps else widest(sorted, gaps, atMost - 1, within))
    starts.indices.map { r =>
      val end = if (r + 1 < starts.length) starts(r + 1) else sorted.length
      (sorted(starts(r)), sorted(end - 1))
    }
  }

  /**
   * The `most` widest gaps, in ascending order of their positions. A gap that lies wholly outside `within`
   * is left out.
   *
   * @param gaps for each gap the position of the value that follows it
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
    // the head of the queue is the gap to drop: the narrowest, and the last of several equally narrow gaps
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

  /** The values as longs if Spark holds values of this type as whole numbers; None for other types. */
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
