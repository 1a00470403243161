package io.sparkzorder.skipping.values

import java.nio.{ByteBuffer, CharBuffer}
import java.nio.charset.StandardCharsets.UTF_8
import java.time.LocalDate
import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, GenericInternalRow}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.bits.OrderedLongs

/**
 * A function of one value, between a column and the predicate that compares the function's result.
 */
private[sparkzorder] trait ColumnFunction {

  /**
   * The values that the function may map into `results`. The set may hold further values, but lacks
   * none, because a file without these values is pruned.
   *
   * @param range the least and the greatest value of all files, if they are known
   * @throws scala.Exception if the values cannot be computed
   */
  def valuesFor(results: Intervals, range: => Option[(Long, Long)]): Intervals

  /** The range of the results for values of a range; None if it is not known. */
  def rangeOf(values: (Long, Long)): Option[(Long, Long)]
}

/** A call of a Spark expression whose only variable is one of its children. */
private[sparkzorder] final class SparkCall(call: Expression, variable: Expression) {
  private val bound = call.withNewChildren(call.children.map { child =>
    if (child eq variable) BoundReference(0, variable.dataType, nullable = true) else child
  })
  private val domain = ComparisonDomain.of(call.dataType).orNull
  private val ofLong = OrderedValue.ofLong(variable.dataType)

  /** The place of the result for an ordered long among the values of the result's type. */
  def apply(value: Long): LiteralPosition = {
    val input: InternalRow = new GenericInternalRow(Array[Any](ofLong(value)))
    val result = bound.eval(input)
    LiteralPosition.of(result, domain).getOrElse {
      throw new ArithmeticException(s"${call.prettyName} has no usable result for some value")
    }
  }
}

/** Ordered longs as values in Spark's internal form. */
private[sparkzorder] object OrderedValue {

  /** @throws IllegalArgumentException for a type whose values are not ordered longs */
  def ofLong(dataType: DataType): Long => Any = dataType match {
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

  override def valuesFor(results: Intervals, range: => Option[(Long, Long)]): Intervals =
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
    case None if isTorn(low) => Some(ByteEnd(whole(low.value), inclusive = true))
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

  override def rangeOf(values: (Long, Long)): Option[(Long, Long)] = None
}

/**
 * A function of the days that begins anew with each year, month or week, such as MONTH. It is
 * computed for each day from the least to the greatest of all files, or of a hundred years. Other
 * days count as mapped into every interval.
 */
private[sparkzorder] final class FunctionOfDays(call: SparkCall) extends ColumnFunction {
  import FunctionOfDays._

  override def valuesFor(results: Intervals, range: => Option[(Long, Long)]): Intervals = {
    val (first, last) = range.filter(r => r._2 - r._1 < MaxDays).getOrElse(usual)
    val wanted = results.asInstanceOf[LongIntervals]
    val days = (first to last).filter { day =>
      call(day) match {
        case LongPosition(low, high) => wanted.overlaps(low, high)
        case _ => true
      }
    }
    Intervals.ofLongRanges(
      days.map(day => (day, day)) ++ Seq((Long.MinValue, first - 1), (last + 1, Long.MaxValue)))
  }

  override def rangeOf(values: (Long, Long)): Option[(Long, Long)] = None
}

private[sparkzorder] object FunctionOfDays {
  private val usual = (LocalDate.of(1950, 1, 1).toEpochDay, LocalDate.of(2049, 12, 31).toEpochDay)

  /** A hundred years. */
  private val MaxDays = 36525L
}
