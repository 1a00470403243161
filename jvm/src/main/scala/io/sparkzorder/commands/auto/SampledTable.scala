// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.auto

import scala.util.Try

import org.apache.spark.sql.types.StructType

import io.sparkzorder.cluster.{InputFrame, Sampler}
import io.sparkzorder.commands.{OrderingColumns, SampledCuts, TableState}
import io.sparkzorder.conf.PinnedSession
import io.sparkzorder.log.{Record, TableLog}
import io.sparkzorder.table.{OrderingColumn, TableFiles}
import io.sparkzorder.table.schema.TableSchema
import io.sparkzorder.table.stats.{ColumnNames, FileRange, FooterReader, ScannedFile}
import io.sparkzorder.workload.{Workload, WorkloadStore}

/** Samples a table of plain files, to judge layouts by the sample. */
private[auto] final class SampledTable(table: TableState, listed: TableFiles) {
  private val session = PinnedSession.of(table.user)
  private val sameName = session.sessionState.conf.resolver

  private val format = table.target.format
  private val resolver = new OrderingColumns(table.target.name, sameName)

  private def footers(names: Seq[String]): IndexedSeq[ScannedFile] =
    FooterReader.read(listed.files, table.conf, format, ColumnNames.of(names))

  private def schemaOf(footers: Seq[ScannedFile]): StructType =
    new TableSchema(table.target.name, session.sessionState.conf, format)
      .union(listed.catalogSchema, footers)

  /** True if the table has these columns, and files can be ordered by them. */
  def canOrderBy(columns: Seq[Seq[String]]): Boolean = {
    def isOf(schema: StructType) =
      Try(resolver.resolve(columns, schema, listed.partitionSchema)).isSuccess
    listed.catalogSchema.exists(isOf) || isOf(schemaOf(footers(Nil)))
  }

  /** None if there is no file, or no column that files can be ordered by. */
  def of(workload: Workload): Option[Sampled] = {
    val names = workload.columns.map(_._1)
    val footers = this.footers(names)
    if (footers.exists(_.needsRowReader)) PinnedSession.readRowByRow(session)
    val schema = schemaOf(footers)
    val columns = names
      .flatMap(n => Try(resolver.resolve(Seq(Seq(n)), schema, listed.partitionSchema)).toOption)
      .flatten.filter(hasBounds(_, footers)).take(Sampled.MaxColumns).toIndexedSeq
    if (columns.isEmpty || footers.forall(_.rows == 0)) None
    else {
      val byFolder = footers.groupBy(_.file.folder)
      val ownOf = listed.folders.map(byFolder.getOrElse(_, IndexedSeq.empty))
      val rows = ownOf.map(_.map(_.rows).sum)
      val targets = ownOf.zip(rows).map { case (own, r) =>
        SampledCuts.targetRows(table.settings, r, own.map(_.file.length).sum)
      }
      val input = new InputFrame(session, listed, schema, format)
      val wanted = Sampled.rowsFor(Sampled.filesOf(rows, targets))
      val samples = Sampler.sample(input, columns, rows, wanted)
      val folders = listed.folders.indices.map { i =>
        SampledFolder(ownOf(i).map(judged(_, columns)), samples(i), targets(i))
      }
      Some(Sampled.of(
        columns,
        folders,
        workload,
        footers.map(_.file.length).sum,
        isPartitioned = listed.partitionSchema.nonEmpty))
    }
  }

  private def judged(file: ScannedFile, columns: IndexedSeq[OrderingColumn]): JudgedFile =
    JudgedFile(
      file.rows,
      columns.map(FileRange.ofFooter(_, file, sameName)))

  private def hasBounds(column: OrderingColumn, footers: Seq[ScannedFile]): Boolean =
    footers.exists(FileRange.ofFooter(column, _, sameName).bounds.isDefined)
}

/** A table of plain files, for [[AutoChoice]]. */
private[sparkzorder] final class PlainAutoTable(table: TableState, listed: TableFiles)
    extends AutoTable {
  private val parse = table.user.sessionState.sqlParser.parseMultipartIdentifier _
  private lazy val log = TableLog.read(table.state)
  // newest first
  private lazy val runs = log.inForce.map(_._2).filter(_.columns.nonEmpty)
  private lazy val undos = log.all.map(_._2).filter(_.kind == Record.Undo)
  private val sampledTable = new SampledTable(table, listed)

  override def workload(): Workload =
    Workload.sinceChange(table.state, table.conf, WorkloadStore.today)

  override def inForce: Option[LayoutInForce] =
    runs.headOption.map(r => LayoutInForce(r.columns.map(parse), r.columnWeights))
      // the table may have lost a column, or have it with another type
      .filter(l => sampledTable.canOrderBy(l.columns))

  override def sampled(workload: Workload): Option[Sampled] = sampledTable.of(workload)

  override def daysSinceChange(bytes: Long): Option[Long] =
    RecentChange.of(runs, undos, bytes, System.currentTimeMillis())
}
