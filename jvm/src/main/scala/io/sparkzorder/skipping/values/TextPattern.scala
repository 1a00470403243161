// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.values

/**
 * The beginning that a LIKE pattern, or a regular expression, requires of a text.
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
   * The beginning that a LIKE pattern requires; None for a pattern that Spark rejects, or that begins with a
   * wildcard.
   */
  def of(pattern: String, escape: Char): Option[LikePattern] =
    characters(pattern, escape).flatMap { all =>
      val (beginning, rest) = all.span { case (_, isWildcard) => !isWildcard }
      val text = beginning.map(_._1).mkString
      val extent =
        if (rest.isEmpty) Whole else if (rest.map(_._1) == Seq('%')) Beginning else Part
      // Spark decodes bytes that are not valid UTF-8 to this character. So a matching text may have other bytes in
      // its place.
      val usable = !text.contains("\uFFFD") && (text.nonEmpty || extent == Whole)
      if (usable) Some(LikePattern(text, extent)) else None
    }

  /** The characters of a LIKE pattern, each with true if it is a wildcard; None for a pattern that Spark rejects. */
  def characters(pattern: String, escape: Char): Option[Seq[(Char, Boolean)]] = {
    val found = Seq.newBuilder[(Char, Boolean)]
    var i = 0
    var isLegal = true
    while (i < pattern.length && isLegal) {
      val isEscaped = pattern(i) == escape
      if (isEscaped) i += 1
      // only a wildcard or the escape character itself may be escaped
      isLegal = i < pattern.length && (!isEscaped || s"%_$escape".indexOf(pattern(i).toInt) >= 0)
      if (isLegal) found += pattern(i) -> (!isEscaped && "%_".indexOf(pattern(i).toInt) >= 0)
      i += 1
    }
    if (isLegal) Some(found.result()) else None
  }
}

/** The characters with which a regular expression begins. [[PatternStates]] reads the whole expression. */
private[sparkzorder] object RegexPattern {
  private val special = "\\^$.|?*+()[]{}".toSet
  private val repetitions = "?*{".toSet

  /** The characters after `^`: each text in which the expression is found begins with them. None without any. */
  def of(pattern: String): Option[LikePattern] =
    if (!pattern.startsWith("^") || pattern.contains('|') || pattern.contains('\uFFFD')) None
    // Java rewrites the text behind this mark before it reads repetitions
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
        // a character outside the first 65,536 has two chars, and a repetition repeats both
        val character = pattern.codePointAt(i)
        text.append(new String(Character.toChars(character)))
        i += Character.charCount(character)
      }
      // the last character may occur zero times
      val isOptional = i < pattern.length && repetitions(pattern(i))
      if (isOptional) text.setLength(last)
      if (text.isEmpty) None
      else Some(LikePattern(
        text.toString,
        if (i == pattern.length) LikePattern.Beginning else LikePattern.Part))
    }
}
