// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.layout

import java.io.FileNotFoundException

import scala.util.Try

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.commands.TargetAction
import io.sparkzorder.errors.ZOrderException
import io.sparkzorder.index.ValuesUpdate
import io.sparkzorder.log.{StateDirectory, TableLog}
import io.sparkzorder.log.publish.RetainedFiles
import io.sparkzorder.report.ColumnLayout
import io.sparkzorder.table.{ListedTable, OrderingColumn, Target}
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

/** The table that SHOW LAYOUT describes. */
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
 * SHOW LAYOUT of a known target; it writes nothing.
 *
 * @see [[ShowLayoutExecutor]] for the steps of the command
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
    new ShowLayoutExecutor(SparkLine.session(session), source, columns).run()
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
    Iterator.iterate(e)(
      _.getCause).takeWhile(_ != null).exists(_.isInstanceOf[FileNotFoundException])

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
   * If the number of files times the number of columns is above this limit, page indexes are not read,
   * because each page index takes two small reads.
   */
  val MaxPageIndexes = 50000L

  private val Attempts = 3
}
