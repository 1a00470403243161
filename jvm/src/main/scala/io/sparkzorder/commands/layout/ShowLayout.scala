// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.layout

import java.io.FileNotFoundException

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.commons.lang3.exception.ExceptionUtils
import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types.{DataType, StructType}

import io.sparkzorder.commands.{OrderingColumns, Permissions, TargetAction}
import io.sparkzorder.conf.Settings
import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.index.ValuesUpdate
import io.sparkzorder.log.{StateDirectory, TableLog}
import io.sparkzorder.log.publish.RetainedFiles
import io.sparkzorder.ordered.DeclaredOrder
import io.sparkzorder.ordering.OrderedType
import io.sparkzorder.report.ColumnLayout
import io.sparkzorder.snapshot.Snapshot
import io.sparkzorder.sources.TableFormats
import io.sparkzorder.sources.plain.LostRecords
import io.sparkzorder.table._
import io.sparkzorder.table.schema.TableSchema
import io.sparkzorder.table.stats.{FileColumns, FooterReader}

/**
 * SHOW LAYOUT of any target.
 *
 * @param columns the name parts of each column of the clause FOR; empty without this clause
 */
private[sparkzorder] final case class ShowLayout(columns: Seq[Seq[String]]) extends TargetAction {
  override def statement: String = "SHOW LAYOUT"

  override def command(target: Target): LogicalPlan =
    ShowLayoutCommand(OwnTable(target), columns)

  override def commandOnOther(name: String, format: String): Option[LogicalPlan] =
    Some(ShowLayoutCommand(OtherTable(name, format), columns))
}

/** The table that SHOW LAYOUT describes, as the statement names it. */
private[sparkzorder] sealed trait LayoutSource {
  def name: String
}

/** A directory, or a table of the session catalog. */
private[sparkzorder] final case class OwnTable(target: Target) extends LayoutSource {
  override def name: String = target.name
}

/** A table of another format or catalog, by its quoted name and its format. */
private[sparkzorder] final case class OtherTable(name: String, format: String) extends LayoutSource

/**
 * SHOW LAYOUT of a known target. [[ShowLayoutExecutor]] has the steps of the command.
 */
private[sparkzorder] final case class ShowLayoutCommand(
    source: LayoutSource,
    columns: Seq[Seq[String]])
    extends LeafRunnableCommand {

  override lazy val output: Seq[Attribute] = DataTypeUtils.toAttributes(ShowLayoutResult.schema)

  override def simpleString(maxFields: Int): String = {
    val of = if (columns.isEmpty) "" else columns.map(_.mkString(".")).mkString(" FOR (", ", ", ")")
    s"ShowLayout ${source.name}$of"
  }

  override def run(session: SparkSession): Seq[Row] =
    Permissions.namingDenials(s"SHOW LAYOUT of ${source.name}")(
      new ShowLayoutExecutor(SparkLine.session(session), source, columns).run())
}

/**
 * One run of SHOW LAYOUT: lists the files, reads their footers and page indexes, and describes each
 * column. No job reads data, and nothing is written.
 */
private[sparkzorder] final class ShowLayoutExecutor(
    session: Session,
    source: LayoutSource,
    names: Seq[Seq[String]]) {
  private val conf = session.sessionState.newHadoopConf()
  private val sameName = session.sessionState.conf.resolver

  def run(): Seq[Row] = attempt(ShowLayoutExecutor.Attempts)

  /**
   * Describes the table. If a listed file is gone before its footer is read, the files are listed again, at
   * most `left` times.
   */
  private def attempt(left: Int): Seq[Row] =
    try rows()
    catch {
      case e: ZOrderException if left > 0 && isGone(e) => attempt(left - 1)
    }

  private def isGone(e: Throwable): Boolean =
    ExceptionUtils.indexOfType(e, classOf[FileNotFoundException]) >= 0

  private def rows(): Seq[Row] = {
    val table = new LayoutSources(session, conf).list(source)
    val state = table.target.map(t => new StateDirectory(t.root(conf), conf))
    val log = state.map(TableLog.read)
    val schema = schemaOf(table)
    val chosen = new LayoutColumns(session, table, log).choose(names, schema)
    val files = read(table, chosen.columns, schema)
    val retained = for { s <- state; l <- log } yield RetainedFiles.of(s, l)
    // an unreadable index is reported by the queries that use it
    val values = table.target
      .flatMap(t => Try(ValuesUpdate.summaries(t.root(conf), conf)).toOption).getOrElse(Nil)
    val zone = session.sessionState.conf.sessionLocalTimeZone
    chosen.columns.zipWithIndex.map { case (column, i) =>
      val layout =
        ColumnLayout.of(column, files, i, chosen.weightsFor(i), chosen.isOrderedBy(column))
      new ShowLayoutResult(
        layout,
        retained.getOrElse(RetainedFiles(0L, None)),
        zone,
        table.warnings,
        values.find(v => column.parts.size == 1 && sameName(v.column, column.parts.head))).toRow
    }
  }

  private def read(
      table: ListedTable,
      columns: Seq[OrderingColumn],
      schema: StructType): IndexedSeq[FileColumns] = {
    val files = table.files.files
    val withPages = files.size.toLong * columns.size <= ShowLayoutExecutor.MaxPageIndexes
    val hasDefault = columns.map { c =>
      c.parts.size == 1 &&
      schema.exists(f => f.name == c.parts.head && TableSchema.hasDefault(f))
    }
    FileColumns.read(files, columns, withPages, sameName, conf, table.format).map { f =>
      f.copy(columns = f.columns.zip(hasDefault).map { case (column, default) =>
        if (default && !column.stored) column.withDefault else column
      })
    }
  }

  private def schemaOf(table: ListedTable): StructType = table.schema.getOrElse {
    new TableSchema(table.name, session.sessionState.conf, table.format)
      .union(None, FooterReader.read(table.files.files, conf, table.format))
  }
}

private[sparkzorder] object ShowLayoutExecutor {

  /**
   * The greatest number of files times columns for which page indexes are read. Each page index takes two small
   * reads.
   */
  val MaxPageIndexes = 50000L

  private val Attempts = 3
}

/** Lists the files of any table that SHOW LAYOUT may name. */
private[sparkzorder] final class LayoutSources(session: Session, conf: Configuration) {

  /**
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_LAYOUT_NOT_KNOWN if Spark does not read
   *   the source as one table of Parquet or ORC files
   */
  def list(source: LayoutSource): ListedTable = source match {
    case OwnTable(target: PathTarget) if target.isDelta(conf) =>
      delta(target.name, s"delta.${quoteIdentifier(target.path)}")
    case OwnTable(target: PathTarget) =>
      TargetChecks.check(target, conf)
      val known = new CatalogTables(session, conf).known(target)
      known.tables.find(TargetChecks.hidingOption(_).isDefined) match {
        case Some(table) => relation(target.name, session.table(table.identifier.quotedString))
        case None => own(known)
      }
    case OwnTable(target @ CatalogTarget(table)) =>
      val isOwn = table.provider.flatMap(DataFormat.named).isDefined
      // With another format, or with an option that hides files from Spark, our lister does not know which files belong
      // to the table. Then the files are taken from Spark's plan of a query.
      if (isOwn && TargetChecks.hidingOption(table).isEmpty) own(target)
      else relation(target.name, session.table(target.name))
    case OtherTable(name, "iceberg") =>
      IcebergLister.list(session, name).copy(declared = declared(name))
    case OtherTable(name, "delta") => delta(name, name)
    case OtherTable(name, _) => relation(name, session.table(name))
  }

  private def own(target: Target): ListedTable = {
    val lister = new TableLister(session, target)
    val state = new StateDirectory(target.root(conf), conf)
    var listed = Option.empty[TableFiles]
    val files = lister.list(
      identity,
      (all, whole) => {
        listed = Some(all)
        Snapshot.of(state, all, whole)
      })
    ListedTable(
      target.name,
      files,
      files.catalogSchema,
      Some(target),
      target.format,
      warnings = listed.toSeq.flatMap(l =>
        Snapshot.disagreements(state, l).map(_.warning) ++
          new LostRecords(state).warning(l)))
  }

  /** @param quoted the name, quoted for a SQL statement */
  private def delta(name: String, quoted: String): ListedTable = {
    val listed = relation(name, session.table(quoted))
    val columns = TableFormats.lastColumns(listed.files.root, "delta")
      .map(_.map(quoteIdentifier).mkString("."))
    listed.copy(
      ordering = if (columns.isEmpty) None else Some(columns.mkString(",")),
      declared = declared(quoted))
  }

  /** The ordering columns that a property of the table declares. */
  private def declared(quoted: String): Option[String] =
    Try(session.sql(s"SHOW TBLPROPERTIES $quoted").collect()).toOption.toSeq.flatten
      .collectFirst { case r if r.getString(0) == Settings.Columns.propertyKey => r.getString(1) }

  private def relation(name: String, frame: => Frame): ListedTable = {
    val listed =
      try RelationLister.list(name, frame)
      catch {
        case e: ZOrderException => throw e
        case NonFatal(e) => throw ZOrderErrors.layoutNotKnown(name, s"Spark cannot read it: $e")
      }
    listed.getOrElse {
      throw ZOrderErrors.layoutNotKnown(
        name,
        "Spark does not read it as one table of Parquet or ORC files")
    }
  }
}

/**
 * The columns that SHOW LAYOUT describes.
 *
 * @param dimensions by how many columns the ideal layout is ordered with which a column is compared. With 1, the ideal
 *   layout of each column is ordered by that column alone
 * @param ordering the columns of the table's layout, by the records
 * @param weights the weights of `columns` in the layout; empty if all weights are equal
 */
private[sparkzorder] final case class ChosenColumns(
    columns: Seq[OrderingColumn],
    dimensions: Int,
    ordering: Seq[OrderingColumn],
    weights: Seq[Double] = Nil) {

  /** The weights of the columns of the ideal layout with which `column` is compared; its own weight comes first. */
  def weightsFor(column: Int): IndexedSeq[Double] =
    if (weights.isEmpty) IndexedSeq.fill(dimensions)(1.0)
    else (weights(column) +: weights.patch(column, Nil, 1)).toIndexedSeq

  def isOrderedBy(column: OrderingColumn): Boolean = ordering.exists(_.parts == column.parts)
}

/**
 * Chooses the columns to describe: those of the FOR clause, else those of the last run, else those of the declared
 * order, else the first columns of the table.
 */
private[sparkzorder] final class LayoutColumns(
    session: Session,
    table: ListedTable,
    log: Option[TableLog]) {
  private val sameName = session.sessionState.conf.resolver
  private val resolver = new OrderingColumns(table.name, sameName)

  /**
   * @param names name parts of the columns of FOR; empty without FOR
   * @param schema data columns
   */
  def choose(names: Seq[Seq[String]], schema: StructType): ChosenColumns = {
    def found(columns: Seq[Seq[String]]): Seq[OrderingColumn] =
      // a column may have been dropped since the run or the declaration
      columns.flatMap(c => Try(resolve(Seq(c), schema)).toOption).flatten
    val ordering = found(OrderingColumns.parsed(lastLayout))
    // the schema of a Delta table has its partition columns, too
    def data = StructType(
      schema.filterNot(f => table.files.partitionSchema.exists(p => sameName(p.name, f.name))))
    if (names.nonEmpty) {
      // an empty directory has no schema to look columns up in
      val isEmpty = schema.isEmpty && table.files.files.isEmpty
      val columns = if (isEmpty) Nil else resolve(names, schema)
      ChosenColumns(columns, columns.size, ordering)
    } else {
      Seq(ordering, found(declared)).find(_.nonEmpty)
        .map(columns =>
          ChosenColumns(columns, columns.size, ordering, weightsOf(columns, ordering)))
        .getOrElse(ChosenColumns(leaves(data, Nil).take(LayoutColumns.MaxColumns), 1, Nil))
    }
  }

  /** The weights of the layout, if all of its columns are still there. */
  private def weightsOf(
      columns: Seq[OrderingColumn],
      ordering: Seq[OrderingColumn]): Seq[Double] =
    log.flatMap(_.layouts.headOption).map(_.columnWeights)
      .filter(w => columns == ordering && w.size == columns.size).getOrElse(Nil)

  private def resolve(names: Seq[Seq[String]], schema: StructType): Seq[OrderingColumn] =
    resolver.resolve(names, schema, table.files.partitionSchema)

  private def lastLayout: Seq[String] =
    log.flatMap(_.layouts.headOption).map(_.columns).orElse(table.ordering.map(
      DeclaredOrder.split)).getOrElse(Nil)

  private def declared: Seq[Seq[String]] = table.target match {
    case Some(target) =>
      target.tables.flatMap(t => Try(DeclaredOrder.of(t)).toOption.toSeq.flatten).headOption.toSeq
        .flatMap(_.columns)
    case _ => OrderingColumns.parsed(table.declared.toSeq.flatMap(DeclaredOrder.split))
  }

  /** Leaf columns that have an order, also in structs, but not inside lists and maps. */
  private def leaves(t: DataType, parts: Seq[String]): Seq[OrderingColumn] = t match {
    case s: StructType => s.fields.toSeq.flatMap(f => leaves(f.dataType, parts :+ f.name))
    case _ if parts.nonEmpty && OrderedType.of(t).isDefined => Seq(OrderingColumn(parts, t))
    case _ => Nil
  }
}

private object LayoutColumns {

  /** How many columns are described of a table that has no layout. */
  val MaxColumns = 32
}
