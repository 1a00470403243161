// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.util.Arrays

import org.apache.spark.unsafe.types.UTF8String

/**
 * What is known of every text of a set: all texts have one length, and each place holds one certain
 * ASCII character, or one of the ten digits. Texts of such a set can be cut and joined without a change
 * of their order.
 */
private[values] final class TextTemplate(private val places: Array[Byte]) {
  import TextTemplate.Digit

  def length: Int = places.length
  def isDigits: Boolean = places.forall(isDigitAt)
  def hasLetters: Boolean = places.exists(b => Character.isLetter(b.toInt))

  private def isDigitAt(b: Byte): Boolean = b == Digit || (b >= '0' && b <= '9')

  def ++(other: TextTemplate): TextTemplate = new TextTemplate(places ++ other.places)

  def slice(from: Int, until: Int): TextTemplate = new TextTemplate(places.slice(from, until))

  /** The template after each occurrence of one character, which is no digit, was replaced. */
  def replaced(character: Byte, by: TextTemplate): TextTemplate =
    new TextTemplate(places.flatMap(b => if (b == character) by.places else Array(b)))

  /** True if each place that is a digit of `format` is a digit here, and the others are the same. */
  def fits(format: TextTemplate): Boolean =
    length == format.length && places.indices.forall { i =>
      if (format.places(i) == Digit) isDigitAt(places(i)) else places(i) == format.places(i)
    }

  /** The least or the greatest text of the set. */
  def end(digit: Char): UTF8String =
    UTF8String.fromBytes(places.map(b => if (b == Digit) digit.toByte else b))

  override def equals(other: Any): Boolean = other match {
    case that: TextTemplate => Arrays.equals(places, that.places)
    case _ => false
  }
  override def hashCode: Int = Arrays.hashCode(places)
}

private[values] object TextTemplate {
  private val Digit: Byte = 0

  def digits(count: Int): TextTemplate = new TextTemplate(Array.fill(count)(Digit))

  /** The template of one text; None if the text is not plain ASCII. */
  def of(text: UTF8String): Option[TextTemplate] = {
    val bytes = text.getBytes
    if (bytes.length <= MaxLength && bytes.forall(_ > 0)) Some(new TextTemplate(bytes)) else None
  }

  def ofValue(value: Any): Option[TextTemplate] = value match {
    case text: UTF8String => of(text)
    case _ => None
  }

  private val MaxLength = 256
}

/**
 * A pattern of dates and times, as far as its texts are made of fields of fixed width.
 *
 * @param fields in the order of the text
 * @param template of the texts of the years 1 to 9999
 */
private[values] final class TimePattern private (
    val fields: Seq[TimePattern.Field],
    val template: TextTemplate) {
  import TimePattern._

  /** The coarsest field that the pattern has. */
  def first: Int = fields.head.level

  /** True if the text keeps the order of times that agree in all that is coarser than its fields. */
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
  def format(time: java.time.LocalDateTime): UTF8String = {
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
   * The text whose fields are put into their bounds, for a text that may be no time. It keeps the order:
   * every time that is not before the text is not before the result, and likewise for not after.
   */
  def clamped(text: UTF8String): UTF8String = {
    val bytes = text.getBytes.clone()
    var (year, month) = (1, 1)
    // what a coarser field has lost or gained decides all finer fields
    var beyond = 0
    fields.foreach { f =>
      val read = (0 until f.width).foldLeft(0L)((n, i) => n * 10 + (bytes(f.at + i) - '0'))
      val most =
        if (f.level == 2) java.time.YearMonth.of(year, month).lengthOfMonth.toLong
        else if (f.level == Fraction) read
        else Most(f.level)
      val least = if (f.level <= 2) 1L else 0L
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
   * @param at the place of its first character in the text
   */
  final case class Field(level: Int, at: Int, width: Int)

  private val Fraction = 6
  private val Most = Seq(9999L, 12L, 31L, 23L, 59L, 59L)

  /** None for a pattern with other fields, or with fields of other widths. */
  def of(pattern: String): Option[TimePattern] = {
    val fields = Seq.newBuilder[Field]
    val text = new StringBuilder
    var known = true
    var i = 0
    while (i < pattern.length && known) {
      val c = pattern(i)
      if (c == '\'') {
        val end = pattern.indexOf('\'', i + 1)
        // two quotes in a row are a quote
        if (end <= i + 1) known = false
        else {
          text ++= pattern.substring(i + 1, end)
          known = !(end + 1 < pattern.length && pattern(end + 1) == '\'')
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

  /** What a cast reads as a date, or as a time in the zone of the session. */
  val Times: Seq[TimePattern] =
    all("yyyy", "yyyy-MM", "yyyy-MM-dd", "yyyy-MM-dd HH:mm", "yyyy-MM-dd'T'HH:mm") ++
      (Seq("") ++ (1 to 6).map("." + "S" * _)).flatMap(fraction =>
        all(s"yyyy-MM-dd HH:mm:ss$fraction", s"yyyy-MM-dd'T'HH:mm:ss$fraction"))
}
