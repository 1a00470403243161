// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.nio.charset.StandardCharsets.US_ASCII
import java.time.{LocalDateTime, ZoneId, ZoneOffset}

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants.{MICROS_PER_DAY, MICROS_PER_SECOND}
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.types.TimestampNTZType

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
    val ranges = results.lows.zip(results.highs).toSeq.flatMap { case (low, high) =>
      spellings(from(low)).zip(spellings(until(high)))
    }
    // texts with a sign are always kept: years of more than four digits have a sign, and other years may
    // have one
    Intervals.union(Intervals.ofByteRanges(ranges) +: Signs.map(s => Intervals.ofPrefix(Array(s))))
  }

  // the positions of literal letters, such as the T between date and time, which are parsed in either case
  private val letters = {
    val bytes = pattern.template.end('0').getBytes
    bytes.indices.filter(i => Character.isLetter(bytes(i).toInt))
  }

  /** A text in each spelling of its letters. The order of the spellings is the same for all texts. */
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
   * The local time of an instant. If clocks are changed near the instant, the least or greatest local time
   * that could matter.
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
        p <- PiecesOfTime.parsed(pattern) if isPlain(p)
        z <- Try(DateTimeUtils.getZoneId(name)).toOption
      } yield new ParsedText(p, if (isLocal) null else z, micros)
    call match {
      case g: GetTimestamp if g.left.semanticEquals(text) =>
        zoned(g.timeZoneId, g.right, 1, isLocal = g.dataType == TimestampNTZType)
      case u: UnixTimestamp if u.left.semanticEquals(text) =>
        zoned(u.timeZoneId, u.right, MICROS_PER_SECOND)
      case u: ToUnixTimestamp if u.left.semanticEquals(text) =>
        zoned(u.timeZoneId, u.right, MICROS_PER_SECOND)
      case _ => None
    }
  }

  // other letters may have more than two spellings: K, k and the Kelvin sign, for example
  private val Letters = "TtZz".getBytes(US_ASCII).toSet
  private val MaxLetters = 3

  /**
   * True for a pattern that begins with a field, and whose literal letters have two spellings each. A
   * seventh field would be the fraction of a second, which Spark also parses with fewer digits, so such a
   * pattern is refused.
   */
  private def isPlain(p: TimePattern): Boolean = {
    val letters = p.template.end('0').getBytes.filter(b => Character.isLetter(b.toInt))
    p.fields.head.at == 0 && p.fields.size <= 6 &&
    letters.length <= MaxLetters && letters.forall(Letters)
  }
}
