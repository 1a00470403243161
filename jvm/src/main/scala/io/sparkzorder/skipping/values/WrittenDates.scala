// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.nio.charset.StandardCharsets.US_ASCII
import java.time.{LocalDate, YearMonth}

import org.apache.spark.sql.catalyst.util.DateTimeConstants.MICROS_PER_DAY

/**
 * The texts that a cast to DATE or TIMESTAMP turns into given values. Spark accepts months and days with
 * one digit or two, or without them, and ignores spaces around the text. So the texts for some days are
 * those that begin with the year, the month or the day in one of the spellings.
 *
 * @param isTime true for a cast to TIMESTAMP: the results are microseconds, and a text may name a time zone
 *   and may have no date
 */
private[values] final class WrittenDates(isTime: Boolean) extends ReadText {
  import WrittenDates._

  override protected def texts(results: LongIntervals): Intervals =
    if (results.size > MaxIntervals) ByteIntervals.all
    else {
      val days = results.lows.zip(results.highs).toSeq.map { case (low, high) =>
        // the time zones of the text and of the session move a time by less than three days
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

  private def beginsWith(text: String): Seq[Range] = {
    val prefix = Intervals.ofPrefix(bytes(text))
    Seq((prefix.lows.head, prefix.highs.last))
  }

  /** The texts that begin with `text` and have no digit after it. */
  private def ended(text: String): Seq[Range] =
    Seq((from(text), until(text + "0")), (from(text + ":"), beginsWith(text).head._2))

  /** Texts that begin with a space, a sign, a zero or a letter: they may give any day. */
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
        else Seq((from(f"${whole.head}%04d"), beginsWith(f"${whole.last}%04d").head._2))
      years ++ Seq(a.getYear, b.getYear).distinct.filterNot(whole.contains).flatMap { y =>
        months(
          y,
          if (y == a.getYear) a else LocalDate.of(y, 1, 1),
          if (y == b.getYear) b else LocalDate.of(y, 12, 31))
      }
    }

  /** The texts for the days from `a` to `b`, both in `year`. */
  private def months(year: Int, a: LocalDate, b: LocalDate): Seq[Range] = {
    val y = f"$year%04d"
    val bare = if (a.getDayOfYear == 1) ended(y) else Nil
    bare ++ (a.getMonthValue to b.getMonthValue).flatMap { m =>
      val length = YearMonth.of(year, m).lengthOfMonth
      val first = if (m == a.getMonthValue) a.getDayOfMonth else 1
      val last = if (m == b.getMonthValue) b.getDayOfMonth else length
      spellings(m).flatMap { case (month, isWhole) =>
        val text = s"$y-$month"
        if (first == 1 && last == length) { if (isWhole) beginsWith(text) else ended(text) }
        else {
          (if (first == 1) ended(text) else Nil) ++ (first to last).flatMap(spellings).flatMap {
            case (day, true) => beginsWith(s"$text-$day")
            case (day, false) => ended(s"$text-$day")
          }
        }
      }
    }
  }

  /**
   * The spellings of a month or day, and whether any text may follow. No digit may follow `1`, because `12`
   * is another month or day.
   */
  private def spellings(n: Int): Seq[(String, Boolean)] =
    (f"$n%02d", true) +: (if (n < 10) Seq((n.toString, false)) else Nil)
}
