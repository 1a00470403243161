// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import java.util.Locale

import scala.util.{Failure, Success, Try}

import org.antlr.v4.runtime.{CommonTokenStream, Token}

import org.apache.spark.sql.{SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.analysis.{PlanWithUnresolvedIdentifier, ResolvedIdentifier}
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType}
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.command.{
  CreateDataSourceTableAsSelectCommand,
  CreateDataSourceTableCommand,
  CreateTableCommand,
  CreateTableLikeCommand,
  DDLUtils,
  ExplainCommand
}
import org.apache.spark.sql.execution.datasources.V1WriteCommand
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.StructType

import io.sparkzorder.commands.SortByCheck
import io.sparkzorder.conf.Settings
import io.sparkzorder.ordered.DeclaredOrder
import io.sparkzorder.sql.parser.{ZOrderSqlBaseLexer, ZOrderSqlBaseParser}
import io.sparkzorder.sql.parser.ZOrderSqlBaseParser.SortByContext

/**
 * Reads the clause SORT BY of a CREATE TABLE or REPLACE TABLE. The next parser reads all other clauses: it gets the
 * statement with blanks in place of SORT BY.
 *
 * A statement that the next parser accepts unchanged is not ours. For example, the query of a CREATE TABLE AS SELECT
 * may end in `SORT BY zorder(a, b)`, where `zorder` is our function.
 *
 * @param text the statement
 * @param tokens of the statement
 */
private[sql] final class CreateSortBy(
    text: String,
    tokens: CommonTokenStream,
    delegate: ParserInterface) {
  import CreateSortBy._

  private val words = ZOrderParser.visible(tokens)

  /** True if the statement has a clause SORT BY of its own, outside of its query. */
  def hasSortBy: Boolean = clauses.nonEmpty

  /** @param original the statement before variables were substituted */
  def parse(original: String, next: String => LogicalPlan): LogicalPlan =
    clauses match {
      case Nil => next(original)
      case first :: others =>
        Try(next(original)) match {
          case Success(plan) => plan
          case Failure(_) =>
            others.foreach(o => throw ZOrderParser.syntaxError(o, "duplicate clause SORT BY"))
            declared(first, next)
        }
    }

  private def declared(first: Token, next: String => LogicalPlan): LogicalPlan = {
    val clause = read(first)
    val builder =
      new ZOrderAstBuilder(tokens, delegate, _.read(delegate.parseExpression), next)
    val order = builder.sortBy(clause)
    val plan =
      try next(without(clause))
      catch { case e: ParseException => throw e.withCommand(text) }
    order.fold(plan)(o =>
      withProperties(plan, o.properties).getOrElse {
        throw ZOrderParser.syntaxError(
          first,
          "SORT BY is supported only in statements that create a table")
      })
  }

  /** The word SORT of each clause SORT BY that stands outside of parentheses and before the query. */
  private def clauses: List[Token] =
    if (!isCreate) Nil
    else {
      var depth = 0
      val found = List.newBuilder[Token]
      var i = 0
      var isQuery = false
      while (i < words.length && !isQuery) {
        words(i).getType match {
          case ZOrderSqlBaseLexer.LEFT_PAREN => depth += 1
          case ZOrderSqlBaseLexer.RIGHT_PAREN => depth -= 1
          case _ if depth > 0 =>
          case ZOrderSqlBaseLexer.SORT if typeAt(i + 1) == ZOrderSqlBaseLexer.BY =>
            found += words(i)
          case _ => isQuery = i > 2 && beginsQuery(i)
        }
        i += 1
      }
      found.result()
    }

  private def isCreate: Boolean = {
    val start = words.take(7).map(ZOrderParser.upper).toList
    val create =
      if (start.headOption.contains("EXPLAIN")) start.drop(1).dropWhile(!begins(_)) else start
    create.headOption.exists(begins) && create.contains("TABLE")
  }

  private def beginsQuery(i: Int): Boolean = ZOrderParser.upper(words(i)) match {
    case "AS" => ZOrderParser.upper(words(i - 1)) != "STORED"
    case "SELECT" => true
    case "WITH" => i + 1 >= words.length || ZOrderParser.upper(words(i + 1)) != "SERDEPROPERTIES"
    case _ => false
  }

  private def typeAt(i: Int): Int = if (i < words.length) words(i).getType else Token.EOF

  private def read(first: Token): SortByContext = {
    tokens.seek(first.getTokenIndex)
    val parser = new ZOrderSqlBaseParser(tokens)
    parser.removeErrorListeners()
    parser.addErrorListener(ZOrderParser.FirstError)
    try parser.sortBy()
    catch {
      case e: ZOrderParser.SyntaxError => throw ZOrderParser.syntaxError(e.token, e.getMessage)
    }
  }

  /** The statement with a blank for each character of the clause, so that the rest stays at its position. */
  private def without(clause: SortByContext): String = {
    // the positions of tokens count code points
    val from = text.offsetByCodePoints(0, clause.start.getStartIndex)
    val until =
      text.offsetByCodePoints(from, clause.stop.getStopIndex + 1 - clause.start.getStartIndex)
    val blanks = StatementPart(clause.start, clause.stop).blank
    text.substring(0, from) + blanks + text.substring(until)
  }
}

private object CreateSortBy {
  private val begins = Set("CREATE", "REPLACE")

  /** Adds properties to the table that the plan creates; None if the plan creates no table. */
  private def withProperties(plan: LogicalPlan, more: Map[String, String]): Option[LogicalPlan] =
    plan match {
      case c: CreateTable => spec(c.tableSpec, more).map(s => c.copy(tableSpec = s))
      case c: CreateTableAsSelect => spec(c.tableSpec, more).map(s => c.copy(tableSpec = s))
      case c: ReplaceTable => spec(c.tableSpec, more).map(s => c.copy(tableSpec = s))
      case c: ReplaceTableAsSelect => spec(c.tableSpec, more).map(s => c.copy(tableSpec = s))
      case c: CreateTableLikeCommand => Some(c.copy(properties = c.properties ++ more))
      case e: ExplainCommand =>
        withProperties(e.logicalPlan, more).map(inner => e.copy(logicalPlan = inner))
      // CREATE TABLE IDENTIFIER(..)
      case p: PlanWithUnresolvedIdentifier =>
        Some(p.copy(planBuilder = (name, children) => {
          val plan = p.planBuilder(name, children)
          withProperties(plan, more).getOrElse(plan)
        }))
      // the unresolved CREATE TABLE LIKE of Spark 4.2, a class that older lines lack; its only map has the properties
      case like if like.nodeName == "CreateTableLike" =>
        Some(like.makeCopy(like.productIterator.map {
          case m: Map[_, _] => m.asInstanceOf[Map[String, String]] ++ more
          case other => other.asInstanceOf[AnyRef]
        }.toArray[AnyRef]))
      case _ => None
    }

  private def spec(spec: TableSpecBase, more: Map[String, String]): Option[TableSpecBase] =
    spec match {
      case s: UnresolvedTableSpec => Some(s.copy(properties = s.properties ++ more))
      case _ => None
    }
}

/**
 * Checks the declared order of a new table, which comes from SORT BY or from the same properties in
 * TBLPROPERTIES. Refuses an order that writes to the table could not keep.
 *
 * This is a rule of the analyzer that changes no plan, and not a check of the analyzer: Spark copies an error of a
 * check, and the copy has no SQLSTATE.
 */
private[sparkzorder] object CheckDeclaredOrder extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = {
    if (Settings.ofSession(Settings.Enabled)) check(plan)
    plan
  }

  private def check(plan: LogicalPlan): Unit =
    plan match {
      case c: CreateDataSourceTableCommand => check(c.table, c.table.schema)
      case c: CreateTableCommand => check(c.table, c.table.schema)
      case c: CreateTableLikeCommand => like(c).foreach(t => check(t, t.schema))
      // an append to an existing table does not change the declared order of the table
      case c: CreateDataSourceTableAsSelectCommand if c.mode != SaveMode.Append =>
        check(c.table, schema(c.query, c.outputColumnNames))
      case _: V1WriteCommand => // a write to a table that exists
      case v2: V2CreateTablePlan => refuseOtherCatalog(v2)
      // CREATE TABLE AS SELECT of a table in Hive's format; a session may lack the module with its class, spark-hive
      case hive
          if hive.nodeName.endsWith("HiveTableAsSelectCommand") &&
            !hive.productIterator.contains(SaveMode.Append) =>
        hive.productIterator.collectFirst { case t: CatalogTable => t }.foreach { table =>
          val query = hive.productIterator.collectFirst { case q: LogicalPlan => q }
          val names = hive.productIterator.collectFirst { case n: Seq[_] => n.map(_.toString) }
          check(table, schema(query.get, names.get))
        }
      case _ =>
    }

  private def check(table: CatalogTable, schema: StructType): Unit =
    declared(table).foreach { order =>
      val partitions = table.partitionColumnNames
      val data = StructType(schema.filterNot(f => partitions.exists(sameName(_, f.name))))
      new SortByCheck(sameName).check(table, order, data)
    }

  private def declared(table: CatalogTable): Option[DeclaredOrder] =
    if (DeclaredOrder.isAuto(table)) Some(DeclaredOrder.auto)
    // no check of an order that Impala or Hive has declared: it may have columns that Spark does not know
    else if (!table.properties.contains(Settings.Columns.propertyKey)) None
    else DeclaredOrder.of(table)

  /**
   * The metadata of the table that CREATE TABLE LIKE will create, as far as the check needs it. None if the
   * source table does not exist: Spark reports that error itself.
   */
  private def like(create: CreateTableLikeCommand): Option[CatalogTable] =
    Try(SparkLine.session(SparkSession.active).sessionState.catalog
      .getTempViewOrPermanentTableMetadata(create.sourceTable)).toOption.map { source =>
      val provider = create.provider
        .orElse(create.fileFormat.inputFormat.map(_ => DDLUtils.HIVE_PROVIDER))
        .orElse(source.provider.filter(_ => source.tableType != CatalogTableType.VIEW))
        .orElse(Some(SQLConf.get.defaultDataSourceName))
      source.copy(
        identifier = create.targetTable,
        tableType = CatalogTableType.MANAGED,
        provider = provider,
        storage =
          if (create.fileFormat.inputFormat.isDefined) create.fileFormat else source.storage,
        properties = create.properties)
    }

  /** Refuses SORT BY for a table of another catalog, such as Iceberg's: it cannot have a declared order. */
  private def refuseOtherCatalog(create: V2CreateTablePlan): Unit =
    create match {
      case c: CreateTable => refuse(c, c.tableSpec)
      case c: CreateTableAsSelect => refuse(c, c.tableSpec)
      case c: ReplaceTable => refuse(c, c.tableSpec)
      case c: ReplaceTableAsSelect => refuse(c, c.tableSpec)
      case _ =>
    }

  private def refuse(create: V2CreateTablePlan, spec: TableSpecBase): Unit = {
    val (properties, provider) = spec match {
      case s: UnresolvedTableSpec => (s.properties, s.provider)
      case s: TableSpec => (s.properties, s.provider)
      case _ => (Map.empty[String, String], None)
    }
    // SORT BY sets this property. Without it, `zorder.columns` only names the columns of OPTIMIZE, which is allowed.
    if (properties.contains(Settings.Order.propertyKey)) {
      SortByCheck.refuseFormat(
        create.tableName.toString,
        provider.orElse(ofCatalog(create)).getOrElse("that another catalog chooses"))
    }
  }

  private def ofCatalog(create: V2CreateTablePlan): Option[String] =
    create.collectFirst { case r: ResolvedIdentifier =>
      r.catalog.getClass.getName.toLowerCase(Locale.ROOT)
    }.flatMap(name => Seq("delta", "iceberg", "hudi").find(name.contains))

  private def schema(query: LogicalPlan, names: Seq[String]): StructType =
    StructType(query.schema.zip(names).map { case (f, name) => f.copy(name = name) })

  private def sameName(a: String, b: String): Boolean = SQLConf.get.resolver(a, b)
}
