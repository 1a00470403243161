// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import scala.collection.JavaConverters._
import scala.util.Try

import org.antlr.v4.runtime.{CommonTokenStream, ParserRuleContext, Token}
import org.antlr.v4.runtime.misc.Interval

import org.apache.spark.sql.catalyst.analysis.PlanWithUnresolvedIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.execution.{
  CodegenMode,
  CostMode,
  ExplainMode,
  ExtendedMode,
  FormattedMode,
  SimpleMode
}
import org.apache.spark.sql.execution.command.ExplainCommand
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.StringType

import io.sparkzorder.commands.{AlterSortBy, TargetAction}
import io.sparkzorder.commands.auto.ShowWorkload
import io.sparkzorder.commands.history._
import io.sparkzorder.commands.index.{
  CreateIndex,
  DropIndex,
  RefreshIndex,
  ShowSkippingCommand,
  SkippingQuery
}
import io.sparkzorder.commands.layout.ShowLayout
import io.sparkzorder.ordered.DeclaredOrder
import io.sparkzorder.sources.OptimizeClauses
import io.sparkzorder.sql.parser.ZOrderSqlBaseBaseVisitor
import io.sparkzorder.sql.parser.ZOrderSqlBaseParser._
import io.sparkzorder.table.{DataFormat, ParquetFiles}

/**
 * Converts the parse tree of a statement to an unresolved plan.
 *
 * @param tokens of the whole statement
 * @param parser the next parser, which parses names and literals
 * @param condition parses an expression, parameters included
 * @param nextParser returns the plan that the next parser makes of a text, parameters included
 */
private[sql] final class ZOrderAstBuilder(
    tokens: CommonTokenStream,
    parser: ParserInterface,
    condition: StatementPart => Expression,
    nextParser: String => LogicalPlan)
    extends ZOrderSqlBaseBaseVisitor[LogicalPlan] {

  private val predicates = new PredicateReader(tokens, parser, condition)

  override def visitSingleStatement(ctx: SingleStatementContext): LogicalPlan =
    visit(ctx.statement())

  override def visitOptimizeTable(ctx: OptimizeTableContext): LogicalPlan =
    optimize(ctx.optimize())

  override def visitExplainOptimize(ctx: ExplainOptimizeContext): LogicalPlan =
    ExplainCommand(optimize(ctx.optimize()), explainMode(Option(ctx.explainMode())))

  override def visitShowLayout(ctx: ShowLayoutContext): LogicalPlan =
    onTarget(ctx.target(), ShowLayout(columns(ctx.columns())))

  override def visitShowLayoutHistory(ctx: ShowLayoutHistoryContext): LogicalPlan =
    onTarget(ctx.target(), ShowLayoutHistory)

  override def visitShowWorkload(ctx: ShowWorkloadContext): LogicalPlan =
    onTarget(ctx.target(), ShowWorkload)

  override def visitCreateIndex(ctx: CreateIndexContext): LogicalPlan =
    onTarget(
      ctx.target(),
      CreateIndex(
        columns(ctx.columns()),
        ifNotExists = ctx.EXISTS() != null,
        options(ctx.settings())))

  override def visitRefreshIndex(ctx: RefreshIndexContext): LogicalPlan =
    onTarget(ctx.target(), RefreshIndex(columns(ctx.columns())))

  override def visitDropIndex(ctx: DropIndexContext): LogicalPlan =
    onTarget(ctx.target(), DropIndex(ifExists = ctx.EXISTS() != null))

  override def visitShowSkipping(ctx: ShowSkippingContext): LogicalPlan = {
    val query = ctx.anything()
    val plan =
      try read(query)(nextParser)
      catch {
        case e: ParseException =>
          // `e` may have another position. So the text is parsed once more, which raises the error with its position in
          // the whole statement.
          read(query)(parser.parsePlan)
          throw e
      }
    ShowSkippingCommand(SkippingQuery(plan, textOf(query)))
  }

  override def visitRecoverLayout(ctx: RecoverLayoutContext): LogicalPlan =
    onTarget(ctx.target(), RecoverLayout(abandon = ctx.ABANDON() != null))

  override def visitAlterSortBy(ctx: AlterSortByContext): LogicalPlan =
    onTarget(ctx.target(), AlterSortBy(sortBy(ctx.sortBy())))

  override def visitUndoLayout(ctx: UndoLayoutContext): LogicalPlan =
    onTarget(ctx.target(), UndoLayout)

  override def visitPublishLayout(ctx: PublishLayoutContext): LogicalPlan = {
    val where = Option(ctx.predicate).map(predicates.read)
    for (full <- where.flatMap(_.full)) {
      throw ZOrderParser.syntaxError(full, "PUBLISH LAYOUT does not support FULL")
    }
    val action = PublishLayout(None)
    TargetStatement(target(ctx.target(), action.statement), action, where.map(_.condition))
  }

  override def visitVacuumLayout(ctx: VacuumLayoutContext): LogicalPlan =
    onTarget(ctx.target(), VacuumLayout(Option(ctx.number).map(hours), ctx.DRY() != null))

  private def hours(number: Token): Long =
    Try(number.getText.toLong).toOption
      .filter(_ <= VacuumLayout.MaxHours)
      .getOrElse(throw ZOrderParser.syntaxError(
        number,
        s"RETAIN takes a whole number of hours, 0 to ${VacuumLayout.MaxHours}"))

  private def optimize(ctx: OptimizeContext): LogicalPlan = {
    val where = Option(ctx.predicate).map(predicates.read)
    for (full <- where.flatMap(_.full) if ctx.FULL() != null) {
      throw ZOrderParser.syntaxError(full, "duplicate clause FULL")
    }
    OptimizeTable(
      target(ctx.target(), "OPTIMIZE"),
      where.map(_.condition),
      OptimizeClauses(
        full = ctx.FULL() != null || where.exists(_.full.isDefined),
        columns = columns(ctx.columns()),
        into = Option(ctx.into).map(stringLiteral),
        options = options(ctx.settings()),
        dryRun = ctx.dryRun() != null,
        auto = ctx.AUTO() != null),
      forOthers(ctx, where.flatMap(_.full)))
  }

  /** @param ctx null if the statement has no OPTIONS */
  private def options(ctx: SettingsContext): Map[String, String] =
    Option(ctx).toSeq.flatMap(_.option().asScala).foldLeft(Map.empty[String, String]) {
      (before, option) =>
        val key =
          if (option.key.STRING() != null) stringLiteral(option.key.STRING().getSymbol)
          else read(option.key)(parser.parseMultipartIdentifier).mkString(".")
        if (before.keys.exists(_.equalsIgnoreCase(key))) {
          throw ZOrderParser.syntaxError(option.getStart, s"duplicate key $key in OPTIONS")
        }
        // a value without quotes consists of letters, digits, `_` and `$`, and is taken as written
        val value = Option(option.value.STRING())
          .fold(option.value.getText)(quoted => stringLiteral(quoted.getSymbol))
        before + (key -> value)
    }

  /** The declared order; None for `SORT BY ()`. */
  def sortBy(ctx: SortByContext): Option[DeclaredOrder] = {
    val columns =
      ctx.multipartName().asScala.toSeq.map(c => read(c)(parser.parseMultipartIdentifier))
    // without the word ZORDER or LEXICAL, the order is lexical, as in Impala
    if (ctx.AUTO() != null) Some(DeclaredOrder.auto)
    else if (columns.isEmpty) None
    else Some(DeclaredOrder(columns, lexical = ctx.ZORDER() == null))
  }

  /** @param ctx null if the statement names no columns */
  private def columns(ctx: ColumnsContext): Seq[Seq[String]] =
    Option(ctx).toSeq
      .flatMap(_.multipartName().asScala)
      .map(c => read(c)(parser.parseMultipartIdentifier))

  /**
   * The statement for the next parser. A clause FULL behind WHERE is moved in front of WHERE, because Delta's grammar
   * has it only there.
   *
   * @param full the clause FULL if it follows WHERE
   */
  private def forOthers(ctx: OptimizeContext, full: Option[Token]): DelegatedStatement = {
    val found = target(ctx.target(), "OPTIMIZE")
    val name = found match {
      case PathTable(path, _) => deltaPath(path)
      case PathOrTable(parts) => deltaPath(parts.last)
      case _ => textOf(ctx.target())
    }
    // only the analyzer can tell whether the name is that of a directory or of a table
    val isOpen = isClause(ctx.target()) || found.isInstanceOf[PathOrTable]
    val (from, to) = (ctx.target().stop.getStopIndex, ctx.stop.getStopIndex)
    val clauses = full.fold(textBetween(ctx, from, to + 1)) { f =>
      val before = textBetween(ctx, from, f.getStartIndex)
      s" FULL$before${textBetween(ctx, f.getStopIndex, to + 1)}"
    }
    val text = s"OPTIMIZE $name$clauses"
    if (isOpen) DelegatedStatement(text, None, Some(clauses))
    else DelegatedStatement(text, Try(nextParser(text)).toOption)
  }

  private def deltaPath(path: String): String = s"delta.${quoteIdentifier(path)}"

  private def onTarget(ctx: TargetContext, action: TargetAction): LogicalPlan =
    TargetStatement(target(ctx, action.statement), action)

  /** @param statement the statement's name, which Spark shows in errors about the table */
  private def target(ctx: TargetContext, statement: String): LogicalPlan =
    Option(ctx.STRING()).flatMap(quoted => text(quoted.getSymbol)) match {
      case Some(path) => PathTable(path, ParquetFiles)
      case None if isClause(ctx) =>
        val name = ctx.inParentheses()
        new PlanWithUnresolvedIdentifier(
          condition(StatementPart(name.start, name.stop)),
          (parts: Seq[String]) => named(parts, statement))
      case None => named(read(ctx)(parser.parseMultipartIdentifier), statement)
    }

  /** True for `IDENTIFIER(expression)`. Spark's analyzer computes the name from the expression. */
  private def isClause(ctx: TargetContext): Boolean = ctx.inParentheses() != null

  private def named(parts: Seq[String], statement: String): LogicalPlan =
    if (parts.length == 2 && DataFormat.named(parts.head).isDefined) PathOrTable(parts)
    else SparkLine.unresolvedTable(parts, statement)

  private def explainMode(ctx: Option[ExplainModeContext]): ExplainMode = ctx match {
    case Some(m) if m.EXTENDED() != null || m.LOGICAL() != null => ExtendedMode
    case Some(m) if m.FORMATTED() != null => FormattedMode
    case Some(m) if m.CODEGEN() != null => CodegenMode
    case Some(m) if m.COST() != null => CostMode
    case _ => SimpleMode
  }

  /** The text of a quoted literal, also if the session takes `"x"` for an identifier. */
  private def stringLiteral(quoted: Token): String =
    text(quoted).getOrElse(
      StatementPart(quoted, quoted).read(parser.parseMultipartIdentifier).mkString("."))

  /**
   * The text of a quoted literal. Spark parses it: escapes, doubled quotes, raw strings.
   *
   * @return None for `"x"` under `spark.sql.ansi.doubleQuotedIdentifiers`, which is an identifier
   */
  private def text(quoted: Token): Option[String] =
    StatementPart(quoted, quoted).read(parser.parseExpression) match {
      case Literal(value, StringType) => Some(value.toString)
      case _ => None
    }

  /** The text between two positions, without the characters at these positions. */
  private def textBetween(ctx: ParserRuleContext, after: Int, before: Int): String =
    if (after + 1 >= before) ""
    else ctx.start.getInputStream.getText(Interval.of(after + 1, before - 1))

  private def read[T](ctx: ParserRuleContext)(parse: String => T): T =
    StatementPart(ctx.start, ctx.stop).read(parse)

  private def textOf(ctx: ParserRuleContext): String = StatementPart(ctx.start, ctx.stop).text
}
