package io.sparkzorder.grid

import io.sparkzorder.bits.ZValues
import io.sparkzorder.expressions.ColumnRangeIds

/**
 * All that is needed to place any row of one folder.
 *
 * @param ids range ids of each ordering column
 * @param cells in Z order; together they hold every Z-value
 * @param firstFile number of the folder's first file; its files follow in Z order
 */
final case class FolderGrid(
    ids: Array[ColumnRangeIds],
    cells: IndexedSeq[Cell],
    firstFile: Int) {
  def files: Int = cells.map(_.files).sum
}

/**
 * All that is needed to place any row of a table: plain data.
 *
 * @param columns names of the ordering columns
 * @param folders one a folder, None for a folder without rows
 */
final case class Grid(columns: Seq[String], folders: IndexedSeq[Option[FolderGrid]]) {

  /** Number of files of all folders. */
  val files: Int = folders.flatten.map(_.files).sum

  /** The folder that each file belongs to. */
  val folderOfFile: IndexedSeq[Int] =
    folders.zipWithIndex.flatMap { case (f, i) => Seq.fill(f.map(_.files).getOrElse(0))(i) }
}

/** Sampled key rows of one folder, column by column; values are Catalyst's, nulls included. */
final case class FolderSample(columns: IndexedSeq[Array[Any]]) {
  def rows: Int = columns.headOption.map(_.length).getOrElse(0)
}

object Grid {

  // files of a folder differ in at most this many slabs a column, each with some ids of its own
  private val LeastBounds = 4096
  private val BoundsPerFile = 8

  /**
   * Bounds and cuts of every folder from its sample.
   *
   * @param rows rows of each folder
   * @param targetRows rows of a file in each folder
   * @param samples sample of each folder; one without any row puts its folder into one file
   */
  def build(
      columns: Seq[(String, org.apache.spark.sql.types.DataType)],
      rows: IndexedSeq[Long],
      targetRows: IndexedSeq[Double],
      samples: IndexedSeq[FolderSample]): Grid = {
    var next = 0
    val folders = rows.indices.map { f =>
      if (rows(f) == 0) None
      else {
        val ids = idsOf(columns.map(_._2), samples(f), rows(f) / targetRows(f))
        val cells = cellsOf(ids, samples(f), rows(f), targetRows(f))
        val grid = FolderGrid(ids, cells, next)
        next += grid.files
        Some(grid)
      }
    }
    Grid(columns.map(_._1), folders)
  }

  /** The Z-values of sampled rows, in their order. */
  def zValues(ids: Array[ColumnRangeIds], sample: FolderSample): Array[Long] = {
    val row = new Array[Int](ids.length)
    Array.tabulate(sample.rows) { r =>
      ids.indices.foreach(c => row(c) = ids(c).idOf(sample.columns(c)(r)))
      ZValues.interleave(row)
    }
  }

  private def idsOf(
      types: Seq[org.apache.spark.sql.types.DataType],
      sample: FolderSample,
      files: Double): Array[ColumnRangeIds] = {
    val bits = ZValues.bitsPerColumn(types.length)
    val slabs = math.pow(math.max(1.0, files), 1.0 / types.length)
    val bounds = math.max(LeastBounds, math.ceil(slabs * BoundsPerFile).toInt)
    types.zipWithIndex.map { case (t, c) =>
      val (nulls, values) = sample.columns(c).partition(_ == null)
      ColumnRangeIds.fromSample(t, values, null, nulls.length.toDouble, bits, bounds)
    }.toArray
  }

  private def cellsOf(
      ids: Array[ColumnRangeIds],
      sample: FolderSample,
      rows: Long,
      target: Double): IndexedSeq[Cell] =
    if (sample.rows == 0) IndexedSeq(Cell(0L, rows.toDouble, 1))
    else {
      val sorted = zValues(ids, sample)
      java.util.Arrays.sort(sorted)
      if (ids.length == 1) Cuts.atEqualCounts(sorted, rows, target)
      else Cuts.onCellEdges(sorted, rows, target)
    }
}
