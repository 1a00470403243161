// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.index.ByteValues

/**
 * Functions of a column of texts. Between two texts there are others of any kind, so the texts for some
 * results are computed from the results.
 */
private[sparkzorder] object TextFunctions {

  /** None for a function that is not known. */
  def of(call: Expression, text: Expression): Option[ColumnFunction] =
    if (!isText(text.dataType)) None
    else ofText(call, text).orElse(ParsedText.of(call, text))

  private def ofText(call: Expression, text: Expression): Option[ColumnFunction] = {
    object TheText {
      def unapply(e: Expression): Boolean = e.semanticEquals(text)
    }
    call match {
      case Substring(TheText(), Literal(0 | 1, _), Literal(n: Int, _)) if n > 0 =>
        Some(FirstCharacters(n))
      case Substring(TheText(), Literal(from: Int, _), Literal(n: Int, _)) if from > 1 && n > 0 =>
        Some(new LaterCharacters(call, from, n))
      case c: Cast if c.child.semanticEquals(text) =>
        c.dataType match {
          case DateType => Some(new WrittenDates(isTime = false))
          case TimestampType | TimestampNTZType => Some(new WrittenDates(isTime = true))
          case ByteType | ShortType | IntegerType | LongType => Some(WrittenIntegers)
          case BinaryType => Some(SameBytes)
          case _ => None
        }
      case Upper(TheText()) if ChangedCase.isPlain => Some(new ChangedCase(isUpper = true))
      case Lower(TheText()) if ChangedCase.isPlain => Some(new ChangedCase(isUpper = false))
      case StringTrim(TheText(), characters) => trimmed(characters, alsoLeading = true)
      case StringTrimLeft(TheText(), characters) => trimmed(characters, alsoLeading = true)
      case StringTrimRight(TheText(), characters) => trimmed(characters, alsoLeading = false)
      case Concat(children) => joined(children, text)
      case ConcatWs(ConstantText(separator) +: values) if values.exists(_.semanticEquals(text)) =>
        val parts = values.flatMap(v => Seq(Literal(separator, StringType), v)).tail
        joined(parts, text)
      case StringInstr(TheText(), ConstantText(part)) => Some(new PlaceOfPart(part))
      case StringLocate(ConstantText(part), TheText(), Literal(1, _)) =>
        Some(new PlaceOfPart(part))
      case RegExpExtract(TheText(), ConstantText(pattern), Literal(group: Int, _))
          if RegexPattern.isBeginning(pattern.toString, group) => Some(ExtractedBeginning)
      case RegExpInStr(TheText(), ConstantText(pattern), _) => foundAtBeginning(pattern)
      case Size(RegExpExtractAll(TheText(), ConstantText(pattern), _: Literal), _) =>
        foundAtBeginning(pattern)
      case beginning if isBeginning(beginning, text) => Some(Beginning)
      case SubstringIndex(TheText(), ConstantText(_), Literal(n: Int, _)) if n > 0 =>
        Some(Beginning)
      case ElementAt(StringSplitSQL(TheText(), ConstantText(_)), Literal(1, _), _, _) =>
        Some(Beginning)
      case GetArrayItem(StringSplit(TheText(), ConstantText(_), _), Literal(0, _), _) =>
        Some(Beginning)
      case _ => None
    }
  }

  private def foundAtBeginning(pattern: UTF8String): Option[ColumnFunction] =
    RegexPattern.alternatives(pattern.toString).map(some => new FoundAtBeginning(some))

  /** True if other texts, too, count as texts with a result, so that a search may find fewer. */
  def isVague(function: ColumnFunction): Boolean = function match {
    case Beginning | _: Trimmed | _: ChangedCase => true
    case _ => false
  }

  /** True for a beginning of a text whose length is that of a part of the text, as up to the first space. */
  def isBeginning(call: Expression, text: Expression): Boolean = call match {
    case Substring(some, Literal(0 | 1, _), length) =>
      some.semanticEquals(text) && !length.foldable && isPlace(length, text)
    case _ => false
  }

  /** True for a number that is NULL only where the text is. */
  private def isPlace(e: Expression, text: Expression): Boolean = e match {
    case Literal(value, _) => value != null
    case same if same.semanticEquals(text) => true
    case Add(place, Few(), _) => isPlace(place, text)
    case Subtract(place, Few(), _) => isPlace(place, text)
    case _: StringInstr | _: StringLocate | _: Length => e.children.forall(isPlace(_, text))
    case _ => false
  }

  /** A number that makes no place of a text too large, which `try_add` takes for NULL. */
  private object Few {
    def unapply(e: Expression): Boolean = e match {
      case Literal(n: Int, _) => math.abs(n.toLong) <= 1024
      case _ => false
    }
  }

  private def isText(t: DataType): Boolean =
    t.isInstanceOf[StringType] && ComparisonDomain.of(t).contains(BytesDomain)

  private object ConstantText {
    def unapply(e: Expression): Option[UTF8String] = e match {
      case Literal(value: UTF8String, t) if isText(t) => Some(value)
      case _ => None
    }
  }

  private def joined(parts: Seq[Expression], text: Expression): Option[ColumnFunction] = {
    val (before, from) = parts.span(!_.semanticEquals(text))
    val after = from.drop(1)
    def bytes(constants: Seq[Expression]) = {
      val some = constants.collect { case ConstantText(value) => value }
      if (some.size == constants.size) Some(some.flatMap(_.getBytes.toSeq).toArray) else None
    }
    for (b <- bytes(before); a <- bytes(after) if from.nonEmpty) yield new Joined(b, a)
  }

  private def trimmed(
      characters: Option[Expression],
      alsoLeading: Boolean): Option[ColumnFunction] = {
    val all = characters match {
      case None => Some(" ")
      case Some(ConstantText(value)) =>
        Some(value.toString).filter(text => text.length <= MaxTrimmed && text.forall(_ < 128))
      case _ => None
    }
    all.map(text => new Trimmed(if (alsoLeading) text.getBytes.toSeq.map(Array(_)) else Nil))
  }

  private val MaxTrimmed = 16
}

/** A function of texts whose results are texts, and which has a result for each text. */
private[values] trait ChangedText extends ColumnFunction {

  /** The texts for some results, of which there is at least one. */
  protected def texts(results: ByteIntervals): Intervals

  final override def valuesFor(
      results: Intervals,
      ofNulls: Boolean,
      range: => Option[KnownRange]): Intervals = results match {
    case none if none.isEmpty => Intervals.none
    case bytes: ByteIntervals => texts(bytes)
    case other => throw new IllegalArgumentException(s"$other is no set of texts")
  }

  protected final def ends(results: ByteIntervals): Seq[(ByteEnd, ByteEnd)] =
    results.lows.zip(results.highs).toSeq
}

/**
 * A function whose result is the beginning of its text, up to any place. Bytes that are no UTF-8 may have
 * become another character in the result.
 */
private[values] object Beginning extends ChangedText {

  override protected def texts(results: ByteIntervals): Intervals = of(results)

  def of(results: ByteIntervals): ByteIntervals =
    Intervals.ofByteRanges(results.lows.zip(results.highs).toSeq.map { case (low, high) =>
      val from =
        if (low.isEndless) low
        else {
          val plain = low.value.takeWhile(_ >= 0)
          if (plain.length == low.value.length) low
          else ByteEnd(plain :+ 0x80.toByte, inclusive = true)
        }
      // a result that is a beginning of the greatest one may go on in another way in the text
      val until = if (high.isEndless) high
      else {
        val all = high.value.takeWhile(_ >= 0)
        val shortest = (0 to all.length).find { n =>
          low.isEndless || ByteValues.compare(all, 0, n, low.value) >= 0
        }
        Intervals.ofPrefix(all.take(shortest.getOrElse(all.length))).highs.last
      }
      (from, until)
    })

}

/**
 * The characters from a place on. If all texts of the table begin with the same characters up to there, these
 * characters keep the order of the texts.
 */
private[skipping] final class LaterCharacters(call: Expression, from: Int, count: Int)
    extends ChangedText {

  override protected def texts(results: ByteIntervals): Intervals =
    throw new NotSearched(s"the expression ${SearchedFunction.textOf(call)}")

  /**
   * @param shared the bytes with which the texts of the files begin
   * @param isOfAllFiles false if a file without bounds may hold texts that begin in another way
   */
  def valuesFor(results: Intervals, shared: Array[Byte], isOfAllFiles: Boolean): Intervals = {
    val beginning = UTF8String.fromBytes(shared.takeWhile(_ >= 0)).substring(0, from - 1)
    if (beginning.numChars < from - 1) super.valuesFor(results, ofNulls = false, None)
    else FirstCharacters(count).valuesFor(results, ofNulls = false, None) match {
      case rest: ByteIntervals if !rest.isEmpty =>
        val bytes = beginning.getBytes
        val all = Intervals.ofPrefix(bytes)
        val found = Intervals.ofByteRanges(ends(rest).map { case (low, high) =>
          (
            if (low.isEndless) all.lows.head else low.copy(value = bytes ++ low.value),
            if (high.isEndless) all.highs.last else high.copy(value = bytes ++ high.value))
        })
        if (isOfAllFiles) found else found.union(all.complement)
      case none => none
    }
  }
}

/** @param leading what may stand before the result in the text, any number of times */
private[values] final class Trimmed(leading: Seq[Array[Byte]]) extends ChangedText {

  override protected def texts(results: ByteIntervals): Intervals =
    Intervals.union(Beginning.of(results) +: leading.map(Intervals.ofPrefix))
}

/** A text between two constant texts. */
private[values] final class Joined(before: Array[Byte], after: Array[Byte]) extends ChangedText {

  override protected def texts(results: ByteIntervals): Intervals = {
    val withBefore = Intervals.ofPrefix(before).intersect(results) match {
      case some: ByteIntervals => ends(some)
      case _ => Nil
    }
    val beginnings = withBefore.map { case (low, high) =>
      // each value that is left begins with `before`, apart from the end of all of these
      def rest(end: ByteEnd) =
        if (end.isEndless || !end.value.startsWith(before)) Intervals.Endless
        else end.copy(value = end.value.drop(before.length))
      (rest(low), rest(high))
    }
    Intervals.ofByteRanges(beginnings ++ beginnings.flatMap { case (low, high) =>
      shorter(low, high).map(text => (text, text))
    })
  }

  /** The texts up to the end of an interval that come into the interval by what stands after them. */
  private def shorter(low: ByteEnd, high: ByteEnd): Seq[ByteEnd] =
    if (low.isEndless || after.isEmpty) Nil
    else (0 to low.value.length).map(low.value.take).filter { text =>
      val all = text ++ after
      low.isReachedBy(ByteValues.compare(all, 0, all.length, low.value)) &&
      (high.isEndless || high.isReachedBy(-ByteValues.compare(all, 0, all.length, high.value)))
    }.map(ByteEnd(_, inclusive = true))
}

/** A beginning of the text, or the empty text where the pattern was not found. */
private[values] object ExtractedBeginning extends ChangedText {
  private val Empty = Array.emptyByteArray

  override protected def texts(results: ByteIntervals): Intervals =
    if (results.overlaps(Empty, Empty)) ByteIntervals.all else Beginning.of(results)
}

/** The bytes of the text. */
private[values] object SameBytes extends ChangedText {
  override protected def texts(results: ByteIntervals): Intervals = results
}

/**
 * How often, or where, a pattern was found.
 *
 * @param beginnings each text in which it is found begins with one of them
 */
private[values] final class FoundAtBeginning(beginnings: Seq[String]) extends ReadText {

  override protected def texts(results: LongIntervals): Intervals =
    if (results.overlaps(Long.MinValue, 0)) ByteIntervals.all
    else Intervals.union(beginnings.map(b => Intervals.ofPrefix(b.getBytes("UTF-8"))))
}

/** The first place of a constant text in a text: the text begins with it if the place is 1. */
private[values] final class PlaceOfPart(part: UTF8String) extends ReadText {

  override protected def texts(results: LongIntervals): Intervals =
    if (part.numBytes == 0 || results.overlaps(0, 0) || results.overlaps(2, Long.MaxValue))
      ByteIntervals.all
    else if (results.contains(1)) Intervals.ofPrefix(part.getBytes)
    else Intervals.none
}

/**
 * Texts that a cast makes an integer of: digits, perhaps with spaces, zeros or a sign before them, and with
 * anything behind them.
 */
private[values] object WrittenIntegers extends ReadText {
  private val Powers = Iterator.iterate(1L)(_ * 10).take(19).toSeq

  /** The greatest number of as many digits as a power of ten. */
  private def nines(power: Long): Long =
    if (power > Long.MaxValue / 10) Long.MaxValue else power * 10 - 1

  override protected def texts(results: LongIntervals): Intervals =
    SearchedFunction.coarser(results) match {
      case few: LongIntervals =>
        val digits = few.lows.zip(few.highs).toSeq.flatMap { case (low, high) =>
          Powers.map(p => (math.max(low, p), math.min(high, nines(p))))
            .filter { case (from, until) => from <= until }
        }
        Intervals.ofByteRanges(NoDigits ++ withZeros(few, digits) ++ digits.map(written("", _)))
      case _ => ByteIntervals.all
    }

  /** Texts that begin with zeros, such as numbers of a fixed width. */
  private def withZeros(
      results: LongIntervals,
      digits: Seq[(Long, Long)]): Seq[(ByteEnd, ByteEnd)] =
    if (results.contains(0) || digits.size > MaxWithZeros) Seq(beginsWith("0"))
    else {
      beginsWith("0" * MaxZeros) +:
        (1 until MaxZeros).flatMap(n => digits.map(written("0" * n, _)))
    }

  /** The texts that begin with a number from a range, all of whose numbers have the same count of digits. */
  private def written(before: String, range: (Long, Long)): (ByteEnd, ByteEnd) =
    (beginsWith(s"$before${range._1}")._1, beginsWith(s"$before${range._2}")._2)

  private def beginsWith(text: String): (ByteEnd, ByteEnd) = {
    val all = Intervals.ofPrefix(text.getBytes)
    (all.lows.head, all.highs.last)
  }

  private val MaxZeros = 20
  private val MaxWithZeros = 64

  /** Spaces and signs, and characters that no number begins with. */
  private val NoDigits: Seq[(ByteEnd, ByteEnd)] = Seq(
    (Intervals.Endless, beginsWith("0")._1.outside),
    (beginsWith("9")._2.outside, Intervals.Endless))
}
