package io.sparkzorder.layout

import org.apache.spark.sql.functions.{col, element_at, lit, shiftleft, typedLit}
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.{Frame, Session}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.expressions.{ColumnRangeIds, ZValueByRangeIds}
import io.sparkzorder.grid.Grid

/** Deals the rows of a table to files and sorts them inside, so that each task writes one file. */
object Layout {

  /**
   * Rows in Z order of a grid. Partition `i` of the result holds file `i` of the grid.
   *
   * @return the data columns only
   */
  def byGrid(
      session: Session,
      input: InputFrame,
      schema: StructType,
      columns: Seq[OrderingColumn],
      grid: Grid): Frame = {
    val z = InputFrame.unused("_zorder_z", schema, session)
    val keys = columns.map(c => input.resolve(c.parts))
    // a folder without rows has no ids, and no row will ask for them
    val none = columns.map(c => ColumnRangeIds.fromSample(c.dataType, Array(), null, 0, 1, 1))
    val models = grid.folders.map(_.map(_.ids).getOrElse(none.toArray)).toArray
    val withZ = input.frame
      .withColumn(z, SparkLine.column(ZValueByRangeIds(keys, input.folder, models)))
    val heavy = grid.folders.flatten.exists(_.cells.exists(_.files > 1))
    val tie = InputFrame.unused("_zorder_tie", schema, session)
    // computed before the shuffle and only where one Z-value fills several files
    val tied = if (heavy) withZ.withColumn(tie, input.rowHash) else withZ.withColumn(tie, lit(0L))
    def attribute(name: String) =
      tied.queryExecution.analyzed.output.find(_.name == name).get
    val dealt = DealtFile(
      attribute(input.folderColumn),
      attribute(z),
      attribute(tie),
      new Dealer(grid))
    val files = tied.repartition(grid.files, SparkLine.column(dealt))
    // one column is a plain sort by its values; ids would leave ties unsorted
    val sorted =
      if (columns.size == 1) files.sortWithinPartitions(SparkLine.column(keys.head))
      else files.sortWithinPartitions(col(z))
    dataColumns(sorted, schema)
  }

  /**
   * Rows of whole input files put together, in the order in which they stood.
   *
   * @param fileOf number of the output file of each input file
   */
  def byFile(
      session: Session,
      input: InputFrame,
      schema: StructType,
      fileOf: IndexedSeq[Int],
      files: Int): Frame = {
    val place = InputFrame.unused("_zorder_place", schema, session)
    val file = col(InputFrame.quoted(input.fileColumn))
    val preimages = ShufflePreimages(files)
    val dealt = element_at(typedLit(fileOf.map(preimages(_))), file + 1)
    // 2^40 rows of a file and 2^23 files are both beyond Parquet and a driver's listing
    val withPlace =
      input.frame.withColumn(place, shiftleft(file.cast("bigint"), 40) + input.rowIndex)
    dataColumns(withPlace.repartition(files, dealt).sortWithinPartitions(col(place)), schema)
  }

  private def dataColumns(frame: Frame, schema: StructType): Frame =
    frame.select(schema.fieldNames.toSeq.map(n => col(InputFrame.quoted(n))): _*)
}
