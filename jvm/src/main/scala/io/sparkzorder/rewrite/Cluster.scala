package io.sparkzorder.rewrite

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT96

import org.apache.spark.sql.types.BinaryType

import io.sparkzorder.cluster.{CutGoal, DealingTasks, InputFrame, Layout, RowSizes}
import io.sparkzorder.commands.{Phases, SampledCuts}
import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.log.Record
import io.sparkzorder.table.{Folder, OrcFiles, OrderingColumn}
import io.sparkzorder.table.stats.FileRange
import io.sparkzorder.write.{OutputSpec, ParquetSpec}

/**
 * Assigns rows to files by the ordering columns: samples these columns, and cuts each folder by its
 * sample.
 */
private[rewrite] final class Cluster(inputs: RewriteInputs, phases: Phases)
    extends RewriteStrategy {
  private val columns = inputs.columns
  private val sameName = inputs.session.sessionState.conf.resolver
  private val dealing = new DealingTasks(inputs.session)

  /**
   * Refuses ordering columns that have no min/max in the written files: columns that stay INT96 in
   * Parquet, and BINARY and TIME columns in ORC.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_COLUMN_NOT_ORDERABLE
   */
  override def check(spec: OutputSpec): Unit = spec match {
    case parquet: ParquetSpec => columns.foreach(checkInt96(parquet, _))
    case _ => columns.foreach(checkOrc)
  }

  private def checkInt96(spec: ParquetSpec, c: OrderingColumn): Unit = {
    val written = spec.schema.getColumns.asScala.find(_.getPath.toSeq == c.parts)
    if (written.exists(_.getPrimitiveType.getPrimitiveTypeName == INT96)) {
      throw ZOrderErrors.columnNotOrderable(
        c.name,
        inputs.target.name,
        "TIMESTAMP as INT96",
        "files have no min/max of it; set timestampType to micros")
    }
  }

  private def checkOrc(c: OrderingColumn): Unit =
    if (c.dataType == BinaryType || c.dataType.typeName.startsWith("time(")) {
      throw ZOrderErrors.columnNotOrderable(
        c.name,
        inputs.target.name,
        c.dataType.sql,
        s"${OrcFiles.title} files have no min/max of it")
    }

  override def select(chosen: Set[Path], records: => Seq[Record]): RewriteSelection =
    new RewriteSelector(inputs, records).select(chosen)

  override def nothingToDo: String = "there are no rows"

  override protected def planned(batch: ScannedFiles): BatchPlan = {
    val rows = batch.folders.map(batch.in(_).map(_.rows).sum)
    val targets = batch.folders.zip(rows).map { case (f, r) =>
      inputs.targetRows(r, batch.in(f).map(_.file.length).sum)
    }
    val input = new InputFrame(inputs.session, batch.listed, inputs.schema, inputs.target.format)
    val (samples, grid) = new SampledCuts(columns, inputs.settings, phases)
      .of(input, rows, targets, i => sizes(batch, batch.folders(i))) { samples =>
        // a recorded query is a box of the whole table, and suits no part of it
        val isWhole =
          inputs.listed.partitionSchema.isEmpty && batch.files.size == inputs.files.size
        val isSmall = samples.map(_.rows.toLong).sum <= CutGoal.MaxRowsForQueries
        val queries = if (isWhole && isSmall) inputs.queries else IndexedSeq.empty
        CutGoal(inputs.weights.toIndexedSeq, queries)
      }
    BatchPlan(
      batch,
      grid.folderOfFile.map(batch.folders(_)),
      spec => {
        dealing.limit(batch.rows, batch.bytes, grid.files)
        Layout.withPlaces(inputs.session, input, inputs.schema, columns, grid, spec.pagesOf)
      },
      Some(grid),
      samples)
  }

  /**
   * Mean bytes, from the footers, of a row of a folder without its ordering columns, and of a value
   * of each ordering column.
   */
  private def sizes(batch: ScannedFiles, folder: Folder): RowSizes = {
    val own = batch.in(folder)
    val rows = own.map(_.rows).sum.toDouble
    val ofColumns = columns.map { c =>
      val leaves = own.flatMap(f => FileRange.leaf(c, f, sameName).map(i => (f, f.leaves(i))))
      val bytes = leaves.map(_._2.bytes).sum.toDouble
      val values = leaves.map { case (f, l) => f.rows - math.max(0L, l.nulls) }.sum
      (bytes, bytes / math.max(1L, values))
    }
    val rest = own.map(_.file.length).sum - ofColumns.map(_._1).sum
    RowSizes(math.max(0.0, rest) / math.max(1.0, rows), ofColumns.map(_._2).toIndexedSeq)
  }
}
