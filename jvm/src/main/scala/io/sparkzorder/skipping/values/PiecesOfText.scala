// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import java.math.BigDecimal
import java.util.Arrays

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.skipping.values.Extent.Between
import io.sparkzorder.skipping.values.Piece.{double, ends, isText, long, require, unknown}

/**
 * Pieces for texts that are made of numbers and of other texts. Texts of one [[TextTemplate]] keep their order when
 * they are cut or joined. Other texts need not: `a` is below `a!`, but with `z` behind both, `az` is above `a!z`.
 */
private[values] object PiecesOfText {

  def of(e: Expression): Option[Piece] = e match {
    case c: Cast if PiecesOfNumbers.isIntegral(c.child.dataType) && isText(c.dataType) =>
      Some(numberText(c.child.dataType))
    case c: Cast if isText(c.dataType) =>
      c.child.dataType match {
        case d: DecimalType if d.scale >= 0 && d.scale <= PlainScale => Some(decimalText(d))
        case DoubleType => Some(realText(identity, Math.nextDown(_: Double)))
        case FloatType => Some(realText(_.toFloat, v => Math.nextDown(v.toFloat)))
        case _ => None
      }
    case c: Cast if isText(c.child.dataType) && c.dataType.isInstanceOf[NumericType] =>
      Some(textNumber(c.dataType))
    case c: Concat if c.children.forall(child => isText(child.dataType)) => Some(Joined)
    case c: ConcatWs if c.children.forall(child => isText(child.dataType)) => Some(JoinedWith)
    case Substring(text, _: Literal, _: Literal) if isText(text.dataType) => Some(Cut)
    case StringLPad(text, Literal(n: Int, _), Literal(pad: UTF8String, _))
        if isText(text.dataType) =>
      Some(padded(n, pad, isLeft = true))
    case StringRPad(text, Literal(n: Int, _), Literal(pad: UTF8String, _))
        if isText(text.dataType) =>
      Some(padded(n, pad, isLeft = false))
    case StringReplace(text, Literal(search: UTF8String, _), Literal(by: UTF8String, _))
        // a template marks any digit by NUL
        if isText(text.dataType) && search.numBytes == 1 && search.getBytes.head > 0 &&
          !Character.isDigit(search.getBytes.head.toInt) =>
      TextTemplate.of(by).map(replaced(search.getBytes.head, _))
    case _: Upper | _: Lower if isText(e.dataType) => Some(sameLetters)
    case f: FormatString => formatted(f)
    case _ => None
  }

  /** A text of numbers with leading zeros, such as `format_string('%04d-%02d', year(t), month(t))`. */
  private def formatted(call: FormatString): Option[Piece] = call.children match {
    case Literal(format: UTF8String, _) +: numbers
        if isText(call.dataType) && numbers.forall(n => PiecesOfNumbers.isIntegral(n.dataType)) =>
      val parts = NumberOrText.findAllMatchIn(format.toString).toSeq
      val widths = parts.flatMap(p => Option(p.group(1))).map(_.toInt)
      val templates = parts.map { p =>
        Option(p.group(1)).fold(TextTemplate.of(UTF8String.fromString(p.matched)))(w =>
          Some(TextTemplate.digits(w.toInt)))
      }
      if (parts.map(_.matched).mkString != format.toString || widths.size != numbers.size) None
      else {
        all(templates).map(new NumbersInText(widths, _))
      }
    case _ => None
  }

  /** Numbers of fixed widths between constant texts. The text of NULL is `null`. */
  private final class NumbersInText(widths: Seq[Int], template: TextTemplate) extends Piece {
    private val withoutNulls = Ordered(
      { c =>
        c.tail.zip(widths).foreach { case (b, width) =>
          require(long(b.low) >= 0 && b.high.toString.length <= width)
        }
        ends(c)
      },
      template = _ => Some(template))

    override def apply(call: Call, children: Seq[Extent]): Extent =
      if (children.exists(_.mayBeNull)) Repeatable(call, children)
      else withoutNulls(call, children)
  }

  private val NumberOrText = "%0([1-9][0-9]?)d|[^%]+".r

  // ---- numbers

  /**
   * The text of an integer. Among integers of one sign and one number of digits, the texts have the order of the
   * absolute values.
   */
  private def numberText(t: DataType): Piece = {
    def lengthOf(n: Long) = n.toString.length
    val value = OrderedValue.ofLong(t)
    Ordered(
      { c =>
        val (low, high) = (long(c.head.low), long(c.head.high))
        val powers = Iterator.iterate(1L)(_ * 10).take(19).toSeq
        val cuts = powers.flatMap(p => Seq(p - 1, p, -p, -p + 1)).filter(n => n > low && n < high)
        Seq((Seq(low, high) ++ cuts).distinct.map(value))
      },
      template = { c =>
        val (low, high) = (long(c.head.low), long(c.head.high))
        if (low >= 0 && lengthOf(low) == lengthOf(high)) Some(TextTemplate.digits(lengthOf(low)))
        else None
      })
  }

  // with more digits after the point, the text of a DECIMAL may have an exponent
  private val PlainScale = 6

  /** As [[numberText]], with as many digits after the point as the type has. */
  private def decimalText(t: DecimalType): Piece = {
    val unit = BigDecimal.valueOf(1, t.scale)
    val powers = (0 to t.precision - t.scale).map(BigDecimal.ONE.scaleByPowerOfTen)
    val cuts = Seq(BigDecimal.ZERO, unit.negate) ++
      powers.flatMap(p => Seq(p.subtract(unit), p, p.negate, p.negate.add(unit)))
    def exact(value: Any) = value.asInstanceOf[Decimal].toJavaBigDecimal
    def digitsOf(value: BigDecimal) = value.toBigInteger.toString.length
    Ordered(
      { c =>
        val (low, high) = (exact(c.head.low), exact(c.head.high))
        val inside = cuts.filter(n => n.compareTo(low) > 0 && n.compareTo(high) < 0)
        Seq(c.head.low +: inside.map(Decimal(_, t.precision, t.scale)) :+ c.head.high)
      },
      template = { c =>
        val (low, high) = (exact(c.head.low), exact(c.head.high))
        if (low.signum < 0 || digitsOf(low) != digitsOf(high)) None
        else {
          val whole = TextTemplate.digits(digitsOf(low))
          if (t.scale == 0) Some(whole)
          else TextTemplate.of(UTF8String.fromString(".")).map { point =>
            whole ++ point ++ TextTemplate.digits(t.scale)
          }
        }
      })
  }

  /**
   * The text of a FLOAT or DOUBLE. Without an exponent, the texts have the same order as in [[numberText]]. There
   * is no exponent if the absolute value is at least 0.001 and below 10,000,000.
   */
  private def realText(value: Double => Any, below: Double => Any): Piece = {
    val powers = Iterator.iterate(1.0)(_ * 10).take(7).toSeq
    Ordered { c =>
      val (low, high) = (double(c.head.low), double(c.head.high))
      val (least, most) = if (low > 0) (low, high) else (-high, -low)
      require(least >= 0.001 && most < 1e7)
      val cuts = powers.flatMap(p => Seq(value(p), below(p), value(-p), value(-double(below(p)))))
        .filter(n => double(n) > low && double(n) < high)
      Seq(c.head.low +: cuts :+ c.head.high)
    }
  }

  /**
   * The number to which a text is cast. Known only for texts of equally many digits: they have the order of their
   * numbers.
   */
  private def textNumber(to: DataType): Piece = Ordered { c =>
    val template = c.head.template.getOrElse(unknown)
    require(template.isDigits && template.length > 0 && template.length <= (to match {
      case ByteType => 2
      case ShortType => 4
      case IntegerType => 9
      case LongType => 18
      case _ => 15
    }))
    ends(c)
  }

  // ---- parts of texts

  private object Joined extends Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent = {
      val last = children.lastIndexWhere {
        case b: Between => !b.isPoint
        case _ => true
      }
      val templates = children.map {
        case b: Between => b.template
        case _ => None
      }
      Ordered(
        { c =>
          // a part behind a text of unknown length could change the order
          require(last == c.size - 1 && templates.init.forall(_.isDefined) ||
            templates.forall(_.isDefined))
          ends(c)
        },
        template = _ => all(templates)).apply(call, children)
    }
  }

  private def all(templates: Seq[Option[TextTemplate]]): Option[TextTemplate] =
    if (templates.forall(_.isDefined)) Some(templates.map(_.get).reduce(_ ++ _)) else None

  /** CONCAT_WS leaves NULLs out, and joins the rest. */
  private object JoinedWith extends Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent = {
      val some = children.map {
        case b: Between if !b.mayBeNull => b
        case _ => unknown
      }
      val templates = some.map(_.template)
      val joined = all(templates).map { _ =>
        val separator = templates.head.get
        templates.tail.map(_.get).reduceOption((a, b) => a ++ separator ++ b)
      }
      Ordered(
        { c =>
          require(c.head.isPoint && (templates.forall(_.isDefined) ||
            templates.init.forall(_.isDefined) && !c.last.isPoint))
          ends(c)
        },
        template = _ => joined.flatten).apply(call, children)
    }
  }

  private object Cut extends Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent = {
      val Substring(_, Literal(at: Int, _), Literal(count: Int, _)) = call.expression: @unchecked
      def range(length: Int): (Int, Int) = {
        val from = if (at > 0) at - 1 else if (at < 0) length + at else 0
        val until = math.min(length.toLong, math.max(0L, from.toLong + count)).toInt
        (math.max(0, math.min(length, from)), until)
      }
      def cut(c: Seq[Between]): Option[TextTemplate] = c.head.template.map { t =>
        val (from, until) = range(t.length)
        t.slice(from, math.max(from, until))
      }
      Ordered(
        { c =>
          if (at < 0 || at > 1) {
            val from = range(c.head.template.getOrElse(unknown).length)._1
            def beginning(text: Any) = text.asInstanceOf[UTF8String].substring(0, from)
            require(beginning(c.head.low) == beginning(c.head.high))
          } else require(count >= 0)
          ends(c)
        },
        template = cut,
        otherwise = c => cut(c).map(t => (t.end('0'), t.end('9')))).apply(call, children)
    }
  }

  private def padded(n: Int, pad: UTF8String, isLeft: Boolean): Piece = {
    def template(c: Seq[Between]): Option[TextTemplate] =
      for (t <- c.head.template; p <- TextTemplate.of(pad) if n >= 0 && n < 256 && p.length > 0)
        yield {
          if (t.length >= n) t.slice(0, n)
          else {
            val missing = n - t.length
            val filled = Seq.fill(missing / p.length + 1)(p).reduce(_ ++ _).slice(0, missing)
            if (isLeft) filled ++ t else t ++ filled
          }
        }
    Ordered(
      { c =>
        require(template(c).isDefined)
        ends(c)
      },
      template = template)
  }

  private def replaced(search: Byte, by: TextTemplate): Piece = Ordered(
    { c =>
      require(c.head.template.isDefined)
      ends(c)
    },
    template = _.head.template.map(_.replaced(search, by)))

  private val sameLetters: Piece = Ordered(
    { c =>
      require(c.head.template.exists(!_.hasLetters))
      ends(c)
    },
    template = _.head.template.filter(!_.hasLetters))
}

/**
 * The form of all texts of a set. They have one length. At each place they have either the same ASCII character, or
 * any of the ten digits. Such texts keep their order when they are cut or joined.
 *
 * @param places one byte for each place; the byte NUL stands for any digit
 */
private[values] final class TextTemplate(private val places: Array[Byte]) {
  import TextTemplate.Digit

  def length: Int = places.length
  def isDigits: Boolean = places.forall(isDigitAt)
  def hasLetters: Boolean = places.exists(b => Character.isLetter(b.toInt))

  private def isDigitAt(b: Byte): Boolean = b == Digit || (b >= '0' && b <= '9')

  def ++(other: TextTemplate): TextTemplate = new TextTemplate(places ++ other.places)

  def slice(from: Int, until: Int): TextTemplate = new TextTemplate(places.slice(from, until))

  /** The template with `by` in the place of each occurrence of a character, which must be no digit. */
  def replaced(character: Byte, by: TextTemplate): TextTemplate =
    new TextTemplate(places.flatMap(b => if (b == character) by.places else Array(b)))

  /** True if each place that is a digit of `format` is a digit here, and the others are the same. */
  def fits(format: TextTemplate): Boolean =
    length == format.length && places.indices.forall { i =>
      if (format.places(i) == Digit) isDigitAt(places(i)) else places(i) == format.places(i)
    }

  /** The text with `digit` at each place of any digit: the least text of the set for 0, and the greatest for 9. */
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
