// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.nio.charset.StandardCharsets.US_ASCII
import java.time.{LocalDate, LocalDateTime, YearMonth, ZoneId, ZoneOffset}

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants.{MICROS_PER_DAY, MICROS_PER_SECOND}
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.types.TimestampNTZType
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.util.Digits.padded

/** A function of texts whose results are ordered longs. The texts are computed from the results. */
private[values] trait ReadText extends ColumnFunction {

  /** The texts whose results are in `results`, which is not empty. */
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

/** INSTR: the first place of a constant part in a text. The text begins with the part if the place is 1. */
private[values] final class PlaceOfPart(part: UTF8String) extends ReadText {

  override protected def texts(results: LongIntervals): Intervals =
    if (part.numBytes == 0 || results.overlaps(0, 0) || results.overlaps(2, Long.MaxValue))
      ByteIntervals.all
    else if (results.contains(1)) Intervals.ofPrefix(part.getBytes)
    else Intervals.none
}

/**
 * Finds the texts that a cast reads as given integers. Such a text has the digits of the integer, perhaps behind
 * spaces, a sign or zeros. Any text may follow the digits.
 */
private[values] object WrittenIntegers extends WrittenIntegers(hasSpaces = false)

/** As [[WrittenIntegers]], for `to_number`, which ignores spaces between the digits. */
private[values] object SpacedIntegers extends WrittenIntegers(hasSpaces = true)

private[values] sealed abstract class WrittenIntegers(hasSpaces: Boolean) extends ReadText {
  private val Powers = Iterator.iterate(1L)(_ * 10).take(19).toSeq

  /** The greatest long that has as many digits as the given power of ten. */
  private def nines(power: Long): Long =
    if (power > Long.MaxValue / 10) Long.MaxValue else power * 10 - 1

  override protected def texts(results: LongIntervals): Intervals = {
    val few = results.coarser
    val digits = few.ranges.flatMap { case (low, high) =>
      Powers.map(p => (math.max(low, p), math.min(high, nines(p))))
        .filter { case (from, until) => from <= until }
    }
    if (hasSpaces && digits.size > MaxSpaced) ByteIntervals.all
    else Intervals.ofByteRanges(NoDigits ++ withZeros(few, digits) ++ numbers("", digits))
  }

  /** The texts that begin with zeros, such as numbers of a fixed width. */
  private def withZeros(
      results: LongIntervals,
      digits: Seq[(Long, Long)]): Seq[(ByteEnd, ByteEnd)] =
    beginsWith("0" * MaxZeros) +: (1 until MaxZeros).flatMap { n =>
      val zeros = "0" * n
      numbers(zeros, digits) ++
        (if (results.contains(0) || hasSpaces) noDigitBehind(zeros) else Nil)
    }

  /** The texts that begin with some digits and have no digit after them. */
  private def noDigitBehind(digits: String): Seq[(ByteEnd, ByteEnd)] = {
    val (from, until) = beginsWith(digits)
    Seq((from, beginsWith(digits + "0")._1.outside), (beginsWith(digits + "9")._2.outside, until))
  }

  /** The texts that begin with numbers from some ranges. */
  private def numbers(before: String, ranges: Seq[(Long, Long)]): Seq[(ByteEnd, ByteEnd)] =
    if (hasSpaces) {
      // A text with a space between its digits lies between the texts of the ends of the range, too, unless the digits
      // before the space are the first digits of an end: `1 23` is below `100`. Such texts are added.
      val begun = ranges.flatMap { case (low, high) => Seq(low, high).map(_.toString) }
        .flatMap(end => (1 until end.length).map(end.take(_))).distinct
      ranges.map(written(before, _)) ++ begun.flatMap(digits => noDigitBehind(before + digits))
    } else if (areFew(ranges)) {
      for ((low, high) <- ranges; n <- low to high; range <- noDigitBehind(s"$before$n"))
        yield range
    } else ranges.map(written(before, _))

  private def areFew(ranges: Seq[(Long, Long)]): Boolean =
    ranges.map { case (low, high) => math.min(high - low, MaxAlone) + 1 }.sum <= MaxAlone

  /** The texts that begin with a number from a range. All numbers of the range have equally many digits. */
  private def written(before: String, range: (Long, Long)): (ByteEnd, ByteEnd) =
    (beginsWith(s"$before${range._1}")._1, beginsWith(s"$before${range._2}")._2)

  private def beginsWith(text: String): (ByteEnd, ByteEnd) =
    Intervals.rangeOfPrefix(text.getBytes(US_ASCII))

  private val MaxZeros = 20
  private val MaxSpaced = 64

  /** For at most this many numbers, longer numbers with the same first digits are excluded: `50` for 5. */
  private val MaxAlone = 4L

  /** All texts that do not begin with a digit, but with a space or a sign, for example. The empty text is no number. */
  private val NoDigits: Seq[(ByteEnd, ByteEnd)] = Seq(
    (ByteEnd(Array.emptyByteArray, inclusive = false), beginsWith("0")._1.outside),
    (beginsWith("9")._2.outside, Intervals.Endless))
}

/**
 * Finds the texts that a cast to DATE or TIMESTAMP reads as given values. Spark accepts months and days of one digit
 * or two, accepts a text without day or without month and day, and ignores spaces around the text. So the texts of
 * some days begin with the whole date, with year and month, or with the year, in one of the spellings.
 *
 * @param isTime true for a cast to TIMESTAMP: the results are microseconds, and a text may name a time zone
 *   and may have no date
 */
private[values] final class WrittenDates(isTime: Boolean) extends ReadText {
  import WrittenDates._

  override protected def texts(results: LongIntervals): Intervals =
    if (results.size > MaxIntervals) ByteIntervals.all
    else {
      val days = results.ranges.map { case (low, high) =>
        // the time zones in the text and of the session move a time by less than three days
        if (isTime)
          (Math.floorDiv(low, MICROS_PER_DAY) - 3, Math.floorDiv(high, MICROS_PER_DAY) + 3)
        else (low, high)
      }
      val later = if (days.exists(_._2 > LastDay)) laterYears else Nil
      Intervals.ofByteRanges(
        days.flatMap { case (from, to) =>
          spelled(math.max(from, FirstDay), math.min(to, LastDay))
        } ++
          later ++ others ++ (if (isTime) timesOnly else Nil))
    }
}

private object WrittenDates {
  private type Range = (ByteEnd, ByteEnd)

  private val FirstDay = LocalDate.of(1, 1, 1).toEpochDay
  private val LastDay = LocalDate.of(9999, 12, 31).toEpochDay
  private val MaxIntervals = 256

  private def bytes(text: String): Array[Byte] = text.getBytes(US_ASCII)
  private def from(text: String): ByteEnd = ByteEnd(bytes(text), inclusive = true)
  private def until(text: String): ByteEnd = ByteEnd(bytes(text), inclusive = false)

  private def beginsWith(text: String): Seq[Range] = Seq(Intervals.rangeOfPrefix(bytes(text)))

  /** The texts that begin with `text` and have neither a digit nor a part of a date after it. */
  private def bare(text: String): Seq[Range] = Seq(
    (from(text), until(text + "-")),
    (from(text + "."), until(text + "0")),
    (from(text + ":"), beginsWith(text).head._2))

  /** The texts that begin with `text` and have no digit after it. */
  private def ended(text: String): Seq[Range] =
    Seq((from(text), until(text + "0")), (from(text + ":"), beginsWith(text).head._2))

  /** Texts that do not begin with a digit from 1 to 9, but with a space, a sign, a zero or a letter: any day. */
  private val others: Seq[Range] =
    Seq((Intervals.Endless, until("1")), (from(":"), Intervals.Endless))

  /** Times without a date: the cast gives them the current date. */
  private val timesOnly: Seq[Range] =
    (1 to 9).flatMap(h => beginsWith(s"$h:")) ++ (10 to 99).flatMap(h => beginsWith(s"$h:"))

  /** Years of more than four digits. */
  private val laterYears: Seq[Range] =
    Seq((from("1"), until("19")), (from("21"), until(":"))) ++
      (1900 to 2099).flatMap(y => (0 to 9).flatMap(d => beginsWith(s"$y$d")))

  private def spelled(first: Long, last: Long): Seq[Range] =
    if (first > last) Nil
    else {
      val (a, b) = (LocalDate.ofEpochDay(first), LocalDate.ofEpochDay(last))
      val whole = (a.getYear to b.getYear).filter(y =>
        !LocalDate.of(y, 1, 1).isBefore(a) && !LocalDate.of(y, 12, 31).isAfter(b))
      val years =
        if (whole.isEmpty) Nil
        else Seq((from(padded(whole.head, 4)), beginsWith(padded(whole.last, 4)).head._2))
      years ++ Seq(a.getYear, b.getYear).distinct.filterNot(whole.contains).flatMap { y =>
        months(
          y,
          if (y == a.getYear) a else LocalDate.of(y, 1, 1),
          if (y == b.getYear) b else LocalDate.of(y, 12, 31))
      }
    }

  /** The texts for the days from `a` to `b`, both in `year`. */
  private def months(year: Int, a: LocalDate, b: LocalDate): Seq[Range] = {
    val y = padded(year, 4)
    (if (a.getDayOfYear == 1) bare(y) else Nil) ++ (a.getMonthValue to b.getMonthValue).flatMap {
      m =>
        val length = YearMonth.of(year, m).lengthOfMonth
        val first = if (m == a.getMonthValue) a.getDayOfMonth else 1
        val last = if (m == b.getMonthValue) b.getDayOfMonth else length
        spellings(m).flatMap { case (month, isWhole) =>
          val text = s"$y-$month"
          if (first == 1 && last == length) { if (isWhole) beginsWith(text) else ended(text) }
          else {
            (if (first == 1) bare(text) else Nil) ++ (first to last).flatMap(spellings).flatMap {
              case (day, true) => beginsWith(s"$text-$day")
              case (day, false) => ended(s"$text-$day")
            }
          }
        }
    }
  }

  /**
   * The spellings of a month or day. The second value is true if any text may follow the spelling. For example, no
   * digit may follow `1`, because `12` is another month or day.
   */
  private def spellings(n: Int): Seq[(String, Boolean)] =
    (padded(n, 2), true) +: (if (n < 10) Seq((n.toString, false)) else Nil)
}

/**
 * Finds the texts from which Spark parses times in an interval, by a pattern of fixed width. The texts of
 * all times in an interval lie between the text of the first and the text of the last time.
 *
 * @param zone null if the results have no time zone
 * @param micros the number of microseconds of one unit of the results
 */
private[values] final class ParsedText(pattern: TimePattern, zone: ZoneId, micros: Long)
    extends ReadText {
  import ParsedText._

  override protected def texts(results: LongIntervals): Intervals = {
    val ranges = results.ranges.flatMap { case (low, high) =>
      spellings(from(low)).zip(spellings(until(high)))
    }
    // Texts with a sign are always kept. A year of more than four digits has a sign, and another year may have one.
    Intervals.union(Intervals.ofByteRanges(ranges) +: Signs.map(s => Intervals.ofPrefix(Array(s))))
  }

  // the positions of constant letters, such as the T between date and time. Spark parses them in either case
  private val letters = {
    val bytes = pattern.template.end('0').getBytes
    bytes.indices.filter(i => Character.isLetter(bytes(i).toInt))
  }

  /** An end with each spelling of its letters. The order of the spellings is the same for all ends. */
  private def spellings(end: ByteEnd): Seq[ByteEnd] =
    letters.foldLeft(Seq(end)) { (some, at) =>
      some.flatMap { e =>
        if (e.isEndless) Seq(e, e)
        else Seq(Character.toUpperCase(_: Int), Character.toLowerCase(_: Int)).map { as =>
          ByteEnd(e.value.updated(at, as(e.value(at).toInt).toByte), e.inclusive)
        }
      }
    }

  private val (least, greatest) = (Clocks.Micros._1 / micros, Clocks.Micros._2 / micros)

  private def from(value: Long): ByteEnd =
    if (value <= least) Intervals.Endless
    else ByteEnd(textOf(local(value * micros)(_.min)), inclusive = true)

  private def until(value: Long): ByteEnd =
    if (value >= greatest) Intervals.Endless
    else ByteEnd(textOf(local(value * micros + micros - 1)(_.max)), inclusive = true)

  /**
   * The local time of an instant. If clocks are set near the instant, a local time two days earlier or later, so
   * that no text is left out.
   *
   * @param end chooses the earlier or the later local time
   */
  private def local(instant: Long)(end: Seq[Long] => Long): Long =
    if (zone == null) instant
    else {
      val clocks = new Clocks(zone)
      val shown = clocks.local(instant)
      if (clocks.isSteady(instant - 2 * MICROS_PER_DAY, instant + 2 * MICROS_PER_DAY)) shown
      else end(Seq(shown - 2 * MICROS_PER_DAY, shown + 2 * MICROS_PER_DAY))
    }

  private def textOf(local: Long): Array[Byte] = {
    val time = LocalDateTime.ofEpochSecond(
      Math.floorDiv(local, MICROS_PER_SECOND),
      (Math.floorMod(local, MICROS_PER_SECOND) * 1000L).toInt,
      ZoneOffset.UTC)
    pattern.format(time).getBytes
  }
}

private[values] object ParsedText {
  private val Signs = "+-".getBytes(US_ASCII).toSeq

  def of(call: Expression, text: Expression): Option[ColumnFunction] = {
    def zoned(
        zone: => Option[String],
        pattern: Expression,
        micros: Long,
        isLocal: Boolean = false) =
      for {
        name <- zone
        p <- TextsOfTime.parsed(pattern) if isPlain(p)
        z <- Try(DateTimeUtils.getZoneId(name)).toOption
      } yield new ParsedText(p, if (isLocal) null else z, micros)
    call match {
      case g: GetTimestamp if g.left.semanticEquals(text) =>
        zoned(g.timeZoneId, g.right, 1, isLocal = g.dataType == TimestampNTZType)
      // unix_timestamp and to_unix_timestamp
      case u: ToTimestamp if u.left.semanticEquals(text) =>
        zoned(u.timeZoneId, u.right, MICROS_PER_SECOND)
      case _ => None
    }
  }

  // another letter may have more than two spellings, such as K, k and the Kelvin sign
  private val Letters = "TtZz".getBytes(US_ASCII).toSet
  private val MaxLetters = 3

  /**
   * True for a pattern that begins with a field, and whose constant letters have two spellings each. A pattern with
   * seven fields is refused, because the seventh is the fraction of a second. Spark also parses a fraction with
   * fewer digits than the pattern has.
   */
  private def isPlain(p: TimePattern): Boolean = {
    val letters = p.template.end('0').getBytes.filter(b => Character.isLetter(b.toInt))
    p.fields.head.at == 0 && p.fields.size <= 6 &&
    letters.length <= MaxLetters && letters.forall(Letters)
  }
}
