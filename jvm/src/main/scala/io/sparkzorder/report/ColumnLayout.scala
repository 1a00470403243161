package io.sparkzorder.report

import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.{FileColumns, FileRange}

/**
 * What a point query on a column reads of one kind of unit: files, row groups or pages.
 *
 * @param count units that hold rows
 * @param perPointQuery how many of them a query `column = value` reads, judged by min/max alone; the mean
 *   over the values of the rows
 * @param ideal the bound for equal units
 */
final case class UnitReads(count: Long, perPointQuery: Double, ideal: Double) {

  /** 1.0 is perfect; none where there is nothing to read. */
  def excess: Option[Double] = if (ideal > 0) Some(perPointQuery / ideal) else None
}

/**
 * How well the files of a table are laid out for one column, from footers and page indexes alone.
 *
 * @param rows of all files
 * @param nulls rows that are NULL; None where some file does not say
 * @param distinctAtLeast number of different values among the least and greatest values of all units
 * @param sortedness share of neighbouring pages of a file (row groups, where pages were not read) whose
 *   ranges do not overlap; None where no file has two
 * @param pages None when page indexes were not read
 * @param ranges one a file with rows: None where it does not say or has only NULLs
 * @param warnings why the column may not be worth ordering by
 */
final case class ColumnLayout(
    column: OrderingColumn,
    rows: Long,
    files: UnitReads,
    depth: OverlapDepth,
    distinctAtLeast: Long,
    nulls: Option[Long],
    sortedness: Option[Double],
    rowGroups: UnitReads,
    pages: Option[UnitReads],
    ranges: IndexedSeq[(Long, Option[FileRange])],
    warnings: Seq[String])

object ColumnLayout {

  /**
   * @param files of the whole table
   * @param position of the column in [[FileColumns.columns]]
   * @param dimensions number of columns that the ideal is for
   * @param isOrdered true for a column that the table is ordered by on purpose
   */
  def of(
      column: OrderingColumn,
      files: IndexedSeq[FileColumns],
      position: Int,
      dimensions: Int,
      isOrdered: Boolean): ColumnLayout = {
    val units = new ColumnUnits(column, files.filter(_.rows > 0), position)
    val plain = ColumnLayout(
      column,
      units.rows,
      units.reads(units.files, dimensions),
      units.depth,
      units.distinctAtLeast,
      units.nulls,
      units.sortedness,
      units.reads(units.rowGroups, dimensions),
      units.pages.map(units.reads(_, dimensions)),
      units.files.map(u => (u.bounds.rows, u.bounds.range)),
      Nil)
    plain.copy(warnings = new ColumnWarnings(plain, units, isOrdered).all)
  }
}
