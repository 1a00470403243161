// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.functions.{col, element_at, typedLit}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.table.OrderingColumn

/** Shuffles the rows of a table to the tasks that write them. Each task sorts the rows of one file. */
private[sparkzorder] object ShuffleLayout {

  /**
   * Shuffles and sorts rows by their places in a grid. Partition `i` of the result holds file `i` of the
   * grid.
   *
   * @return the data columns only
   */
  def byGrid(
      session: Session,
      input: InputRows,
      schema: StructType,
      columns: Seq[OrderingColumn],
      grid: Grid): Frame =
    dataColumns(withPlaces(session, input, schema, columns, grid, _ => 1), schema)

  /**
   * Like `byGrid`, but the place of each row stays as the last column, and the writer must ignore this column.
   * If Spark dropped the column, it would copy each row.
   *
   * @param pagesOf returns for the number of rows of a file the number of its equal pages, a power of two
   * @return the data columns, then the place
   */
  def withPlaces(
      session: Session,
      input: InputRows,
      schema: StructType,
      columns: Seq[OrderingColumn],
      grid: Grid,
      pagesOf: Long => Int): Frame = {
    val pages = grid.folders.map(_.map(f => pagesOf(f.rowsOfFile.toLong)).getOrElse(1))
    val placement = new Placement(grid, pages)
    val name = InputFrame.unused("_zorder_place", schema, session)
    val keys = columns.map(c => input.resolve(c.parts))
    // only the rows of a cell with several files need the hash, and with it the position of each row
    val heavy = grid.folders.flatten.exists(_.cells.exists(_.files > 1))
    val tie = InputFrame.unused("_zorder_tie", schema, session)
    val tied =
      input.frame.withColumn(tie, if (heavy) input.rowHash else typedLit(0L))
    def attribute(frame: Frame, name: String) =
      frame.queryExecution.analyzed.output.find(_.name == name).get
    val placed = tied.withColumn(
      name,
      SparkLine.column(
        PlaceOfRow(keys, input.folder, attribute(tied, tie), placement)))
    val kept =
      placed.select((schema.fieldNames.toSeq :+ name).map(n => col(quoteIdentifier(n))): _*)
    val files = kept.repartition(
      grid.files,
      SparkLine.column(PlaceOfRow.shuffleKeyOf(attribute(kept, name), placement)))
    // with one column, rows are sorted by its values, because different values may share a place
    if (columns.size == 1) files.sortWithinPartitions(SparkLine.column(keys.head))
    else files.sortWithinPartitions(col(name))
  }

  /**
   * Puts whole input files together. Their rows keep the stored order.
   *
   * @param fileOf the number of the output file, by the position of the input file
   */
  def byFile(
      session: Session,
      input: InputFrame,
      schema: StructType,
      fileOf: IndexedSeq[Int],
      files: Int): Frame = {
    val order = input.order.zipWithIndex.map { case (column, i) =>
      val name = InputFrame.unused(s"_zorder_place_$i", schema, session)
      name -> column.as(name)
    }
    val file = col(quoteIdentifier(input.fileColumn))
    val preimages = PartitionKeys(files)
    val key = element_at(typedLit(fileOf.map(preimages(_))), file + 1)
    val placed = input.frame.select(col("*") +: order.map(_._2): _*)
    val sorted =
      placed.repartition(files, key).sortWithinPartitions(order.map(o => col(o._1)): _*)
    dataColumns(sorted, schema)
  }

  private def dataColumns(frame: Frame, schema: StructType): Frame =
    frame.select(schema.fieldNames.toSeq.map(n => col(quoteIdentifier(n))): _*)
}

/**
 * Limits the number of map tasks of the shuffle that sends each row to the task of its new file. Each map
 * task writes one shuffle block for each new file, and the task of a new file fetches all blocks of this
 * file. Spark reads many small inputs with many tasks: 100,000 inputs of 18 kB had 3,125 tasks, and with
 * 10,000 new files these tasks wrote 31 million blocks of three rows. Where blocks would be so small, the
 * limit lets each task read more inputs.
 *
 * @param session a session of this statement alone, because [[limit]] changes a setting of the session
 */
private[sparkzorder] final class MapTasks(session: Session) {
  import MapTasks._

  private val wantedByUser = session.sessionState.conf.filesMaxPartitionNum

  /**
   * Sets the limit for the plan that runs next. Spark divides the inputs of this plan into about as many tasks
   * as the limit allows.
   *
   * @param rows number of rows of the inputs
   * @param bytes size of the inputs
   * @param files number of the new files
   */
  def limit(rows: Long, bytes: Long, files: Int): Unit = {
    val filled = math.max(rows / RowsOfBlock, bytes / BytesOfBlock) / math.max(1, files)
    val busy = TasksOfCore * session.sparkContext.defaultParallelism
    val most = math.min(math.max(filled, busy), Int.MaxValue).toInt
    session.conf.set(
      SQLConf.FILES_MAX_PARTITION_NUM.key,
      wantedByUser.fold(most)(math.min(_, most)).toLong)
  }
}

private object MapTasks {

  // a block should have at least this many rows, because each block costs a header of its compression and an
  // entry in two indexes
  private val RowsOfBlock = 64L
  // a block of fewer rows is large enough if it has this many bytes
  private val BytesOfBlock = 64L * 1024

  // several tasks for each core, so that a core whose task ends early has more work
  private val TasksOfCore = 3L
}
