// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

import scala.collection.mutable
import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.skipping.values.Extent.{Between, OnlyNull}
import io.sparkzorder.skipping.values.Piece.{isText, require, unknown}

/**
 * The known beginning of a text.
 *
 * @param text the known characters, all of them plain (see [[TextStart.isPlain]])
 * @param isWhole true if no further characters follow
 */
private[values] final case class TextStart(text: String, isWhole: Boolean) {
  def length: Int = text.length

  /** What is known of the substring of `count` characters from the index `from` on. Raises if nothing is known. */
  def slice(from: Int, count: Int): TextStart = {
    require(from >= 0 && count >= 0 && (isWhole || from <= length))
    // the sum may be too large for an INT
    val until = math.min(length.toLong, from.toLong + count).toInt
    TextStart(text.slice(from, until), isWhole || length - from >= count)
  }

  def drop(count: Int): TextStart = copy(text = text.drop(count))

  def extent(mayBeNull: Boolean): Extent =
    (if (isWhole) Extent.point(UTF8String.fromString(text)) else TextStart.from(text))
      .withNulls(mayBeNull)
}

private[values] object TextStart {

  /** True for ASCII, except NUL, which marks digits in templates, and DEL, so that a next ASCII character exists. */
  def isPlain(c: Int): Boolean = c > 0 && c < 127

  /** All texts that begin with the plain characters at the start of `text`. There must be at least one. */
  def from(text: String): Between = {
    val plain = text.takeWhile(c => isPlain(c.toInt))
    require(plain.nonEmpty)
    val after = plain.init + (plain.last + 1).toChar
    Between(
      UTF8String.fromString(plain),
      UTF8String.fromString(after),
      isPoint = false,
      beginning = plain.getBytes("US-ASCII"))
  }

  /** The beginning that all texts of an extent share; None if the extent does not tell it. */
  def of(extent: Extent): Option[TextStart] = extent match {
    case b @ Between(low: UTF8String, high: UTF8String, isPoint, _, _, _) =>
      if (isPoint) {
        if (low.getBytes.forall(c => isPlain(c.toInt))) Some(TextStart(low.toString, true))
        else None
      } else if (b.beginning != null) Some(TextStart(new String(b.beginning, "US-ASCII"), false))
      else {
        // all texts between two bounds have the beginning that both bounds share
        val shared = low.getBytes.zip(high.getBytes).takeWhile { case (x, y) =>
          x == y && isPlain(x.toInt)
        }
        Some(TextStart(new String(shared.map(_._1), "US-ASCII"), false))
      }
    case _ => None
  }
}

/**
 * Pieces that compute the beginning of a function's result from the beginning of its argument. The rest of the
 * argument may be anything, also bytes that are not valid UTF-8.
 */
private[values] object TextBeginnings {

  /**
   * The parts of an expression that are texts, and the piece that uses their beginnings; None for another function.
   * A part need not be a child of the expression, as in `split(c, ',')[0]`.
   */
  def of(e: Expression): Option[(Seq[Expression], Piece)] =
    Try(known(e)).toOption.flatten.filter { case (parts, _) =>
      parts.forall(p => isText(p.dataType))
    }

  private def known(e: Expression): Option[(Seq[Expression], Piece)] = e match {
    case Substring(text, Literal(at: Int, _), Literal(n: Int, _)) if at >= 0 =>
      one(text)(_.slice(math.max(0, at - 1), math.max(0, n)))
    case SubstringIndex(text, Text(mark), Literal(n: Int, _)) if n > 0 && mark.nonEmpty =>
      one(text)(upTo(_, mark, n))
    case ElementAt(StringSplitSQL(text, Text(mark)), Literal(k: Int, _), _, _)
        if k > 0 && mark.nonEmpty => one(text)(part(_, mark, k - 1))
    case ElementAt(StringSplit(text, Text(Plain(mark)), All()), Literal(k: Int, _), _, _)
        if k > 0 =>
      one(text)(part(_, mark, k - 1))
    case GetArrayItem(StringSplit(text, Text(Plain(mark)), All()), Literal(k: Int, _), _)
        if k >= 0 =>
      one(text)(part(_, mark, k))
    case StringInstr(text, Text(mark)) if mark.nonEmpty =>
      ofStart(text)(s => Extent.point(placeOf(s, mark)))
    case StringLocate(Text(mark), text, Literal(1, _)) if mark.nonEmpty =>
      ofStart(text)(s => Extent.point(placeOf(s, mark)))
    case Ascii(text) => ofStart(text) { s =>
        require(s.length > 0)
        Extent.point(s.text.head.toInt)
      }
    case StringTrim(text, Characters(some)) =>
      one(text)(s => withoutEnd(withoutStart(s, some), some))
    case StringTrimLeft(text, Characters(some)) => one(text)(withoutStart(_, some))
    case StringTrimRight(text, Characters(some)) => one(text)(withoutEnd(_, some))
    case Upper(text) if ChangedCase.isPlain => one(text)(s => s.copy(text = s.text.map(upper)))
    case Lower(text) if ChangedCase.isPlain => one(text)(s => s.copy(text = s.text.map(lower)))
    case InitCap(text) if ChangedCase.isPlain => one(text)(capitals)
    case StringReplace(text, Text(search), Text(by)) if search.nonEmpty =>
      one(text)(replaced(_, search, by))
    case StringTranslate(text, Text(from), Text(to)) => one(text)(s =>
        s.copy(text = s.text.flatMap { c =>
          val i = from.indexOf(c.toInt)
          if (i < 0) c.toString else if (i < to.length) to(i).toString else ""
        }))
    case RegExpReplace(text, Text(pattern), Text(by), Literal(1, _))
        if !by.exists("$\\".contains(_)) => byPattern(pattern, by).flatMap(one(text)(_))
    case Overlay(text, Text(by), Literal(at: Int, _), Literal(n: Int, _)) if at > 0 =>
      one(text) { s =>
        val dropped = if (n >= 0) n else by.length
        // Spark adds both as INT, and the sum must not overflow
        require(at < 1000000 && dropped < 1000000)
        if (s.length < at - 1) s
        else s.copy(text = s.text.take(at - 1) + by + s.text.drop(at - 1).drop(dropped))
      }
    case StringRPad(text, Literal(n: Int, _), Text(_)) =>
      one(text)(s => if (s.length >= n) s.slice(0, math.max(0, n)) else s)
    case StringLPad(text, Literal(n: Int, _), Text(_)) => one(text) { s =>
        require(s.length >= n)
        s.slice(0, math.max(0, n))
      }
    case Concat(parts) => Some(parts -> new Together(None))
    case ConcatWs(Text(mark) +: parts) => Some(parts -> new Together(Some(mark)))
    case _ => None
  }

  private def one(text: Expression)(f: TextStart => TextStart): Option[(Seq[Expression], Piece)] =
    ofStart(text)(f(_).extent(mayBeNull = false))

  private def ofStart(text: Expression)(result: TextStart => Extent)
      : Option[(Seq[Expression], Piece)] = Some(Seq(text) -> new OfStart(result))

  // ---- literals

  private object Text {
    def unapply(e: Expression): Option[String] = e match {
      case Literal(value: UTF8String, t)
          if isText(t) && value.getBytes.forall(c => TextStart.isPlain(c.toInt)) =>
        Some(value.toString)
      case _ => None
    }
  }

  /** The limit of a SPLIT that returns all parts. */
  private object All {
    def unapply(e: Expression): Boolean = e match {
      case Literal(n: Int, _) => n < 0
      case _ => false
    }
  }

  private object Characters {
    def unapply(characters: Option[Expression]): Option[String] = characters match {
      case None => Some(" ")
      case Some(Text(some)) => Some(some)
      case _ => None
    }
  }

  /** A regular expression that only one text matches; extracts this text. */
  private object Plain {
    private val Other = "\\^$.|?*+()[]{}#"

    def unapply(pattern: String): Option[String] = {
      val text = new mutable.StringBuilder
      var i = 0
      var isKnown = true
      while (i < pattern.length && isKnown) {
        val c = pattern(i)
        val next = if (i + 1 < pattern.length) pattern(i + 1) else 'x'
        if (c == '\\' && !Character.isLetterOrDigit(next.toInt)) {
          text += next
          i += 2
        } else if (c == '[' && i + 2 < pattern.length && pattern(i + 2) == ']' && next != '^' &&
          next != '\\' && next != '[' && next != ']') {
          text += next
          i += 3
        } else {
          isKnown = Other.indexOf(c.toInt) < 0
          text += c
          i += 1
        }
      }
      if (isKnown && text.nonEmpty) Some(text.toString) else None
    }
  }

  /** A regular expression for one character of a set or, with `+` at the end, for several of them. */
  private object OneCharacter {
    private val form = "(\\[\\^?[^\\[\\]&\\\\^]+\\]|\\\\[dDsSwW])\\+?".r

    /** Extracts the test whether a character is in the set. */
    def unapply(pattern: String): Option[Char => Boolean] = pattern match {
      case form(one) =>
        Try(java.util.regex.Pattern.compile(one)).toOption
          .map(p => (c: Char) => p.matcher(c.toString).matches())
      case _ => None
    }
  }

  // ---- pieces

  /** A function of one text, whose result is computed from the beginning of the text; NULL for NULL. */
  private final class OfStart(result: TextStart => Extent) extends Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent =
      if (children.head == OnlyNull) OnlyNull
      else {
        val start = TextStart.of(children.head).getOrElse(unknown)
        // if the whole text is known, Spark itself computes the result
        require(!start.isWhole)
        val found = result(start)
        found.withNulls(found.mayBeNull || children.head.mayBeNull)
      }
  }

  /** @param mark the separator of CONCAT_WS, which leaves NULLs out; None for CONCAT */
  private final class Together(mark: Option[String]) extends Piece {
    override def apply(call: Call, children: Seq[Extent]): Extent =
      if (mark.isEmpty && children.contains(OnlyNull)) OnlyNull
      else {
        val some = if (mark.isEmpty) children else children.filter(_ != OnlyNull)
        val text = new mutable.StringBuilder
        var isOpen = false
        some.zipWithIndex.foreach { case (child, i) =>
          if (!isOpen) {
            // CONCAT_WS leaves NULLs out, so the known beginning ends before the first text that may be NULL
            val start = TextStart.of(child).filter(_ => mark.isEmpty || !child.mayBeNull)
            if (i > 0 && start.isDefined) mark.foreach(text ++= _)
            start.foreach(text ++= _.text)
            isOpen = !start.exists(_.isWhole)
          }
        }
        require(isOpen)
        TextStart(text.toString, isWhole = false)
          .extent(mayBeNull = mark.isEmpty && children.exists(_.mayBeNull))
      }
  }

  // ---- functions of what a text begins with

  private val upper = (c: Char) => if (c >= 'a' && c <= 'z') (c - 32).toChar else c
  private val lower = (c: Char) => if (c >= 'A' && c <= 'Z') (c + 32).toChar else c

  /** INITCAP. The known result ends before the first character other than a letter or space: a word may begin there. */
  private def capitals(s: TextStart): TextStart = {
    val known = s.text.takeWhile(c => c == ' ' || isLetter(c))
    val words = known.indices.map { i =>
      if (i == 0 || known(i - 1) == ' ') upper(known(i)) else lower(known(i))
    }
    TextStart(words.mkString, s.isWhole && known.length == s.length)
  }

  private def isLetter(c: Char): Boolean = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'

  /** The beginning without its last characters, if a mark may begin with these. */
  private def beforeMark(s: TextStart, mark: String): TextStart = {
    val torn = (1 until mark.length).reverse.find(n => s.text.endsWith(mark.take(n))).getOrElse(0)
    if (s.isWhole) s else s.copy(text = s.text.dropRight(torn))
  }

  /** The text before the n-th mark. */
  private def upTo(s: TextStart, mark: String, n: Int): TextStart = {
    val ends = Iterator.iterate(s.text.indexOf(mark))(i => s.text.indexOf(mark, i + 1))
      .takeWhile(_ >= 0).slice(n - 1, n).toSeq
    // the n-th mark may begin within the last characters; marks that overlap count, too
    ends.headOption.fold(s.copy(text = s.text.dropRight(if (s.isWhole) 0 else mark.length - 1))) {
      end => TextStart(s.text.take(end), isWhole = true)
    }
  }

  /** The part after the first `number` marks, up to the next mark. */
  private def part(s: TextStart, mark: String, number: Int): TextStart = {
    var rest = s.text
    (0 until number).foreach { _ =>
      val at = rest.indexOf(mark)
      require(at >= 0)
      rest = rest.drop(at + mark.length)
    }
    rest.indexOf(mark) match {
      case -1 => beforeMark(s.copy(text = rest), mark)
      case at => TextStart(rest.take(at), isWhole = true)
    }
  }

  private def placeOf(s: TextStart, mark: String): Int = {
    val at = s.text.indexOf(mark)
    require(at >= 0)
    at + 1
  }

  private def withoutStart(s: TextStart, characters: String): TextStart = {
    val rest = s.text.dropWhile(characters.contains(_))
    require(s.isWhole || rest.nonEmpty)
    s.copy(text = rest)
  }

  private def withoutEnd(s: TextStart, characters: String): TextStart =
    s.copy(text = s.text.reverse.dropWhile(characters.contains(_)).reverse)

  private def replaced(s: TextStart, search: String, by: String): TextStart = {
    val text = new mutable.StringBuilder
    var i = 0
    var isTorn = false
    while (i < s.length && !isTorn) {
      if (s.text.startsWith(search, i)) {
        text ++= by
        i += search.length
      } else if (!s.isWhole && search.startsWith(s.text.drop(i))) isTorn = true
      else {
        text += s.text(i)
        i += 1
      }
    }
    TextStart(text.toString, s.isWhole)
  }

  /**
   * REGEXP_REPLACE with a pattern that only one text matches, with `^` before such a pattern, or with a pattern
   * for a character of a set.
   */
  private def byPattern(pattern: String, by: String): Option[TextStart => TextStart] =
    pattern match {
      case Plain(search) => Some(replaced(_, search, by))
      case OneCharacter(isOne) if by.isEmpty || !pattern.endsWith("+") =>
        Some(s => s.copy(text = s.text.flatMap(c => if (isOne(c)) by else c.toString)))
      case beginning if beginning.startsWith("^") =>
        beginning.drop(1) match {
          case Plain(search) => Some { s =>
              if (s.text.startsWith(search)) s.copy(text = by + s.text.drop(search.length))
              else {
                require(s.isWhole || !search.startsWith(s.text))
                s
              }
            }
          case _ => None
        }
      case _ => None
    }
}
