// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.StringType

import io.sparkzorder.skipping.values.LikePattern

/**
 * Turns a comparison of a text that is joined from several columns into comparisons of the columns. An example is
 * `concat(region, '|', code) = 'EU|7'`, which is true where `region = 'EU' AND code = '7'`. Where the separator
 * occurs several times in the constant, each place may be the end of the first column.
 */
private[predicate] object JoinedTexts {

  /** A text that is joined from more parts than this is not divided. Constant separators do not count. */
  private val MostParts = 8

  /** A constant in which the separators stand in more places than this is not divided. */
  private val MostPlaces = 12

  /** A constant that can be divided in more ways than this is not divided. */
  private val MostWays = 64

  /** An IN with more constants than this is not divided. */
  private val MostConstants = 100

  /** A required beginning of more characters than this is not divided. */
  private val MostLetters = 1000

  /** One way to divide a constant: the conditions on the parts, all of which must hold. */
  private type Way = Seq[Expression]

  /** A condition that is true for each row for which the predicate is true. None if nothing is known. */
  def of(e: Expression): Option[Expression] = equal(e).orElse(beginning(e))

  /**
   * A condition that is true for each row for which the comparison is true. Where the comparison is false, the
   * condition may be NULL, so NOT of the condition proves nothing. None if nothing is known.
   */
  private[predicate] def equal(e: Expression): Option[Expression] = e match {
    case EqualTo(JoinOf(ways), Membership.Text(text)) => any(Seq(text), ways)
    case EqualTo(Membership.Text(text), JoinOf(ways)) => any(Seq(text), ways)
    case In(JoinOf(ways), list) if list.forall(_.isInstanceOf[Literal]) => in(list, ways)
    case InSet(JoinOf(ways), values) => in(values.toSeq.map(Literal(_, StringType)), ways)
    case _ => None
  }

  /**
   * The beginning of a joined text. An example is `concat(region, '|', code) LIKE 'EU|7%'`, which is true only
   * where `region = 'EU' AND code LIKE '7%'`, or where the region itself begins with `EU|7`.
   */
  private def beginning(e: Expression): Option[Expression] = e match {
    case StartsWith(join @ JoinOf(_), Membership.Text(text)) => begun(join, text)
    case l @ Like(join @ JoinOf(_), Membership.Text(pattern), _) =>
      LikePattern.of(pattern, l.escapeChar).filter(_.extent != LikePattern.Whole)
        .flatMap(p => begun(join, p.text))
    case _ => None
  }

  private def begun(join: Expression, text: String): Option[Expression] = join match {
    case Concat(parts) if text.length <= MostLetters =>
      val ways = beginning(parts, text).take(MostWays + 1).toList
      if (ways.size > MostWays || ways.exists(_.isEmpty)) None
      else Some(ways.map(_.reduce(And)).reduceOption(Or).getOrElse(Literal(false)))
    case _ => None
  }

  private def beginning(parts: Seq[Expression], text: String): Iterator[Way] = parts match {
    case _ if text.isEmpty => Iterator(Nil)
    case Membership.Text(constant) +: rest =>
      if (text.startsWith(constant)) beginning(rest, text.drop(constant.length))
      else if (constant.startsWith(text)) Iterator(Nil)
      else Iterator.empty
    case part +: rest =>
      val separator = rest match {
        case Membership.Text(constant) +: _ => constant
        // this is the last part, because a constant stands between two parts
        case _ => ""
      }
      // Either the part reaches to the end of the text or beyond it, or a separator follows the part. The text
      // may end inside of the separator.
      Iterator[Way](Seq(StartsWith(part, Literal(text)))) ++
        text.indices.iterator.filter { at =>
          separator.nonEmpty &&
          (text.startsWith(separator, at) || separator.startsWith(text.substring(at)))
        }.flatMap(at =>
          beginning(rest, text.substring(at)).map(is(part, text.take(at)) +: _))
    case _ => Iterator.empty
  }

  private def in(list: Seq[Expression], ways: String => Option[Seq[Way]]): Option[Expression] = {
    // NULL in the list makes no comparison true
    val present = list.filter { case Literal(value, _) => value != null; case _ => true }
    val texts = present.collect { case Membership.Text(text) => text }
    if (texts.size > MostConstants || texts.size < present.size) None else any(texts, ways)
  }

  private def any(texts: Seq[String], ways: String => Option[Seq[Way]]): Option[Expression] = {
    val all = texts.iterator.map(ways).takeWhile(_.isDefined).map(_.get).toList
    if (all.size < texts.size) None
    else Some(all.flatten.map(_.reduceOption(And).getOrElse(Literal(true)))
      .reduceOption(Or).getOrElse(Literal(false)))
  }

  /**
   * Matches a joined text. The result is a function from a constant to all ways in which the parts give this
   * constant; the function returns None if there are too many ways.
   */
  private object JoinOf {
    // an expression with one column is searched as a whole, because the same value must fit all its parts
    def unapply(e: Expression): Option[String => Option[Seq[Way]]] =
      if (e.dataType != StringType || e.references.size < 2 || !e.deterministic ||
        e.children.count(!isSeparator(_)) > MostParts || !e.children.forall(
          _.dataType == StringType)) None
      else e match {
        case Concat(parts) if isDivided(parts) =>
          val separators = parts.collect { case Membership.Text(text) if text.nonEmpty => text }
          Some(text => few(text, separators)(divided(parts, text)))
        case ConcatWs(Membership.Text(separator) +: parts) if separator.nonEmpty =>
          Some(text =>
            few(text, Seq(separator)) {
              separated(parts, Some(text), separator) ++
                // all parts are NULL, which gives the empty text
                (if (text.isEmpty) separated(parts, None, separator) else Iterator.empty)
            })
        case _ => None
      }
  }

  private def few(text: String, separators: Seq[String])(
      ways: => Iterator[Way]): Option[Seq[Way]] =
    if (separators.distinct.map(placesOf(_, text).size).sum > MostPlaces) None
    else Some(ways.take(MostWays + 1).toList).filter(_.size <= MostWays)

  /** True if a constant stands between each two other parts. */
  private def isDivided(parts: Seq[Expression]): Boolean =
    parts.zip(parts.drop(1)).forall { case (a, b) => isSeparator(a) || isSeparator(b) }

  private def isSeparator(part: Expression): Boolean = part match {
    case Membership.Text(text) => text.nonEmpty
    case _ => false
  }

  // an iterator, so that only the first ways are computed if there are too many
  private def divided(parts: Seq[Expression], text: String): Iterator[Way] = parts match {
    case Membership.Text(constant) +: rest =>
      if (text.startsWith(constant)) divided(rest, text.drop(constant.length)) else Iterator.empty
    case Seq(last) => Iterator(Seq(is(last, text)))
    case part +: Membership.Text(separator) +: rest =>
      placesOf(separator, text).flatMap { at =>
        divided(rest, text.drop(at + separator.length)).map(is(part, text.take(at)) +: _)
      }
    // the list is empty: a constant stands between two parts, so the cases above match all other lists
    case _ => if (text.isEmpty) Iterator(Nil) else Iterator.empty
  }

  /** @param text None if no part of the text is left: all parts must then be NULL, which `concat_ws` leaves out */
  private def separated(
      parts: Seq[Expression],
      text: Option[String],
      separator: String): Iterator[Way] = parts match {
    case part +: rest =>
      def starting(value: String, others: Option[String]): Iterator[Way] = part match {
        case Membership.Text(constant) =>
          if (constant == value) separated(rest, others, separator) else Iterator.empty
        case _ => separated(rest, others, separator).map(is(part, value) +: _)
      }
      val asNull =
        if (part.nullable) separated(rest, text, separator).map(IsNull(part) +: _)
        else Iterator.empty
      asNull ++ text.iterator.flatMap { t =>
        starting(t, None) ++ placesOf(separator, t).flatMap { at =>
          starting(t.take(at), Some(t.drop(at + separator.length)))
        }
      }
    case _ => if (text.isEmpty) Iterator(Nil) else Iterator.empty
  }

  private def is(part: Expression, text: String): Expression = EqualTo(part, Literal(text))

  private def placesOf(separator: String, text: String): Iterator[Int] =
    (0 to text.length - separator.length).iterator.filter(text.startsWith(separator, _))
}
