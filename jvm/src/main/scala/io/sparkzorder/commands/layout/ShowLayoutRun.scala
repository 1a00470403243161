package io.sparkzorder.commands.layout

import java.io.FileNotFoundException

import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.StructType

import io.sparkzorder.commands.LayoutColumns
import io.sparkzorder.errors.ZOrderException
import io.sparkzorder.log.{RetainedFiles, RunHistory, StateDirectory}
import io.sparkzorder.report.ColumnLayout
import io.sparkzorder.table.{ListedTable, OrderingColumn}
import io.sparkzorder.table.schema.TableSchema
import io.sparkzorder.table.stats.{FileColumns, FooterReader}

/**
 * One run of SHOW LAYOUT: lists the files, reads their footers and page indexes, and judges each column.
 * No job reads data, and nothing is written.
 */
final class ShowLayoutRun(session: Session, source: LayoutSource, names: Seq[Seq[String]]) {
  private val conf = session.sessionState.newHadoopConf()
  private val sameName = session.sessionState.conf.resolver

  def run(): Seq[Row] = attempt(ShowLayoutRun.Attempts)

  /** Files may be replaced between the listing and the reading: then they are listed anew. */
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
    val history = state.map(RunHistory.read)
    val schema = schemaOf(table)
    val chosen = new LayoutColumns(session, table, history).choose(names, schema)
    val files = read(table, chosen.columns, schema)
    val retained = for { s <- state; h <- history } yield RetainedFiles.of(s, h)
    val zone = session.sessionState.conf.sessionLocalTimeZone
    chosen.columns.zipWithIndex.map { case (column, i) =>
      val layout =
        ColumnLayout.of(column, files, i, chosen.dimensions, chosen.isOrderedBy(column))
      new ShowLayoutResult(layout, retained.getOrElse(RetainedFiles(0L, None)), zone).toRow
    }
  }

  private def read(
      table: ListedTable,
      columns: Seq[OrderingColumn],
      schema: StructType): IndexedSeq[FileColumns] = {
    val files = table.files.files
    val withPages = files.size.toLong * columns.size <= ShowLayoutRun.MostPageIndexes
    val hasDefault = columns.map { c =>
      c.parts.size == 1 &&
      schema.exists(f => f.name == c.parts.head && f.metadata.contains("EXISTS_DEFAULT"))
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

private[sparkzorder] object ShowLayoutRun {

  /** Files times columns above which page indexes are not read: each is two small reads. */
  val MostPageIndexes = 50000L

  private val Attempts = 3
}
