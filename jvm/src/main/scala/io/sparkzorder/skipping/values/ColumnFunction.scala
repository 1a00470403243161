// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.nio.{ByteBuffer, CharBuffer}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.bits.OrderedLongs

/**
 * A function of one value, between a column and the predicate that compares the function's result.
 */
private[sparkzorder] trait ColumnFunction {

  /**
   * The values that the function may map into `results`. The set may hold further values. It may lack values
   * outside of `range` only if the range holds the values of all files, because a file is pruned if it has no
   * value of the set, and every file is pruned by an empty set.
   *
   * @param ofNulls values for which the function is NULL are wanted, too
   * @param range where the values of the files lie, as far as is known
   * @throws scala.Exception if the values cannot be computed
   */
  def valuesFor(results: Intervals, ofNulls: Boolean, range: => Option[KnownRange]): Intervals
}

/**
 * Where the values of files lie.
 *
 * @param isOfAllFiles false if a file without bounds may hold any other value
 */
private[sparkzorder] final case class KnownRange(
    least: Long,
    greatest: Long,
    isOfAllFiles: Boolean) {
  def isEmpty: Boolean = least > greatest
}

/** A function of texts whose results are ordered longs. The texts are computed from the results. */
private[values] trait ReadText extends ColumnFunction {

  /** The texts for some results, of which there is at least one. */
  protected def texts(results: LongIntervals): Intervals

  final override def valuesFor(
      results: Intervals,
      ofNulls: Boolean,
      range: => Option[KnownRange]): Intervals = results match {
    case _ if ofNulls => ByteIntervals.all
    case none if none.isEmpty => Intervals.none
    case longs: LongIntervals => texts(longs)
    case other => throw new IllegalArgumentException(s"$other is no set of longs")
  }
}

/** Ordered longs as values in Spark's internal form. */
private[sparkzorder] object OrderedValue {

  /** @throws IllegalArgumentException for a type whose values are not ordered longs */
  def ofLong(dataType: DataType): Long => Any = dataType match {
    case BooleanType => _ != 0
    case ByteType => _.toByte
    case ShortType => _.toShort
    case IntegerType | DateType => _.toInt
    case LongType | TimestampType | TimestampNTZType => identity
    case FloatType => v => double(v).toFloat
    case DoubleType => double
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS =>
      v => Decimal(v, d.precision, d.scale)
    case other => throw new IllegalArgumentException(s"values of ${other.sql} are no longs")
  }

  private def double(ordered: Long): Double =
    java.lang.Double.longBitsToDouble(ordered ^ ((ordered >> 63) & Long.MaxValue))

  /** The least and the greatest value of a type, without NaN; None if its values are no longs. */
  def range(dataType: DataType): Option[(Long, Long)] = dataType match {
    case BooleanType => Some((0L, 1L))
    case ByteType => Some((Byte.MinValue.toLong, Byte.MaxValue.toLong))
    case ShortType => Some((Short.MinValue.toLong, Short.MaxValue.toLong))
    case IntegerType | DateType => Some((Int.MinValue.toLong, Int.MaxValue.toLong))
    case LongType | TimestampType | TimestampNTZType => Some((Long.MinValue, Long.MaxValue))
    case FloatType | DoubleType =>
      Some((
        OrderedLongs.ofDouble(Double.NegativeInfinity),
        OrderedLongs.ofDouble(Double.PositiveInfinity)))
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS =>
      val limit = BigInt(10).pow(d.precision).toLong - 1
      Some((-limit, limit))
    case _ => None
  }
}

/** The first `count` characters of a string. */
private[sparkzorder] final case class FirstCharacters(count: Int) extends ColumnFunction {

  override def valuesFor(
      results: Intervals,
      ofNulls: Boolean,
      range: => Option[KnownRange]): Intervals =
    results match {
      case bytes: ByteIntervals =>
        Intervals.ofByteRanges(bytes.lows.zip(bytes.highs).toSeq.flatMap { case (low, high) =>
          from(low).map(_ -> until(high))
        })
      case other => other
    }

  /**
   * The least string whose beginning is not below an end. Of the strings that share `count`
   * characters with the end, all have the same beginning.
   */
  private def from(low: ByteEnd): Option[ByteEnd] = sharedWith(low) match {
    case Some((shared, isAll)) if !(isAll && low.inclusive) =>
      val above = Intervals.ofPrefix(shared).highs.last
      if (above.isEndless) None else Some(above.outside)
    case None if isTorn(low) => Some(ByteEnd(whole(low.value) :+ 0x80.toByte, inclusive = true))
    case _ => Some(low)
  }

  /** The end of the strings whose beginning is not above an end. */
  private def until(high: ByteEnd): ByteEnd = sharedWith(high) match {
    case Some((shared, isAll)) if high.inclusive || !isAll => Intervals.ofPrefix(shared).highs.last
    case None if isTorn(high) => Intervals.ofPrefix(whole(high.value)).highs.last
    case _ => high
  }

  /** The first `count` characters of an end, if it has so many, and whether they are all. */
  private def sharedWith(end: ByteEnd): Option[(Array[Byte], Boolean)] =
    if (end.isEndless) None
    else {
      val shared = UTF8String.fromBytes(whole(end.value)).substring(0, count)
      if (shared.numChars < count) None
      else Some((shared.getBytes, shared.numBytes == end.value.length))
    }

  // an end made of bytes may stop inside of a character, which says nothing of whole characters
  private def isTorn(end: ByteEnd): Boolean =
    !end.isEndless && whole(end.value).length < end.value.length

  /** The bytes before the first that are no UTF-8. */
  private def whole(bytes: Array[Byte]): Array[Byte] = {
    val in = ByteBuffer.wrap(bytes)
    val _ = UTF_8.newDecoder().decode(in, CharBuffer.allocate(bytes.length), true)
    Arrays.copyOf(bytes, in.position())
  }
}
