// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.util.Locale

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.array.ByteArrayMethods
import org.apache.spark.unsafe.types.UTF8String

/** Functions of a BINARY column, and functions that make a BINARY or hexadecimal digits of a text. */
private[values] object BinaryFunctions {

  /** What `call` computes from the column `bytes`; None if the function is not known. */
  def of(call: Expression, bytes: Expression): Option[ColumnFunction] = {
    object TheBytes {
      def unapply(e: Expression): Boolean = e.semanticEquals(bytes)
    }
    def isBinary = bytes.dataType == BinaryType
    def isText = Piece.isText(bytes.dataType)
    call match {
      case c: Cast
          if c.child.semanticEquals(bytes) && (isBinary && Piece.isText(c.dataType) ||
            isText && c.dataType == BinaryType) => Some(SameBytes)
      case Hex(TheBytes()) if isBinary || isText => Some(HexDigits)
      case Recoded(TheBytes()) if isBinary || isText => Some(Beginning)
      case Substring(TheBytes(), Literal(0 | 1, _), Literal(n: Int, _)) if isBinary && n > 0 =>
        Some(new FirstBytes(n))
      case Substring(TheBytes(), Literal(from: Int, _), Literal(n: Int, _))
          if isBinary && from > 1 && n > 0 => Some(new LaterCharacters(call, from, n))
      case s: StaticInvoke if isBinary && s.staticObject == classOf[ByteArrayMethods] =>
        (s.functionName, s.arguments) match {
          case ("startsWith", Seq(TheBytes(), Literal(beginning: Array[Byte], BinaryType))) =>
            Some(new BeginsWith(beginning))
          case _ => None
        }
      case _ => None
    }
  }

  /**
   * `decode` and `encode`, for character sets that keep each plain character and turn no other character into a plain
   * one. For `encode`, US-ASCII is no such set: a character that the set lacks becomes a question mark.
   */
  private object Recoded {
    def unapply(e: Expression): Option[Expression] = e match {
      case s: StaticInvoke if s.staticObject == classOf[StringDecode] => of(s.arguments, Decoded)
      case s: StaticInvoke if s.staticObject == classOf[Encode] => of(s.arguments, Encoded)
      case _: StringDecode => of(e.children, Decoded)
      case _: Encode => of(e.children, Encoded)
      case _ => None
    }

    private def of(arguments: Seq[Expression], known: Set[String]): Option[Expression] =
      arguments match {
        case bytes +: Literal(charset: UTF8String, _) +: _
            if known(charset.toString.toUpperCase(Locale.ROOT)) => Some(bytes)
        case _ => None
      }

    private val Encoded = Set("UTF-8")
    private val Decoded = Set("UTF-8", "US-ASCII", "ISO-8859-1")
  }
}

/** A cast that keeps the bytes, from BINARY to STRING or back. */
private[skipping] object SameBytes extends ColumnFunction {
  override def valuesFor(
      results: Intervals,
      ofNulls: Boolean,
      range: => Option[KnownRange]): Intervals = if (ofNulls) ByteIntervals.all else results
}

/** STARTSWITH of a BINARY. */
private[values] final class BeginsWith(beginning: Array[Byte]) extends ReadText {
  override protected def texts(results: LongIntervals): Intervals =
    if (results.contains(0)) ByteIntervals.all else Intervals.ofPrefix(beginning)
}

/** The first `count` bytes of a BINARY. */
private[values] final class FirstBytes(count: Int) extends ChangedText {

  override protected def texts(results: ByteIntervals): Intervals =
    Intervals.ofByteRanges(results.ranges.map { case (low, high) => (from(low), until(high)) })

  private def from(low: ByteEnd): ByteEnd =
    if (low.isEndless || low.value.length <= count) {
      // the result of each longer value that begins with this end is the end itself, which is excluded
      if (!low.isEndless && !low.inclusive && low.value.length == count)
        Intervals.rangeOfPrefix(low.value)._2.outside
      else low
    } else ByteEnd(low.value.take(count), inclusive = false)

  private def until(high: ByteEnd): ByteEnd =
    if (high.isEndless || high.value.length < count ||
      (high.value.length == count && !high.inclusive)) high
    else Intervals.rangeOfPrefix(high.value.take(count))._2
}

/** HEX, which gives two digits for each byte. The results have the order of the bytes. */
private[values] object HexDigits extends ChangedText {

  override protected def texts(results: ByteIntervals): Intervals =
    Intervals.ofByteRanges(results.ranges.map { case (low, high) => (from(low), until(high)) })

  private def from(low: ByteEnd): ByteEnd =
    if (low.isEndless) low
    else {
      val digits = digitsOf(low)
      // every result has an even number of digits
      ByteEnd(bytesOf(digits + "0" * (digits.length % 2)), inclusive = true)
    }

  private def until(high: ByteEnd): ByteEnd =
    if (high.isEndless) high
    else {
      val digits = digitsOf(high)
      val isAll = digits.length == high.value.length
      if (digits.length % 2 == 0) {
        val bytes = bytesOf(digits)
        if (isAll) ByteEnd(bytes, high.inclusive) else Intervals.rangeOfPrefix(bytes)._2
      } else if (isAll) ByteEnd(bytesOf(digits + "0"), inclusive = false)
      else Intervals.rangeOfPrefix(bytesOf(digits + "F"))._2
    }

  private def digitsOf(end: ByteEnd): String =
    end.value.iterator.map(_.toChar).takeWhile(c => c >= '0' && c <= '9' || c >= 'A' && c <= 'F')
      .mkString

  private def bytesOf(digits: String): Array[Byte] =
    digits.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray
}
