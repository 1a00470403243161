// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

/**
 * What a LIKE pattern says of the beginning of the texts that match it.
 *
 * @param text the beginning that all these texts share
 * @param extent what the pattern says of the rest
 */
private[sparkzorder] final case class LikePattern(text: String, extent: LikePattern.Extent)

private[sparkzorder] object LikePattern {
  sealed trait Extent

  /** Only the text itself matches. */
  case object Whole extends Extent

  /** Every text with this beginning matches. */
  case object Beginning extends Extent

  /** A matching text has this beginning and meets further conditions. */
  case object Part extends Extent

  /**
   * None for patterns that Spark rejects, and for patterns that do not fix the beginning of a text.
   */
  def of(pattern: String, escape: Char): Option[LikePattern] = {
    val text = new StringBuilder
    var i = 0
    var isLegal = true
    def isWildcard(c: Char) = c == '%' || c == '_'
    while (i < pattern.length && isLegal && !(isWildcard(pattern(i)) && pattern(i) != escape)) {
      if (pattern(i) == escape) {
        // only a wildcard or the escape character itself may follow
        isLegal = i + 1 < pattern.length &&
          (isWildcard(pattern(i + 1)) || pattern(i + 1) == escape)
        if (isLegal) text += pattern(i + 1)
        i += 2
      } else {
        text += pattern(i)
        i += 1
      }
    }
    val rest = if (i < pattern.length) pattern.substring(i) else ""
    val extent =
      if (rest.isEmpty) Whole else if (rest == "%") Beginning else Part
    // Spark decodes bytes that are not valid UTF-8 to this character, so the pattern may have had
    // other bytes in its place
    val usable = isLegal && text.indexOf("\uFFFD") < 0 && (text.nonEmpty || extent == Whole)
    if (usable) Some(LikePattern(text.toString, extent)) else None
  }
}

/** What a regular expression says of the beginning of the texts in which it is found. */
private[sparkzorder] object RegexPattern {
  private val special = "\\^$.|?*+()[]{}".toSet
  private val repetitions = "?*{".toSet

  /**
   * The beginnings of which every text has one in which an expression such as `^(a|b)[cd]` is found; None if there
   * is a text that need not have any, or if there are too many.
   */
  def alternatives(pattern: String): Option[Seq[String]] =
    if (pattern.contains('\uFFFD')) None
    else RegexBeginnings.of(pattern).filter(_.forall(_.nonEmpty))

  /**
   * True if what a group has found is a beginning of the text, wherever it is found: the group begins with the
   * pattern, behind `^`, and is not repeated. Group 0 is the whole pattern.
   */
  def isBeginning(pattern: String, group: Int): Boolean = {
    // classes, quotes and flags that could hide brackets, or turn them into letters
    val isKnown = !Seq("\\Q", "[]", "[^]", "&&").exists(pattern.contains(_)) &&
      "\\(\\?[^:]".r.findFirstIn(pattern).isEmpty
    def isSpecial(i: Int) = {
      val before = pattern.take(i)
      before.reverse.takeWhile(_ == '\\').length % 2 == 0 && !isInClass(before)
    }
    val depths = pattern.indices.scanLeft(0) { (depth, i) =>
      pattern(i) match {
        case '(' if isSpecial(i) => depth + 1
        case ')' if isSpecial(i) => depth - 1
        case _ => depth
      }
    }.tail
    isKnown && pattern.startsWith("^") && (group match {
      case 0 => !pattern.lift(1).exists("*+?{".contains(_)) && !pattern.indices.exists(i =>
          pattern(i) == '|' && depths(i) == 0 && isSpecial(i))
      case 1 =>
        val end = depths.indexOf(0, 1)
        pattern.startsWith("^(") && !pattern.startsWith("^(?") && end > 0 &&
        !pattern.lift(end + 1).exists("*+?{".contains(_))
      case _ => false
    })
  }

  /** True if a class of characters is open at the end of a part of a pattern. */
  private def isInClass(part: String): Boolean = {
    var (depth, i) = (0, 0)
    while (i < part.length) {
      if (part(i) == '\\') i += 1
      else if (part(i) == '[') depth += 1
      else if (part(i) == ']' && depth > 0) depth -= 1
      i += 1
    }
    depth > 0
  }

  /** None unless every such text begins with letters that the expression names after `^`. */
  def of(pattern: String): Option[LikePattern] =
    if (!pattern.startsWith("^") || pattern.contains('|') || pattern.contains('\uFFFD')) None
    // Java takes such marks out before it looks at repetitions
    else if (pattern.contains("\\Q")) None
    else {
      val text = new StringBuilder
      var i = 1
      var last = 0
      def isEscaped = pattern(i) == '\\' && i + 1 < pattern.length &&
        pattern(i + 1) < 128 && !pattern(i + 1).isLetterOrDigit
      while (i < pattern.length && (!special(pattern(i)) || isEscaped)) {
        if (pattern(i) == '\\') i += 1
        last = text.length
        // a character outside the first 65,536 is two here, and is repeated as a whole
        val character = pattern.codePointAt(i)
        text.append(new String(Character.toChars(character)))
        i += Character.charCount(character)
      }
      // this may repeat the last character no time
      val isOptional = i < pattern.length && repetitions(pattern(i))
      if (isOptional) text.setLength(last)
      val extent = if (i == pattern.length) LikePattern.Beginning else LikePattern.Part
      if (text.isEmpty) None else Some(LikePattern(text.toString, extent))
    }
}

/**
 * Reads a regular expression as far as its first part that is neither a letter, a choice of letters nor a group of
 * such parts. All of its alternatives must begin at the beginning of the text.
 */
private object RegexBeginnings {
  private val MaxBeginnings = 64

  /** What the texts of a part begin with, and whether the part is read to its end. */
  private final case class Read(texts: Seq[String], isWhole: Boolean) {
    def ++(next: Read): Read =
      if (!isWhole) this
      else Read(for (t <- texts; n <- next.texts) yield t + n, next.isWhole)
  }
  private val Nothing = Read(Seq(""), isWhole = true)
  private val Open = Read(Seq(""), isWhole = false)

  /** An expression that this reader does not know. */
  private object Unknown extends Exception {
    override def fillInStackTrace(): Throwable = this
  }

  def of(pattern: String): Option[Seq[String]] =
    try {
      val reader = new Reader(pattern)
      val found = reader.alternatives(isTop = true)
      if (reader.isAtEnd) Some(found.texts.distinct) else None
    } catch { case Unknown => None }

  private final class Reader(pattern: String) {
    private var i = 0
    def isAtEnd: Boolean = i == pattern.length
    private def peek(c: Char): Boolean = i < pattern.length && pattern(i) == c
    private def skip(text: String): Boolean = {
      val isThere = pattern.startsWith(text, i)
      if (isThere) i += text.length
      isThere
    }

    /** @param isTop each alternative begins with an anchor */
    def alternatives(isTop: Boolean): Read = {
      val all = Seq.newBuilder[Read]
      do {
        if (isTop && !skip("^") && !skip("\\A")) throw Unknown
        all += sequence()
      } while (skip("|"))
      val found = all.result()
      val texts = found.flatMap(_.texts)
      if (texts.size > MaxBeginnings) throw Unknown
      Read(texts, found.forall(_.isWhole))
    }

    private def sequence(): Read = {
      var read = Nothing
      while (i < pattern.length && !peek('|') && !peek(')')) {
        val part = repeated(atom())
        if (read.texts.size * part.texts.size > MaxBeginnings) read = read ++ Open
        else read = read ++ part
      }
      read
    }

    /** What a repetition behind a part leaves of the part. */
    private def repeated(part: Read): Read = {
      val after =
        if (skip("+")) part.copy(isWhole = false)
        else if (skip("?") || skip("*")) Open
        else if (peek('{')) {
          val end = pattern.indexOf('}', i)
          if (end < 0) throw Unknown
          i = end + 1
          Open
        } else part
      // lazy and possessive forms
      if (after ne part) { val _ = skip("?") || skip("+") }
      after
    }

    private def atom(): Read = pattern(i) match {
      case '(' =>
        i += 1
        if (peek('?') && !skip("?:")) throw Unknown
        val inside = alternatives(isTop = false)
        if (!skip(")")) throw Unknown
        inside
      case '[' => choice()
      case '.' | '$' =>
        i += 1
        Open
      case '^' | '*' | '+' | '?' | '{' | '}' | ']' => throw Unknown
      case '\\' => escaped().fold(Open)(c => Read(Seq(c), isWhole = true))
      case _ => Read(Seq(character()), isWhole = true)
    }

    private def character(): String = {
      val c = pattern.codePointAt(i)
      i += Character.charCount(c)
      new String(Character.toChars(c))
    }

    /** The character that an escape means; None for a class or a place such as `\\d` and `\\b`. */
    private def escaped(): Option[String] = {
      i += 1
      if (i >= pattern.length) throw Unknown
      val c = pattern(i)
      if (c < 128 && !c.isLetterOrDigit) {
        i += 1
        Some(c.toString)
      } else if ("dDsSwWbBhHvVrntfe".indexOf(c.toInt) >= 0) {
        i += 1
        None
      } else throw Unknown
    }

    private def choice(): Read = {
      i += 1
      if (peek('^') || peek(']')) throw Unknown
      val all = Seq.newBuilder[String]
      var isKnown = true
      while (!peek(']')) {
        if (i >= pattern.length || peek('[') || peek('&')) throw Unknown
        val one =
          if (peek('\\')) escaped()
          else Some(character())
        if (peek('-') && i + 1 < pattern.length && pattern(i + 1) != ']') {
          i += 1
          val last = if (peek('\\')) escaped() else Some(character())
          (one, last) match {
            case (Some(a), Some(b))
                if a.length == 1 && b.length == 1 && a(0) <= b(0) && b(0) < 128 =>
              all ++= (a(0) to b(0)).map(_.toString)
            case _ => isKnown = false
          }
        } else one.fold { isKnown = false }(all += _)
      }
      i += 1
      val texts = all.result().distinct
      if (isKnown && texts.nonEmpty && texts.size <= MaxBeginnings) Read(texts, isWhole = true)
      else Open
    }
  }
}
