// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.nio.{ByteBuffer, CharBuffer}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.index.ByteValues

/**
 * Functions of a column of texts. Between two texts there are texts of nearly any kind, so an interval of texts tells
 * little of the results. These functions work in the other direction: they compute from the wanted results which
 * texts have such a result.
 */
private[sparkzorder] object TextFunctions {

  /** What `call` computes from the column `text`; None if the function is not known. */
  def of(call: Expression, text: Expression): Option[ColumnFunction] =
    BinaryFunctions.of(call, text).orElse {
      if (!isText(text.dataType)) None
      else ofText(call, text).orElse(ParsedText.of(call, text))
    }

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
      case RegExpExtract(TheText(), ConstantText(pattern), Literal(group: Int, _)) =>
        MatchedTexts.group(pattern.toString, group)
      case RLike(TheText(), ConstantText(pattern)) => MatchedTexts.ofRegex(pattern.toString)
      case l @ Like(TheText(), ConstantText(pattern), _) =>
        MatchedTexts.ofLike(pattern.toString, l.escapeChar)
      case RegExpReplace(TheText(), ConstantText(pattern), _: Literal, Literal(1, _))
          if !SearchedTexts.isCall(call, text) => ReplacedMatches.of(pattern.toString)
      case n: ToNumberBase if n.left.semanticEquals(text) =>
        n.right match {
          case ConstantText(Digits()) => Some(SpacedIntegers)
          case _ => None
        }
      case RegExpInStr(TheText(), ConstantText(pattern), _) =>
        MatchedTexts.ofRegex(pattern.toString)
      case Size(RegExpExtractAll(TheText(), ConstantText(pattern), _: Literal), _) =>
        MatchedTexts.ofRegex(pattern.toString)
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

  /**
   * True if many of the texts that `function` computes do not have a wanted result. A search by beginnings
   * ([[SearchedTexts]]) may find fewer texts, so it is tried as well. For example, `left(s, instr(s, ' ') - 1) = 'a'`
   * is true for `a b`, but [[Beginning]] returns all texts that begin with `a`.
   */
  def isApproximate(function: ColumnFunction): Boolean = function match {
    case Beginning | _: Trimmed | _: ChangedCase => true
    case _ => false
  }

  /** True for a beginning of `text` whose length depends on the text, such as the part before the first space. */
  def isBeginning(call: Expression, text: Expression): Boolean = call match {
    case Substring(some, Literal(0 | 1, _), length) =>
      some.semanticEquals(text) && !length.foldable && isPlace(length, text)
    case _ => false
  }

  /** True for a number that can be NULL only where the text is NULL. */
  private def isPlace(e: Expression, text: Expression): Boolean = e match {
    case Literal(value, _) => value != null
    case same if same.semanticEquals(text) => true
    case Add(place, Few(), _) => isPlace(place, text)
    case Subtract(place, Few(), _) => isPlace(place, text)
    case _: StringInstr | _: StringLocate | _: Length => e.children.forall(isPlace(_, text))
    case _ => false
  }

  /**
   * A number so small that its sum with a place in a text cannot overflow. Otherwise `try_add` could return NULL for
   * a text that is not NULL.
   */
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

  /** A format of at most 18 digits and nothing else: the DECIMALs that TO_NUMBER returns fit into longs. */
  private object Digits {
    def unapply(format: UTF8String): Boolean = format.toString.matches("[09]{1,18}")
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

/** A function from texts to texts that is NULL for no text. */
private[values] trait ChangedText extends ColumnFunction {

  /** The texts whose results are in `results`, which is not empty. */
  protected def texts(results: ByteIntervals): Intervals

  final override def valuesFor(
      results: Intervals,
      ofNulls: Boolean,
      range: => Option[KnownRange]): Intervals = results match {
    case none if none.isEmpty => Intervals.none
    case bytes: ByteIntervals => texts(bytes)
    case other => throw new IllegalArgumentException(s"$other is no set of texts")
  }
}

/**
 * A function whose result is a beginning of its text, of any length. In the result, another character may stand in
 * the place of bytes that are not valid UTF-8.
 */
private[values] object Beginning extends ChangedText {

  override protected def texts(results: ByteIntervals): Intervals = of(results)

  def of(results: ByteIntervals): ByteIntervals =
    Intervals.ofByteRanges(results.ranges.map { case (low, high) =>
      val from =
        if (low.isEndless) low
        else {
          val plain = low.value.takeWhile(_ >= 0)
          if (plain.length == low.value.length) low
          else ByteEnd(plain :+ 0x80.toByte, inclusive = true)
        }
      (from, if (high.isEndless) high else until(low, high))
    })

  private def until(low: ByteEnd, high: ByteEnd): ByteEnd = {
    val plain = high.value.takeWhile(_ >= 0)
    val isPlain = plain.length == high.value.length
    // A result may be a shorter beginning of the greatest result. The text of such a result may go on with any
    // characters, and so may lie above the greatest result: `az` has the result `a`, which is below `ab`.
    val lengths = if (isPlain && !high.inclusive) 0 until plain.length else 0 to plain.length
    val shortest =
      if (low.isEndless) lengths.headOption
      else {
        // a beginning of fewer than `same` bytes is also a beginning of the low end, so it lies below the low end
        val same = ByteValues.shared(plain, low.value)
        Seq(same, same + 1).find(n =>
          lengths.contains(n) && low.isReachedBy(ByteValues.compare(plain, 0, n, low.value)))
      }
    if (shortest.isEmpty && isPlain) high
    else Intervals.rangeOfPrefix(plain.take(shortest.getOrElse(plain.length)))._2
  }

}

/**
 * A substring of `count` characters from character number `from` on. If all texts of the table agree in the
 * characters before, the substrings have the order of the texts.
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
    val isBinary = call.dataType == BinaryType
    val bytes = (if (isBinary) shared else shared.takeWhile(_ >= 0)).take(from - 1)
    val first = if (isBinary) new FirstBytes(count) else FirstCharacters(count)
    if (bytes.length < from - 1) super.valuesFor(results, ofNulls = false, None)
    else first.valuesFor(results, ofNulls = false, None) match {
      case rest: ByteIntervals if !rest.isEmpty =>
        val found = Intervals.behind(bytes, rest)
        if (isOfAllFiles) found else found.union(Intervals.ofPrefix(bytes).complement)
      case none => none
    }
  }
}

/** @param leading what the function removes, any number of times, at the beginning of a text; empty for RTRIM */
private[values] final class Trimmed(leading: Seq[Array[Byte]]) extends ChangedText {

  override protected def texts(results: ByteIntervals): Intervals =
    Intervals.union(Beginning.of(results) +: leading.map(Intervals.ofPrefix))
}

/** The text of the column, with a constant text before it and another behind it. */
private[values] final class Joined(before: Array[Byte], after: Array[Byte]) extends ChangedText {

  override protected def texts(results: ByteIntervals): Intervals = {
    val withBefore = Intervals.ofPrefix(before).intersect(results) match {
      case some: ByteIntervals => some.ranges
      case _ => Nil
    }
    val beginnings = withBefore.map { case (low, high) =>
      // each end begins with `before`, except the upper end of all texts that begin with `before`
      def rest(end: ByteEnd) =
        if (end.isEndless || !end.value.startsWith(before)) Intervals.Endless
        else end.copy(value = end.value.drop(before.length))
      (rest(low), rest(high))
    }
    Intervals.ofByteRanges(beginnings ++ beginnings.flatMap { case (low, high) =>
      shorter(low, high)
    })
  }

  /**
   * The beginnings of the low end, and the low end itself, that lie in the interval once `after` follows. If there
   * are many, one interval has them all. Constants may be long, so only these beginnings are copied.
   */
  private def shorter(low: ByteEnd, high: ByteEnd): Seq[(ByteEnd, ByteEnd)] =
    if (low.isEndless || after.isEmpty) Nil
    else {
      val text = low.value
      val same = if (high.isEndless) 0 else ByteValues.shared(text, high.value)
      def toHigh(n: Int) =
        if (n > same) ByteValues.compare(text, 0, text.length, high.value)
        else -ByteValues.compare(high.value, n, high.value.length - n, after)
      val lengths = (0 to text.length).filter(n =>
        low.isReachedBy(-ByteValues.compare(text, n, text.length - n, after)) &&
          (high.isEndless || high.isReachedBy(-toHigh(n))))
      def end(n: Int) = ByteEnd(text.take(n), inclusive = true)
      if (lengths.size > Joined.MaxBeginnings) Seq((end(lengths.head), end(text.length)))
      else lengths.map(n => (end(n), end(n)))
    }
}

private object Joined {

  /** The greatest number of beginnings that are intervals of their own. */
  val MaxBeginnings = 100
}

/** The first `count` characters of a string. */
private[sparkzorder] final case class FirstCharacters(count: Int) extends ColumnFunction {

  override def valuesFor(
      results: Intervals,
      ofNulls: Boolean,
      range: => Option[KnownRange]): Intervals =
    results match {
      case bytes: ByteIntervals =>
        Intervals.ofByteRanges(bytes.ranges.flatMap { case (low, high) =>
          from(low).map(_ -> until(high))
        })
      case other => other
    }

  /**
   * The lower end of the strings whose first `count` characters are not below `low`; None if there are no such strings.
   * All strings that begin with the first `count` characters of `low` have these characters as their result.
   */
  private def from(low: ByteEnd): Option[ByteEnd] = sharedWith(low) match {
    case Some((shared, isAll)) if !(isAll && low.inclusive) =>
      val above = Intervals.rangeOfPrefix(shared)._2
      if (above.isEndless) None else Some(above.outside)
    case None if isTorn(low) => Some(ByteEnd(whole(low.value) :+ 0x80.toByte, inclusive = true))
    case _ => Some(low)
  }

  /** The upper end of the strings whose first `count` characters are not above `high`. */
  private def until(high: ByteEnd): ByteEnd = sharedWith(high) match {
    case Some((shared, isAll)) if high.inclusive || !isAll => Intervals.rangeOfPrefix(shared)._2
    case None if isTorn(high) => Intervals.rangeOfPrefix(whole(high.value))._2
    case _ => high
  }

  /** The first `count` characters of an end, and whether the end has no more; None if it has fewer. */
  private def sharedWith(end: ByteEnd): Option[(Array[Byte], Boolean)] =
    if (end.isEndless) None
    else {
      val shared = UTF8String.fromBytes(whole(end.value)).substring(0, count)
      if (shared.numChars < count) None
      else Some((shared.getBytes, shared.numBytes == end.value.length))
    }

  /** True for an end that stops within a character. The end of a prefix is made from bytes, and may do so. */
  private def isTorn(end: ByteEnd): Boolean =
    !end.isEndless && whole(end.value).length < end.value.length

  /** The bytes before the first byte that is not valid UTF-8. */
  private def whole(bytes: Array[Byte]): Array[Byte] = {
    val in = ByteBuffer.wrap(bytes)
    val _ = UTF_8.newDecoder().decode(in, CharBuffer.allocate(bytes.length), true)
    Arrays.copyOf(bytes, in.position())
  }
}
