// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import scala.collection.mutable
import scala.util.{Failure, Success, Try}

import org.antlr.v4.runtime.CommonTokenStream

import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.Origin

import io.sparkzorder.sql.parser.ZOrderSqlBaseLexer

/**
 * A script, `BEGIN .. END`, with statements of spark-zorder among those of the next parser.
 *
 * The next parser gets a query of the same length in place of each of our statements, and reads the whole script:
 * blocks, loops, variables, handlers. In the plan of the script, each such query is then replaced by the plan of our
 * statement. If the next parser accepts the script as it is, nothing is replaced.
 *
 * @param text the script
 * @param tokens of the script
 * @param read the plan of a statement; None if the statement is not ours. It throws a ParseException if the
 *   statement begins like ours and is malformed
 */
private[sql] final class Script(
    text: String,
    tokens: CommonTokenStream,
    read: String => Option[LogicalPlan]) {

  private val words = ZOrderParser.visible(tokens).toIndexedSeq

  /** @param original the script before variables were substituted */
  def parse(original: String, next: String => LogicalPlan): LogicalPlan = candidates match {
    case Nil => next(original)
    case found => Try(next(original)).getOrElse(withOurs(found, next))
  }

  private def withOurs(parts: List[StatementPart], next: String => LogicalPlan): LogicalPlan = {
    val tried = parts.map(part => part -> Try(read(part.atItsPlace)))
    val ours = tried.collect { case (part, Success(Some(plan))) => part -> plan }
    val names = Script.unusedNames(text, ours.size)
    val shown = names.zip(ours).foldRight(text) { case ((name, (part, _)), before) =>
      Script.replace(before, part, name)
    }
    val script =
      try next(shown)
      catch {
        case e: ParseException =>
          throw tried.collectFirst { case (_, Failure(ofOurs)) => ofOurs }.getOrElse(e) match {
            case p: ParseException => p.withCommand(text)
            case other => other
          }
      }
    val plans = names.zip(ours).toMap
    val placed = mutable.Set.empty[String]
    val result = ScriptPlans.replace(script) { (name, origin) =>
      plans.get(name).map { case (part, plan) =>
        placed += name
        (plan, originOf(part, origin, shown))
      }
    }
    // a part whose query is not in the plan only looked like a statement: it is in the middle of an expression
    if (placed.size == ours.size) result
    else withOurs(names.zip(ours).collect { case (n, (part, _)) if placed(n) => part }, next)
  }

  /**
   * The position of our statement in `text`, made from the position of its query in `shown`. The position stays that in
   * `shown` if the two texts have different lengths.
   */
  private def originOf(part: StatementPart, origin: Origin, shown: String): Origin =
    if (!origin.sqlText.contains(shown) || shown.length != text.length) origin
    else origin.copy(
      sqlText = Some(text),
      stopIndex = Some(Script.offset(text, part.last.getStopIndex + 1) - 1))

  /**
   * The parts, up to a semicolon, that begin like a statement of ours at a place where a statement can
   * begin.
   */
  private def candidates: List[StatementPart] = {
    val found = List.newBuilder[StatementPart]
    var expressions = 0 // number of open expressions CASE .. END
    var handler = -1 // index of HANDLER FOR in this statement
    var i = 1
    while (i < words.length) {
      val before = word(i - 1)
      val begins = before == ";" ||
        (expressions == 0 && Script.opens(before)) ||
        (handler >= 0 && i > handler + 2 && before != ",")
      lazy val end = words.indexWhere(_.getType == ZOrderSqlBaseLexer.SEMICOLON, i)
      if (begins && mayBeOurs(i) && end > i) {
        found += StatementPart(words(i), words(end - 1))
        i = end
      }
      word(i) match {
        case ";" =>
          expressions = 0
          handler = -1
        case "CASE" if !begins && before != "END" => expressions += 1
        case "END" if expressions > 0 => expressions -= 1
        case "HANDLER" if i + 1 < words.length && word(i + 1) == "FOR" => handler = i
        case _ =>
      }
      i += 1
    }
    found.result()
  }

  private def word(i: Int): String = ZOrderParser.upper(words(i))

  private def mayBeOurs(i: Int): Boolean = {
    val start = words.slice(i, i + 8)
    val isLabel = start.lift(1).exists(_.getText == ":")
    !isLabel && (ZOrderParser.beginsLikeOurs(start) || Script.mayHold(word(i)))
  }
}

private[sql] object Script {

  /** After these words a statement begins. */
  private val opens = Set("BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT")

  /** A statement that begins with one of these words may be one of Spark's that holds a clause or statement of ours. */
  private val mayHold = Set("CREATE", "REPLACE", "EXPLAIN")

  def begins(tokens: CommonTokenStream): Boolean =
    ZOrderParser.visible(tokens).headOption.exists(ZOrderParser.upper(_) == "BEGIN")

  private def offset(text: String, codePoints: Int): Int = text.offsetByCodePoints(0, codePoints)

  /** Short names that do not occur in the text. */
  private def unusedNames(text: String, number: Int): List[String] = {
    val lower = text.toLowerCase(java.util.Locale.ROOT)
    // the first names have three characters: SELECT z10 is as long as our shortest statement, OPTIMIZE t
    Iterator.from(36).map(n => "z" + Integer.toString(n, 36)).filterNot(lower.contains(_))
      .take(number).toList
  }

  /**
   * Puts a query of one column in the place of a part. Line ends are kept, and blanks fill up the length of the
   * part. The result is longer than the part if the part is shorter than the query, or if there is a line end in
   * the characters that the query replaces.
   */
  private def replace(text: String, part: StatementPart, name: String): String = {
    val query = s"SELECT $name"
    val (under, rest) = part.blank.splitAt(query.length)
    text.substring(0, offset(text, part.first.getStartIndex)) + query +
      under.filter(_ != ' ') + rest + text.substring(offset(text, part.last.getStopIndex + 1))
  }
}
