package io.sparkzorder.sql

import scala.collection.JavaConverters._
import scala.util.Try

import org.antlr.v4.runtime.{ParserRuleContext, Token}
import org.antlr.v4.runtime.misc.Interval

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.parser.ParserInterface
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

import io.sparkzorder.commands.TargetAction
import io.sparkzorder.commands.history.{RecoverLayout, ShowLayoutHistory, UndoLayout, VacuumLayout}
import io.sparkzorder.commands.index.{
  CreateIndex,
  DropIndex,
  RefreshIndex,
  ShowSkippingCommand,
  SkippingQuery
}
import io.sparkzorder.commands.layout.ShowLayout
import io.sparkzorder.commands.optimize.OptimizeClauses
import io.sparkzorder.sql.parser.ZOrderSqlBaseBaseVisitor
import io.sparkzorder.sql.parser.ZOrderSqlBaseParser._
import io.sparkzorder.table.{DataFormat, ParquetFiles}

/**
 * Parse tree to unresolved plan.
 *
 * @param names the next parser, which parses names and literals
 * @param condition parses a WHERE predicate, parameters included
 * @param otherParser what the next parser makes of a text, if it accepts it
 */
private[sql] final class ZOrderAstBuilder(
    names: ParserInterface,
    condition: String => Expression,
    otherParser: String => Option[LogicalPlan])
    extends ZOrderSqlBaseBaseVisitor[LogicalPlan] {

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

  override def visitCreateIndex(ctx: CreateIndexContext): LogicalPlan =
    onTarget(ctx.target(), CreateIndex(columns(ctx.columns()), ifNotExists = ctx.EXISTS() != null))

  override def visitRefreshIndex(ctx: RefreshIndexContext): LogicalPlan =
    onTarget(ctx.target(), RefreshIndex(columns(ctx.columns())))

  override def visitDropIndex(ctx: DropIndexContext): LogicalPlan =
    onTarget(ctx.target(), DropIndex(ifExists = ctx.EXISTS() != null))

  override def visitShowSkipping(ctx: ShowSkippingContext): LogicalPlan = {
    val text = textOf(ctx.anything())
    ShowSkippingCommand(SkippingQuery(names.parsePlan(text), text))
  }

  override def visitRecoverLayout(ctx: RecoverLayoutContext): LogicalPlan =
    onTarget(ctx.target(), RecoverLayout)

  override def visitUndoLayout(ctx: UndoLayoutContext): LogicalPlan =
    onTarget(ctx.target(), UndoLayout)

  override def visitVacuumLayout(ctx: VacuumLayoutContext): LogicalPlan =
    onTarget(ctx.target(), VacuumLayout(Option(ctx.number).map(hours), ctx.DRY() != null))

  private def hours(number: Token): Long =
    Try(number.getText.toLong).toOption
      .filter(h => h >= 0 && h <= VacuumLayout.MaxHours)
      .getOrElse(throw ZOrderParser.syntaxError(
        number,
        s"RETAIN takes a whole number of hours, 0 to ${VacuumLayout.MaxHours}"))

  private def optimize(ctx: OptimizeContext): LogicalPlan =
    OptimizeTable(
      target(ctx.target(), "OPTIMIZE"),
      Option(ctx.predicate).map(p => condition(textOf(p))),
      OptimizeClauses(
        full = ctx.FULL() != null,
        columns = columns(ctx.columns()),
        into = Option(ctx.into).map(t => stringLiteral(t.getText)),
        options = options(ctx.option().asScala.toSeq),
        dryRun = ctx.dryRun() != null),
      forOthers(ctx))

  private def options(all: Seq[OptionContext]): Map[String, String] =
    all.foldLeft(Map.empty[String, String]) { (before, option) =>
      val key =
        if (option.key.STRING() != null) stringLiteral(option.key.getText)
        else names.parseMultipartIdentifier(textOf(option.key)).mkString(".")
      if (before.keys.exists(_.equalsIgnoreCase(key))) {
        throw ZOrderParser.syntaxError(option.getStart, s"$key is there twice in OPTIONS")
      }
      val value = option.value.getText
      // a number, true or one of a setting's words needs no quotes
      before + (key -> (if (option.value.STRING() != null) stringLiteral(value) else value))
    }

  /** @param ctx null where none are named */
  private def columns(ctx: ColumnsContext): Seq[Seq[String]] =
    Option(ctx).toSeq
      .flatMap(_.multipartName().asScala)
      .map(c => names.parseMultipartIdentifier(textOf(c)))

  private def forOthers(ctx: OptimizeContext): OtherParser = {
    val named = target(ctx.target(), "OPTIMIZE") match {
      case PathTable(path, _) => deltaPath(path)
      case PathOrTable(parts) => deltaPath(parts.last)
      case _ => textOf(ctx.target())
    }
    val text = s"OPTIMIZE $named${textAfter(ctx.target(), ctx)}"
    OtherParser(text, otherParser(text))
  }

  private def deltaPath(path: String): String = s"delta.${quoteIdentifier(path)}"

  private def onTarget(ctx: TargetContext, action: TargetAction): LogicalPlan =
    TargetStatement(target(ctx, action.statement), action)

  /** @param statement the statement's name, for Spark's errors about the table */
  private def target(ctx: TargetContext, statement: String): LogicalPlan =
    if (ctx.STRING() != null) PathTable(stringLiteral(ctx.STRING().getText), ParquetFiles)
    else {
      val parts = names.parseMultipartIdentifier(textOf(ctx.multipartName()))
      if (parts.length == 2 && DataFormat.named(parts.head).isDefined) PathOrTable(parts)
      else SparkLine.unresolvedTable(parts, statement)
    }

  private def explainMode(ctx: Option[ExplainModeContext]): ExplainMode = ctx match {
    case Some(m) if m.EXTENDED() != null || m.LOGICAL() != null => ExtendedMode
    case Some(m) if m.FORMATTED() != null => FormattedMode
    case Some(m) if m.CODEGEN() != null => CodegenMode
    case Some(m) if m.COST() != null => CostMode
    case _ => SimpleMode
  }

  /** Spark's own reading of a quoted text: escapes, doubled quotes, raw strings. */
  private def stringLiteral(quoted: String): String = names.parseExpression(quoted) match {
    case Literal(value, StringType) => value.toString
    // "x" is an identifier under spark.sql.ansi.doubleQuotedIdentifiers
    case other => other.sql.stripPrefix("`").stripSuffix("`")
  }

  /** What follows a part of a statement. */
  private def textAfter(part: ParserRuleContext, whole: ParserRuleContext): String = {
    val (from, to) = (part.stop.getStopIndex + 1, whole.stop.getStopIndex)
    if (from > to) "" else whole.start.getInputStream.getText(Interval.of(from, to))
  }

  /** The text as written, comments and white space included. */
  private def textOf(ctx: ParserRuleContext): String =
    ctx.start.getInputStream.getText(
      Interval.of(ctx.start.getStartIndex, ctx.stop.getStopIndex))
}
