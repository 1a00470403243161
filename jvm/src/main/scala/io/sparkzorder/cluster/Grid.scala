package io.sparkzorder.cluster

import org.apache.spark.sql.types.DataType

import io.sparkzorder.ordering.BoundsIndex

/**
 * One ordering column of a folder, as rows are placed by it.
 *
 * @param bounds values that slots are told by: every cut of the column is one, and so are enough others
 *   to tell the rows of a cell apart
 * @param midRanks mid-rank of NULL, then of every slot, in units of 2^-30
 */
final case class GridColumn(bounds: BoundsIndex, midRanks: Array[Int])

/** @param from share of the folder's rows below, in units of 2^-30; @param until likewise */
final case class Side(from: Int, until: Int)

/**
 * All that is needed to place any row of one folder.
 *
 * @param tree leads from a row's slots to its cell
 * @param cells in the order of their numbers
 * @param sides of a cell, one a column: where its rows begin and end among all rows, as ranks in units
 *   of 2^-30
 */
final case class FolderGrid(
    columns: IndexedSeq[GridColumn],
    tree: CutTree,
    cells: IndexedSeq[Cell],
    sides: IndexedSeq[IndexedSeq[Side]]) {

  /** Number of the folder's files; the cells of crumbs share one with a neighbour. */
  def files: Int = if (cells.isEmpty) 0 else cells.last.file + cells.last.files - cells.head.file
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

  /** Estimated rows of each file. */
  def rowsOfFiles: IndexedSeq[Double] = {
    val rows = new Array[Double](files)
    for (folder <- folders.flatten; c <- folder.cells; i <- 0 until c.files) {
      rows(c.file + i) += c.rows / c.files
    }
    rows.toIndexedSeq
  }
}

object Grid {

  /** Files that a folder should have: at least one. */
  def filesFor(rows: Long, targetRows: Double): Int =
    math.max(1L, math.round(rows / targetRows)).toInt

  /**
   * Cuts and bounds of every folder from its sample.
   *
   * @param columns names and types of the ordering columns
   * @param rows rows of each folder
   * @param targetRows rows of a file in each folder
   * @param samples sample of each folder; one without any row puts its folder into one file
   */
  def build(
      columns: Seq[(String, DataType)],
      rows: IndexedSeq[Long],
      targetRows: IndexedSeq[Double],
      samples: IndexedSeq[FolderSample]): Grid = {
    var next = 0
    val folders = rows.indices.map { f =>
      if (rows(f) == 0) None
      else {
        val files = filesFor(rows(f), targetRows(f))
        val grid =
          new FolderGridBuilder(columns.map(_._2), samples(f), rows(f), files, next).build()
        next += grid.files
        Some(grid)
      }
    }
    Grid(columns.map(_._1), folders)
  }
}
