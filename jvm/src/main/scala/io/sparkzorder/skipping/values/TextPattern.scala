// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

/**
 * The beginning that a LIKE pattern requires of a text.
 *
 * @param text the beginning that all matching texts share
 * @param extent what the pattern requires of the rest of a text
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

/** The beginnings that a regular expression requires of the texts in which it is found. */
private[sparkzorder] object RegexPattern {
  private val special = "\\^$.|?*+()[]{}".toSet
  private val repetitions = "?*{".toSet

  /**
   * The beginnings of the texts in which an expression such as `^(a|b)[cd]` is found: every such text has
   * one of them. None if a text need not have any of them, or if there are too many.
   */
  def alternatives(pattern: String): Option[Seq[String]] =
    if (pattern.contains('\uFFFD')) None
    else RegexBeginnings.of(pattern).filter(_.forall(_.nonEmpty))

  /**
   * True if the match of a group is always a beginning of the text: the group stands directly behind the `^`
   * with which the pattern begins, and is not repeated. Group 0 is the whole pattern.
   */
  def isBeginning(pattern: String, group: Int): Boolean = {
    // classes, quotes, control characters and flags that could hide brackets, or turn them into letters
    val isKnown = !Seq("\\Q", "\\c", "[]", "[^]", "&&").exists(pattern.contains(_)) &&
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

  /**
   * The letters between the `^` with which a pattern begins and its first group, if the match of this group is
   * what follows these letters in the text. An example is `^C-([0-9]+)`.
   */
  def beforeGroup(pattern: String): Option[String] = letters(pattern).collect {
    case (text, rest) if rest.startsWith("(") && isBeginning("^" + rest, 1) => text
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

  /** The letters after `^` with which every such text begins; None if there are none. */
  def of(pattern: String): Option[LikePattern] = letters(pattern).map { case (text, rest) =>
    LikePattern(text, if (rest.isEmpty) LikePattern.Beginning else LikePattern.Part)
  }

  /** The letters after `^`, of which there is at least one, and the rest of the pattern. */
  private def letters(pattern: String): Option[(String, String)] =
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
      // the last character may occur zero times
      val isOptional = i < pattern.length && repetitions(pattern(i))
      if (isOptional) text.setLength(last)
      if (text.isEmpty) None else Some((text.toString, pattern.substring(i)))
    }
}

/**
 * Reads a regular expression up to the first part that is neither a letter, a choice of letters nor a group
 * of such parts. All alternatives must begin with an anchor for the beginning of the text.
 */
private object RegexBeginnings {
  private val MaxBeginnings = 64

  /** The beginnings of the texts that a part matches, and whether they are the whole texts. */
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

    /** What is known about a part with the repetition that follows it. */
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
