// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.time.{LocalDateTime, YearMonth, ZoneId}

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.util.DateTimeConstants._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.skipping.values.Extent.Between
import io.sparkzorder.skipping.values.Piece.{ends, long, onlyFirst, require, unknown}

/**
 * A pattern of dates and times in which each field has a fixed width.
 *
 * @param fields in the order in which they stand in the text
 * @param template the template of the texts of times in the years 1 to 9999
 */
private[values] final class TimePattern private (
    val fields: Seq[TimePattern.Field],
    val template: TextTemplate) {
  import TimePattern._

  /** The level of the first field in the text. */
  def first: Int = fields.head.level

  /** True if texts have the order of their times where the times agree in all units coarser than the first field. */
  def isSorted: Boolean = {
    var finest = first - 1
    fields.forall { f =>
      val fits = f.level <= finest + 1
      finest = math.max(finest, f.level)
      fits
    }
  }

  /** True if each field occurs once, from the year downwards, so that a text can be parsed. */
  def isParsed: Boolean = fields.map(_.level) == fields.indices && first == 0

  /** The text of a time. */
  def format(time: LocalDateTime): UTF8String = {
    val bytes = template.end('0').getBytes
    fields.foreach { f =>
      val value = f.level match {
        case 0 => time.getYear
        case 1 => time.getMonthValue
        case 2 => time.getDayOfMonth
        case 3 => time.getHour
        case 4 => time.getMinute
        case 5 => time.getSecond
        case _ => time.getNano / math.pow(10, 9.0 - f.width).toInt
      }
      write(bytes, f, value.toLong)
    }
    UTF8String.fromBytes(bytes)
  }

  private def write(bytes: Array[Byte], field: Field, value: Long): Unit = {
    var rest = value
    (field.width - 1 to 0 by -1).foreach { i =>
      bytes(field.at + i) = ('0' + rest % 10).toByte
      rest /= 10
    }
  }

  /**
   * The given text, if it is the text of a valid time. Else the text of a valid time beside it: 2023-06-57 becomes
   * 2023-06-30, and 2023-00-15 becomes 2023-01-01. The order is kept: a valid time whose text is not below the given
   * text is not before the result, and one whose text is not above the given text is not after the result.
   */
  def clamped(text: UTF8String): UTF8String = {
    val bytes = text.getBytes.clone()
    var (year, month) = (1, 1)
    // if a coarser field was out of its bounds, all finer fields get their greatest or least value
    var beyond = 0
    fields.foreach { f =>
      val read = (0 until f.width).foldLeft(0L)((n, i) => n * 10 + (bytes(f.at + i) - '0'))
      val most =
        if (f.level == 2) YearMonth.of(year, month).lengthOfMonth.toLong
        else if (f.level == Fraction) read
        else Most(f.level)
      // 0000 is a year for Spark, but 00 is neither a month nor a day
      val least = if (f.level == 1 || f.level == 2) 1L else 0L
      if (beyond == 0) beyond = if (read > most) 1 else if (read < least) -1 else 0
      val nines = if (f.level == Fraction) math.pow(10, f.width.toDouble).toLong - 1 else most
      val value = if (beyond > 0) nines else if (beyond < 0) least else read
      if (f.level == 0) year = value.toInt else if (f.level == 1) month = value.toInt
      write(bytes, f, value)
    }
    UTF8String.fromBytes(bytes)
  }
}

private[values] object TimePattern {

  /**
   * @param level 0 for the year, 1 for the month, down to 6 for parts of a second
   * @param at the position of the field's first character in the text
   */
  final case class Field(level: Int, at: Int, width: Int)

  private val Fraction = 6
  private val Most = Seq(9999L, 12L, 31L, 23L, 59L, 59L)

  /** Parses a pattern of the fields yyyy, MM, dd, HH, mm, ss and one to six S; None for any other pattern. */
  def of(pattern: String): Option[TimePattern] = {
    val fields = Seq.newBuilder[Field]
    val text = new StringBuilder
    var known = true
    var i = 0
    while (i < pattern.length && known) {
      val c = pattern(i)
      if (c == '\'') {
        val end = pattern.indexOf('\'', i + 1)
        // two quotes in a row are one quote character, which this reader does not support
        if (end <= i + 1) known = false
        else {
          val quoted = pattern.substring(i + 1, end)
          text ++= quoted
          // NUL stands for any digit in a template
          known = !quoted.contains('\u0000') &&
            !(end + 1 < pattern.length && pattern(end + 1) == '\'')
          i = end + 1
        }
      } else if (c.isLetter) {
        val width = pattern.drop(i).takeWhile(_ == c).length
        val level = "yMdHmsS".indexOf(c.toInt)
        val fits = if (level == 0) width == 4 else if (level == Fraction) width <= 6 else width == 2
        if (level < 0 || !fits) known = false
        else {
          fields += Field(level, text.length, width)
          text ++= "\u0000" * width
        }
        i += width
      } else {
        if ("[]{}#".indexOf(c.toInt) >= 0 || c < ' ' || c > '~') known = false
        text += c
        i += 1
      }
    }
    val found = fields.result()
    if (!known || found.isEmpty || !text.forall(_ < 128)) None
    else Some(new TimePattern(found, new TextTemplate(text.toString.getBytes("US-ASCII"))))
  }

  private def all(patterns: String*): Seq[TimePattern] = patterns.flatMap(of(_))

  /** Patterns of texts that a cast reads as a date, or as a time in the zone of the session. */
  val Times: Seq[TimePattern] =
    all("yyyy", "yyyy-MM", "yyyy-MM-dd", "yyyy-MM-dd HH:mm", "yyyy-MM-dd'T'HH:mm") ++
      (Seq("") ++ (1 to 6).map("." + "S" * _)).flatMap(fraction =>
        all(s"yyyy-MM-dd HH:mm:ss$fraction", s"yyyy-MM-dd'T'HH:mm:ss$fraction"))
}

/** Texts that are made of dates and times, and texts from which dates and times are read. */
private[values] object TextsOfTime {
  import PiecesOfTime._

  private def isLegacy: Boolean =
    SQLConf.get.getConf(SQLConf.LEGACY_TIME_PARSER_POLICY).toString == "LEGACY"

  private def pattern(format: Expression): Option[TimePattern] = format match {
    // under the legacy policy, Spark uses the formatters of Java 7, which have another calendar
    case Literal(text: UTF8String, _) if !isLegacy => TimePattern.of(text.toString)
    case _ => None
  }

  /** @param micros the microseconds of one unit of the values, if the values are numbers and not times */
  def formatted(
      time: Expression,
      format: Expression,
      zone: ZoneId,
      micros: Long): Option[Piece] =
    if (isOfDays(format)) {
      val day = periodic(time.dataType, zone, micros)(Math.floorDiv(_, MICROS_PER_DAY))
      Some(Ordered(onlyFirst(day)))
    } else pattern(format).map(formatted(time, _, zone, micros))

  /**
   * True for a pattern whose text is the same for all times of a day, but whose texts do not have the order of the
   * days. An example is the name of the day of the week.
   */
  def isOfDays(format: Expression): Boolean = format match {
    case Literal(text: UTF8String, _) if !isLegacy && !pattern(format).exists(_.isSorted) =>
      val fields = text.toString.replaceAll("'[^']*'", "").filter(_.isLetter)
      fields.nonEmpty && fields.forall(FieldsOfDays.contains(_))
    case _ => false
  }

  private val FieldsOfDays = "GyuYQqMLwWdDFEec"

  private def formatted(time: Expression, p: TimePattern, zone: ZoneId, micros: Long): Piece = {
    val t = time.dataType
    val samples: (Any, Any) => Seq[Any] =
      if (!p.isSorted) (_, _) => unknown
      else if (p.first > 0) periodic(t, zone, micros)(before(p.first))
      else if (t == LongType) {
        (low, high) =>
          val limit = Clocks.Micros._2 / micros
          require(long(low) >= Clocks.Micros._1 / micros && long(high) <= limit)
          new Clocks(zone).ends(long(low) * micros, long(high) * micros)
            .map(Math.floorDiv(_, micros))
      } else samplesOf(time, zone)
    Ordered(
      onlyFirst(samples),
      template = c => Some(p.template).filter(_ => years(c.head, t, micros)),
      otherwise = c => {
        require(years(c.head, t, micros))
        Some((p.template.end('0'), p.template.end('9')))
      })
  }

  /** True if all values lie in the years 1 to 9999, whose texts have four digits. */
  def years(b: Between, t: DataType, micros: Long): Boolean = {
    val unit = if (t == DateType) MICROS_PER_DAY else micros
    long(b.low) >= Clocks.Micros._1 / unit && long(b.high) <= Clocks.Micros._2 / unit
  }

  /**
   * The number of the year, month or other unit, one level coarser than `level`, in which a local time lies. Texts
   * whose first field has `level` keep the order of the times within this unit.
   */
  private def before(level: Int): Long => Long = level match {
    case 1 => local => yearOf(Math.floorDiv(local, MICROS_PER_DAY))
    case 2 => local => monthOf(Math.floorDiv(local, MICROS_PER_DAY))
    case 3 => Math.floorDiv(_, MICROS_PER_DAY)
    case 4 => Math.floorDiv(_, MICROS_PER_HOUR)
    case 5 => Math.floorDiv(_, MICROS_PER_MINUTE)
    case _ => Math.floorDiv(_, MICROS_PER_SECOND)
  }

  /** A pattern by which texts can be parsed: it has each field from the year downwards, without a gap. */
  def parsed(format: Expression): Option[TimePattern] = pattern(format).filter(_.isParsed)

  def seconds(time: Expression, format: Expression, zone: ZoneId): Option[Piece] =
    time.dataType match {
      case TimestampType => Some(Ordered(onlyFirst(inYears)))
      case TimestampNTZType => Some(toInstants(zone, MICROS_PER_SECOND)(onlyFirst(inYears)))
      case DateType => Some(Ordered(onlyFirst(inDays)))
      case _: StringType =>
        parsed(format).map(p => read(Seq(p), LongType, zone, MICROS_PER_SECOND))
      case _ => None
    }

  /** Reads dates or times from texts. Nothing is known unless all texts of an interval have one of the patterns. */
  def read(
      patterns: Seq[TimePattern],
      to: DataType,
      zone: => ZoneId,
      micros: Long): Piece = {
    val samples: Seq[Between] => Seq[Seq[Any]] = { c =>
      val template = c.head.template.getOrElse(unknown)
      val pattern = patterns.find(p => template.fits(p.template)).getOrElse(unknown)
      def text(value: Any) = pattern.clamped(value.asInstanceOf[UTF8String])
      Seq(text(c.head.low), text(c.head.high)) +: ends(c.tail)
    }
    val local = to == DateType || to == TimestampNTZType
    (if (local) Ordered(samples) else toInstants(zone, micros)(samples)).copy(hasNulls = true)
  }
}
