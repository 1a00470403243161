// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.nio.charset.StandardCharsets.US_ASCII

import scala.collection.immutable.BitSet
import scala.collection.mutable

/** A function of texts. Its search leaves out beginnings that no text of the files has. */
private[skipping] trait SearchedBeginnings extends ColumnFunction {

  def valuesFor(results: Intervals, ofNulls: Boolean, inFiles: BeginningsInFiles): Intervals

  final override def valuesFor(
      results: Intervals,
      ofNulls: Boolean,
      range: => Option[KnownRange]): Intervals =
    valuesFor(results, ofNulls, new BeginningsInFiles(Array.emptyByteArray, None))
}

/**
 * With which plain characters the texts of the files begin.
 *
 * @param shared the bytes with which all texts begin in the files that have bounds
 * @param texts where the texts of all files lie; None if a file without bounds may hold other texts
 */
private[skipping] final class BeginningsInFiles(shared: Array[Byte], texts: Option[Intervals]) {
  import BeginningsInFiles._

  /** The plain characters with which all texts of files with bounds begin, but not more than a search uses. */
  val first: String =
    new String(shared.takeWhile(b => TextStart.isPlain(b.toInt)), US_ASCII).take(MaxShared)

  /** False only if no text of the files with bounds begins with `beginning`. */
  def has(beginning: String): Boolean = texts match {
    case Some(files: ByteIntervals) =>
      val (low, high) = range(beginning)
      // `high` itself does not begin so. If a file has only `high`, the beginning is searched in vain.
      high.isEndless || files.overlaps(low.value, high.value)
    case Some(_) => true
    case None => beginning.startsWith(first) || first.startsWith(beginning)
  }

  /** The texts that a search among the beginnings has found, and those that may be in files without bounds. */
  def withUnsearched(found: ByteIntervals): Intervals =
    if (texts.isDefined || first.isEmpty) found
    else found.union(Intervals.ofPrefix(first.getBytes(US_ASCII)).complement)
}

private[values] object BeginningsInFiles {

  /** Of a beginning that all texts share, at most this many characters are used. */
  val MaxShared = 256

  /** The texts that begin with plain characters. */
  def range(text: String): (ByteEnd, ByteEnd) = Intervals.rangeOfPrefix(text.getBytes(US_ASCII))

  /** The texts that begin with `text` and go on with a character that is not plain: NUL, or DEL and all bytes above. */
  def withoutPlainNext(text: String): Seq[(ByteEnd, ByteEnd)] = {
    val bytes = text.getBytes(US_ASCII)
    Seq(
      (ByteEnd(bytes, inclusive = false), ByteEnd(bytes :+ 1.toByte, inclusive = false)),
      (ByteEnd(bytes :+ 127.toByte, inclusive = true), range(text)._2))
  }
}

/**
 * A function of a text and a pattern that can match only at the beginning of the text: whether, how often or where
 * the text matches. The result is FALSE or 0 for a text that does not match, and TRUE or above 0 for a text that does.
 *
 * @param isWhole true if nothing may follow the match, as for LIKE
 */
private[values] final class MatchedTexts(pattern: PatternStates, isWhole: Boolean)
    extends SearchedBeginnings {

  override def valuesFor(
      results: Intervals,
      ofNulls: Boolean,
      inFiles: BeginningsInFiles): Intervals = results match {
    case _ if ofNulls => ByteIntervals.all
    case none if none.isEmpty => Intervals.none
    case longs: LongIntervals if !longs.overlaps(Long.MinValue, 0) =>
      val rest =
        if (isWhole) Intervals.ofBytes(Seq(Array.emptyByteArray)) else ByteIntervals.all
      MatchedTexts.search(pattern, rest, inFiles)
    case _ => ByteIntervals.all
  }
}

/**
 * REGEXP_EXTRACT: the text of a group of a regular expression, or the empty text where the pattern does not match. A
 * text with the result `r` begins with a match of the parts before the group, followed by `r`.
 *
 * @param before the parts before the group
 */
private[values] final class ExtractedGroup(before: PatternStates) extends SearchedBeginnings {

  override def valuesFor(
      results: Intervals,
      ofNulls: Boolean,
      inFiles: BeginningsInFiles): Intervals = results match {
    case none if none.isEmpty => Intervals.none
    case bytes: ByteIntervals
        if !bytes.overlaps(Array.emptyByteArray, Array.emptyByteArray) =>
      MatchedTexts.search(before, Beginning.of(bytes), inFiles)
    case _ => ByteIntervals.all
  }
}

private[values] object MatchedTexts {
  import BeginningsInFiles.{range, withoutPlainNext, MaxShared}

  /** None if any text may match. */
  def ofRegex(pattern: String): Option[MatchedTexts] =
    PatternStates.ofRegex(pattern).filterNot(p => p.isOpen(p.start) || p.isDone(p.start))
      .map(new MatchedTexts(_, isWhole = false))

  /** None if any text may match. */
  def ofLike(pattern: String, escape: Char): Option[MatchedTexts] =
    PatternStates.ofLike(pattern, escape).filterNot(p => p.isOpen(p.start))
      .map(new MatchedTexts(_, isWhole = true))

  def group(pattern: String, group: Int): Option[ExtractedGroup] =
    PatternStates.beforeGroup(pattern, group).filterNot(p => p.isOpen(p.start))
      .map(new ExtractedGroup(_))

  /** The search ends after this many beginnings, and includes the rest. */
  private val MaxSteps = 2048

  /** The search also ends when so many beginnings are undecided. */
  private val MaxOpen = 4096

  /** Beginnings of this length are not made longer, as for `^a+b`. */
  private val MaxLength = 2 * MaxShared

  /**
   * The texts that begin as a pattern requires.
   *
   * @param rest what may follow the pattern
   */
  private[values] def search(
      pattern: PatternStates,
      rest: ByteIntervals,
      inFiles: BeginningsInFiles): Intervals = {
    val isRestAny = rest.complement.isEmpty
    val found = Seq.newBuilder[(ByteEnd, ByteEnd)]
    val open = mutable.Queue[(String, BitSet)](("", pattern.start))
    var steps = 0
    while (open.nonEmpty && steps < MaxSteps && open.size < MaxOpen) {
      val (text, states) = open.dequeue()
      steps += 1
      // with `^a+`, each text that begins with `a` matches, so no longer beginning is searched
      val isAll = pattern.isOpen(states) || text.length == MaxLength ||
        pattern.isDone(states) && isRestAny
      if (isAll) found += range(text)
      else {
        val bytes = text.getBytes(US_ASCII)
        if (pattern.isDone(states)) found ++= Intervals.behind(bytes, rest).ranges
        if (pattern.mayEnd(states)) {
          val whole = ByteEnd(bytes, inclusive = true)
          // the other line terminators are not plain, and the next lines add them
          found ++= Seq((whole, whole), range(text + "\n"), range(text + "\r"))
        }
        if (pattern.mayLeavePlain(states) || pattern.mayEnd(states)) {
          found ++= withoutPlainNext(text)
        }
        pattern.steps(states).foreach { case (c, after) =>
          val longer = text + c
          if (inFiles.has(longer)) open += ((longer, after))
        }
      }
    }
    inFiles.withUnsearched(
      Intervals.ofByteRanges(found.result() ++ open.map { case (text, _) => range(text) }))
  }
}

/**
 * REGEXP_REPLACE. The result begins as the text does, up to the first character with which a match may begin. For
 * example, `regexp_replace(email, '@.*$', '')` begins as the email does, up to the first `@`.
 *
 * @param first the plain characters with which a match may begin
 * @param others a match may begin with another character
 */
private[values] final class ReplacedMatches private (first: BitSet, others: Boolean)
    extends ChangedText {

  override protected def texts(results: ByteIntervals): Intervals = {
    val ends = results.ranges.flatMap { case (low, high) => Seq(low, high) }.filterNot(_.isEndless)
      .map(_.value).distinct
    val isKnown = ends.forall(_.forall(b => TextStart.isPlain(b.toInt)))
    if (!isKnown || ends.map(_.length + 1L).sum * (first.size + 2) > ReplacedMatches.MaxIntervals)
      ByteIntervals.all
    else {
      // Behind a beginning that a text shares with an end, a match may be replaced. Then the text and its result may
      // lie on different sides of the end.
      val changed = for {
        end <- ends
        kept = end.takeWhile(b => !first(b.toInt))
        n <- 0 to kept.length
        range <- matchBehind(kept.take(n))
      } yield range
      Intervals.ofByteRanges(results.ranges ++ changed)
    }
  }

  /** The texts in which a match may begin right behind `kept`. */
  private def matchBehind(kept: Array[Byte]): Seq[(ByteEnd, ByteEnd)] = {
    def beginsWith(c: Int) = Intervals.rangeOfPrefix(kept :+ c.toByte)
    val plain = first.toSeq.map(beginsWith)
    if (others) plain ++ Seq(beginsWith(0), (beginsWith(127)._1, Intervals.rangeOfPrefix(kept)._2))
    else plain
  }
}

private[values] object ReplacedMatches {
  private val MaxIntervals = 8192L

  def of(pattern: String): Option[ReplacedMatches] =
    for (p <- PatternStates.anywhere(pattern); first <- p.first)
      yield new ReplacedMatches(first, p.mayLeavePlain(p.start))
}
