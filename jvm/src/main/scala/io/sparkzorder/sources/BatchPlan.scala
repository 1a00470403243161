// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.cluster.{
  FolderGrid,
  FolderSample,
  Grid,
  InputRows,
  RankedColumn,
  ShuffleLayout
}
import io.sparkzorder.ordered.grid.PlanStore
import io.sparkzorder.table.OrderingColumn

/**
 * The plan of one batch: which files it replaces, and which new file each of their rows goes to.
 *
 * @param columns by which the rows are ordered; empty for a compaction
 * @param files the files that are replaced
 * @param folders the folders of these files
 * @param rows the number of rows of each folder, without deleted rows
 * @param outputs the folder of each file that will be written, by the file's number
 * @param grid the grid that divides the rows among the files; None for a compaction
 * @param samples the sample of each folder; empty for a compaction
 * @param fileOf the number of the new file of each of `files`, for a compaction
 * @param millis the time that planning took, with sampling and cutting
 * @param pass the pass to which the batch belongs; None if the layout has a single pass
 * @param sampled the number of rows that were sampled, if [[thinned]] has removed some of them from `samples`
 */
private[sparkzorder] final case class BatchPlan(
    columns: Seq[OrderingColumn],
    files: IndexedSeq[FormatFile],
    folders: IndexedSeq[FormatFolder],
    rows: IndexedSeq[Long],
    outputs: IndexedSeq[FormatFolder],
    grid: Option[Grid] = None,
    samples: IndexedSeq[FolderSample] = IndexedSeq.empty,
    fileOf: IndexedSeq[Int] = IndexedSeq.empty,
    millis: Long = 0L,
    pass: Option[PlannedPass] = None,
    sampled: Option[Long] = None) {

  def bytes: Long = files.map(_.bytes).sum

  def sampledRows: Long = sampled.getOrElse(samples.map(_.rows.toLong).sum)

  /**
   * The plan reduced to the parts that a report needs: the driver may keep the plans of thousands of batches. Only for
   * a batch that was done, because `expectedBytes` and `cells` need the grid.
   */
  def thinned: BatchPlan = copy(
    grid = None,
    samples = samples.map(_.thinned(BatchPlan.RowsForReport)),
    sampled = Some(sampledRows))

  /** The rows as the grid places them: partition `i` holds the rows of file `i`. */
  def byGrid(session: Session, input: InputRows, schema: StructType): Frame =
    ShuffleLayout.byGrid(session, input, schema, columns, grid.get)

  /**
   * The sample of an ordering column in each folder, with the number of rows that each sampled row
   * stands for.
   */
  def weighted(column: Int): Seq[(RankedColumn, Double)] =
    samples.zip(rows).collect {
      case (s, n) if s.rows > 0 => (s.ranked(column), n.toDouble / s.rows)
    }

  /**
   * The approximate bytes of each new file, from its share of the rows. The new files of a compaction count as
   * equally large.
   */
  def expectedBytes: Seq[Long] = grid match {
    case Some(g) =>
      val stored = math.max(rows.sum, files.map(_.storedRecords).sum)
      val perRow = bytes.toDouble / math.max(1L, stored)
      g.rowsOfFiles.map(r => (r * perRow).toLong)
    case None => Seq.fill(outputs.size)(bytes / math.max(1, outputs.size))
  }

  /** Grid and sample of each folder that has rows, for one ordering column. */
  def cells(column: Int): Seq[(FolderGrid, RankedColumn)] =
    grid.toSeq.flatMap(_.folders.zip(samples)).collect {
      case (Some(f), s) if s.rows > 0 => (f, s.ranked(column))
    }
}

private[sparkzorder] object BatchPlan {

  /** How many sampled rows of a folder a report uses. Their values stand for the values in filters. */
  val RowsForReport = 1000
}

/**
 * One batch of a layout in two passes.
 *
 * @param plan id of the plan
 * @param regions for a batch of the first pass the region of each new file, by the file's number, as in
 *   [[DealtTo]]. Empty for a batch of the second pass
 */
private[sparkzorder] final case class PlannedPass(
    plan: String,
    regions: IndexedSeq[Int] = IndexedSeq.empty) {
  def isFirst: Boolean = regions.nonEmpty

  /**
   * The region of the new file with this number; None in the second pass, and for a number that the plan lacks.
   */
  def regionOf(file: Option[Int]): Option[Int] = file.flatMap(regions.lift(_))
}

/**
 * The regions of a folder that is laid out in two passes.
 *
 * @param id a UUID
 * @param grid the grid whose cells are the regions. The row count 0 marks a cell that is larger than a batch and
 *   cannot be cut, because all its rows have one key
 * @param sample the sample from which the grid was made
 * @param rows number of rows of the folder
 * @param files number of files into which the rows will be written
 */
private[sparkzorder] final case class RegionPlan(
    id: String,
    folder: FormatFolder,
    grid: FolderGrid,
    sample: FolderSample,
    rows: Long,
    files: Int)

/**
 * The plans of a table in two passes, as files in the table's directory. Their names begin with `_`, because the
 * clean-ups of Delta and Iceberg skip such names. If the directory cannot be written, a plan is lost when its
 * statement ends.
 *
 * @param columns the columns by which folders are laid out
 * @param names a name for each column, which a rename does not change if the format has such names
 */
private[sparkzorder] class RegionPlans(
    root: Path,
    conf: Configuration,
    columns: Seq[OrderingColumn],
    names: Seq[String])
    extends PlanStore(root, conf, names, columns.map(_.dataType.json)) {

  def write(plan: RegionPlan): Unit = write(plan.id, plan.grid)
}
