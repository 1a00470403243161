// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import java.util.Locale

import scala.collection.JavaConverters._
import scala.util.Try

import org.antlr.v4.runtime.{
  BaseErrorListener,
  CharStream,
  CharStreams,
  CodePointCharStream,
  CommonTokenStream,
  IntStream,
  ParserRuleContext,
  RecognitionException,
  Recognizer,
  Token
}
import org.antlr.v4.runtime.misc.{Interval, ParseCancellationException}

import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.VariableSubstitution
import org.apache.spark.sql.types.{DataType, StructType}

import io.sparkzorder.conf.Settings
import io.sparkzorder.sql.parser.{ZOrderSqlBaseLexer, ZOrderSqlBaseParser}

/**
 * Reads the statements of spark-zorder and hands every other text, untouched, to the next parser.
 *
 * A text that our grammar does not accept goes to the next parser, too. If the next parser refuses the text as well,
 * and the text begins like a statement of spark-zorder, the error is that of our grammar, which points to the right
 * place.
 *
 * @param delegate the next parser: Spark's, or that of another extension
 */
private[sparkzorder] class ZOrderParser(override val delegate: ParserInterface)
    extends ParserInterface
    with ParserOfSparkLine {

  override def parsePlan(sqlText: String): LogicalPlan =
    parse(sqlText, _.read(delegate.parseExpression), delegate.parsePlan)

  override protected def parse(
      sqlText: String,
      condition: StatementPart => Expression,
      next: String => LogicalPlan): LogicalPlan =
    ZOrderParser.candidate(sqlText).fold(next(sqlText)) { substituted =>
      val tokens = ZOrderParser.tokens(substituted)
      if (Script.begins(tokens)) {
        new Script(substituted, tokens, inScript(_, condition, next)).parse(sqlText, next)
      } else {
        ours(tokens, condition, next) match {
          case Right(plan) => orOfNext(plan, tokens, next(sqlText))
          case Left(error) if ZOrderParser.beginsLikeOurs(ZOrderParser.visible(tokens)) =>
            Try(next(sqlText)).getOrElse(throw error)
          case Left(_) => new CreateSortBy(substituted, tokens, delegate).parse(sqlText, next)
        }
      }
    }

  private def ours(
      tokens: CommonTokenStream,
      condition: StatementPart => Expression,
      next: String => LogicalPlan): Either[ParseException, LogicalPlan] =
    ZOrderParser.tree(tokens).map { tree =>
      new ZOrderAstBuilder(tokens, delegate, condition, next).visitSingleStatement(tree)
    }

  /** Our plan, or the plan of the next parser where that parser knows the text as a statement of its own. */
  private def orOfNext(
      plan: LogicalPlan,
      tokens: CommonTokenStream,
      ofNext: => LogicalPlan): LogicalPlan =
    if (ZOrderParser.mayBeOfDelta(ZOrderParser.visible(tokens))) Try(ofNext).getOrElse(plan)
    else plan

  /** The plan of one statement in a script; None if the statement is not ours. */
  private def inScript(
      text: String,
      condition: StatementPart => Expression,
      next: String => LogicalPlan): Option[LogicalPlan] = {
    val tokens = ZOrderParser.tokens(text)
    ours(tokens, condition, next) match {
      case Right(plan) => Some(orOfNext(plan, tokens, next(text)))
      case Left(error) if ZOrderParser.beginsLikeOurs(ZOrderParser.visible(tokens)) => throw error
      case Left(_) =>
        val create = new CreateSortBy(text, tokens, delegate)
        if (create.hasSortBy) Some(create.parse(text, next)) else None
    }
  }

  override def parseExpression(sqlText: String): Expression = delegate.parseExpression(sqlText)

  override def parseTableIdentifier(sqlText: String): TableIdentifier =
    delegate.parseTableIdentifier(sqlText)

  override def parseFunctionIdentifier(sqlText: String): FunctionIdentifier =
    delegate.parseFunctionIdentifier(sqlText)

  override def parseMultipartIdentifier(sqlText: String): Seq[String] =
    delegate.parseMultipartIdentifier(sqlText)

  override def parseTableSchema(sqlText: String): StructType = delegate.parseTableSchema(sqlText)

  override def parseDataType(sqlText: String): DataType = delegate.parseDataType(sqlText)

  override def parseQuery(sqlText: String): LogicalPlan = delegate.parseQuery(sqlText)
}

private object ZOrderParser {
  private val firstWords = Set(
    "OPTIMIZE",
    "EXPLAIN",
    "SHOW",
    "CREATE",
    "REFRESH",
    "DROP",
    "RECOVER",
    "UNDO",
    "PUBLISH",
    "VACUUM",
    "ALTER")

  private val keyword = "(?i)optimize|layout|zorder|skipping|sort|workload".r.pattern

  def enabled: Boolean = Settings.ofSession(Settings.Enabled)

  /**
   * The text with its variables replaced; None if the text cannot be a statement of ours. Variables are replaced
   * before the test, because a keyword may be in a variable.
   */
  def candidate(text: String): Option[String] =
    if ((mayBeOurs(text) || text.contains("${")) && enabled)
      Some(substitute(text)).filter(mayBeOurs)
    else None

  /**
   * True if the text contains a keyword of spark-zorder. This cheap test saves most other statements from being cut
   * into tokens.
   */
  def mayBeOurs(text: String): Boolean = keyword.matcher(text).find()

  def substitute(text: String): String = new VariableSubstitution().substitute(text)

  def tokens(text: String): CommonTokenStream = {
    val lexer = new ZOrderSqlBaseLexer(new UpperCaseCharStream(CharStreams.fromString(text)))
    lexer.removeErrorListeners()
    val stream = new CommonTokenStream(lexer)
    stream.fill()
    stream
  }

  def tree(tokens: CommonTokenStream)
      : Either[ParseException, ZOrderSqlBaseParser.SingleStatementContext] = {
    val words = visible(tokens)
    if (words.isEmpty || !firstWords(upper(words.head))) return Left(syntaxError(tokens.get(0), ""))
    val parser = new ZOrderSqlBaseParser(tokens)
    parser.removeErrorListeners()
    parser.addErrorListener(FirstError)
    try Right(parser.singleStatement())
    catch { case e: SyntaxError => Left(syntaxError(e.token, e.getMessage)) }
  }

  // enough for ALTER TABLE with a name of three parts: the dots in the name are tokens, too
  private val FirstTokens = 12

  /** True if the text begins like a statement of spark-zorder, so that its syntax error is ours. */
  def beginsLikeOurs(words: Seq[Token]): Boolean =
    words.take(FirstTokens).map(upper).toList match {
      case "OPTIMIZE" :: _ => true
      case "EXPLAIN" :: rest => rest.take(2).contains("OPTIMIZE")
      case "SHOW" :: second :: _ => Set("LAYOUT", "SKIPPING", "WORKLOAD")(second)
      case ("RECOVER" | "UNDO" | "PUBLISH" | "VACUUM") :: "LAYOUT" :: _ => true
      case "ALTER" :: "TABLE" :: rest => rest.containsSlice(Seq("SORT", "BY"))
      case ("CREATE" | "DROP" | "REFRESH") :: rest => rest.containsSlice(Seq("ZORDER", "INDEX"))
      case _ => false
    }

  /**
   * True for `VACUUM LAYOUT LITE` and `VACUUM LAYOUT FULL`, also with RETAIN or DRY RUN. Delta has such a statement for
   * a table called `layout`. For ours, a table called `lite` or `full` stands in backquotes or after its database.
   */
  def mayBeOfDelta(words: Seq[Token]): Boolean = words.map(upper).toList match {
    case "VACUUM" :: "LAYOUT" :: ("LITE" | "FULL") :: rest => rest.headOption.forall(_ != ".")
    case _ => false
  }

  def visible(tokens: CommonTokenStream): Seq[Token] =
    tokens.getTokens.asScala.toSeq
      .filter(t => t.getChannel == Token.DEFAULT_CHANNEL && t.getType != Token.EOF)

  def upper(t: Token): String = t.getText.toUpperCase(Locale.ROOT)

  final class SyntaxError(val token: Token, message: String)
      extends ParseCancellationException(message)

  object FirstError extends BaseErrorListener {
    override def syntaxError(
        recognizer: Recognizer[_, _],
        offendingSymbol: AnyRef,
        line: Int,
        column: Int,
        message: String,
        e: RecognitionException): Unit =
      throw new SyntaxError(offendingSymbol.asInstanceOf[Token], message)
  }

  /** A syntax error in the form of Spark's own errors, which points to a token. */
  def syntaxError(at: Token, message: String): ParseException = {
    val ctx = new ParserRuleContext()
    ctx.start = at
    ctx.stop = at
    val where = if (at.getType == Token.EOF) "end of input" else s"'${at.getText}'"
    val hint = if (message.isEmpty) "" else s": $message"
    new ParseException("PARSE_SYNTAX_ERROR", Map("error" -> where, "hint" -> hint), ctx)
  }
}

/**
 * Gives the lexer letters in upper case, so that keywords match in any case. `getText` returns the text as it was
 * written. (ANTLR's own option for this is newer than the ANTLR of Spark 3.5.)
 */
private[sql] final class UpperCaseCharStream(text: CodePointCharStream) extends CharStream {
  override def LA(i: Int): Int = {
    val c = text.LA(i)
    if (c == 0 || c == IntStream.EOF) c else Character.toUpperCase(c)
  }

  override def getText(interval: Interval): String = text.getText(interval)
  override def consume(): Unit = text.consume()
  override def mark(): Int = text.mark()
  override def release(marker: Int): Unit = text.release(marker)
  override def index(): Int = text.index()
  override def seek(index: Int): Unit = text.seek(index)
  override def size(): Int = text.size()
  override def getSourceName: String = text.getSourceName
}

/**
 * What `ParserOfSparkLine` needs of [[ZOrderParser]]. `ParserOfSparkLine` has the methods of a parser that only some
 * Spark lines know.
 */
private[sql] trait DelegatingParser { self: ParserInterface =>

  /** The next parser: Spark's, or that of another extension. */
  def delegate: ParserInterface

  /**
   * @param condition parses a predicate
   * @param next the next parser, which parses the whole text when it is not ours
   */
  protected def parse(
      sqlText: String,
      condition: StatementPart => Expression,
      next: String => LogicalPlan): LogicalPlan
}
