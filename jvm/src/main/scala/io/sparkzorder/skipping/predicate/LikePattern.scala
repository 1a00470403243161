package io.sparkzorder.skipping.predicate

/**
 * What a LIKE pattern says of the beginning of the texts that match it.
 *
 * @param text how each of them begins
 * @param extent what else is known
 */
private[sparkzorder] final case class LikePattern(text: String, extent: LikePattern.Extent)

private[sparkzorder] object LikePattern {
  sealed trait Extent

  /** The text is all that matches. */
  case object Whole extends Extent

  /** Everything that begins so matches. */
  case object Beginning extends Extent

  /** There are more conditions. */
  case object Part extends Extent

  /** None for patterns that Spark refuses or that say nothing of the beginning. */
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
    // Spark shows bytes that are no text as this character, so it may stand for others
    val usable = isLegal && text.indexOf("\uFFFD") < 0 && (text.nonEmpty || extent == Whole)
    if (usable) Some(LikePattern(text.toString, extent)) else None
  }
}
