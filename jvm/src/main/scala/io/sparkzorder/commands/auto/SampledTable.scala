package io.sparkzorder.commands.auto

import scala.util.Try

import org.apache.spark.sql.types.StructType

import io.sparkzorder.cluster.{CutGoal, InputFrame, Sampler}
import io.sparkzorder.commands.{OrderingColumns, TableState}
import io.sparkzorder.conf.{PinnedSession, Settings}
import io.sparkzorder.table.{OrderingColumn, TableFiles}
import io.sparkzorder.table.schema.TableSchema
import io.sparkzorder.table.stats.{ColumnNames, FileRange, FooterReader, ScannedFile}
import io.sparkzorder.workload.Workload

/**
 * A sample of the columns by which recorded scans can skip files.
 *
 * @param values number of distinct values of each column in the sample
 * @param files number of files that a layout of the whole table would have
 * @param bytes of all files
 */
private[auto] final case class Sampled(
    columns: IndexedSeq[OrderingColumn],
    values: IndexedSeq[Int],
    files: Int,
    bytes: Long,
    queries: RecordedQueries,
    reads: PredictedReads)

/** Samples a table, to judge layouts by the sample. */
private[auto] final class SampledTable(table: TableState, listed: TableFiles) {
  import SampledTable._

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
    val schema = schemaOf(footers)
    val columns = names
      .flatMap(n => Try(resolver.resolve(Seq(Seq(n)), schema, listed.partitionSchema)).toOption)
      .flatten.filter(hasBounds(_, footers)).take(MaxColumns).toIndexedSeq
    if (columns.isEmpty || footers.forall(_.rows == 0)) None
    else {
      val byFolder = footers.groupBy(_.file.folder)
      val ownOf = listed.folders.map(byFolder.getOrElse(_, IndexedSeq.empty))
      val rows = ownOf.map(_.map(_.rows).sum)
      val targets = ownOf.map { own =>
        math.max(
          1.0,
          table.settings(Settings.TargetFileSize).toDouble * own.map(_.rows).sum /
            math.max(1L, own.map(_.file.length).sum))
      }
      val files = rows.zip(targets).map { case (r, t) => math.ceil(r / t).toLong }.sum
      val input = new InputFrame(session, listed, schema, format)
      val wanted = math.max(MinSample, math.min(MaxSample, RowsPerFile * files))
      val samples = Sampler.sample(input, columns, rows, wanted)
      val folders = listed.folders.indices.map { i =>
        SampledFolder(ownOf(i), samples(i), targets(i))
      }
      val queries = new RecordedQueries(workload, columns.map(_.parts.head), footers.size)
      Some(Sampled(
        columns,
        columns.indices.map(c => folders.map(_.ranked(c).sorted.weights.length).max),
        math.max(1L, files).toInt,
        footers.map(_.file.length).sum,
        queries,
        new PredictedReads(columns, folders, queries, cutByQueries(files), sameName)))
    }
  }

  // as OPTIMIZE does for the whole table
  private def cutByQueries(files: Long): Boolean =
    listed.partitionSchema.isEmpty && Sampler.rowsFor(files) <= CutGoal.MaxRowsForQueries

  private def hasBounds(column: OrderingColumn, footers: Seq[ScannedFile]): Boolean =
    FileRange.ofFooters(column, footers, sameName).exists(_.isDefined)
}

private[auto] object SampledTable {
  // sets of more columns are too many to be judged
  private val MaxColumns = 8
  private val MinSample = 20000L
  private val RowsPerFile = 100L
  // rows of some columns in the memory of the driver
  private val MaxSample = 1000000L
}
