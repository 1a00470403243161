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
 * @param ranges one for each file with rows: None where it is unknown or all rows are NULL
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
    val units = new ColumnStorageUnits(column, files.filter(_.rows > 0), position)
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
      units.files.map(u => (u.rows, u.stats.range)),
      Nil)
    plain.copy(warnings = new ColumnWarnings(plain, units, isOrdered).all)
  }
}

/**
 * Why a column may not be worth ordering by.
 *
 * @param isOrdered true for a column that the table is ordered by on purpose
 */
private[sparkzorder] final class ColumnWarnings(
    layout: ColumnLayout,
    units: ColumnStorageUnits,
    isOrdered: Boolean) {
  import ColumnWarnings._

  private val files = layout.files
  private val stats = units.files.map(_.stats)
  private val unknown = stats.count(s => !s.onlyNulls && s.range.isEmpty)
  private val folders = units.files.map(_.folder).distinct.size

  def all: Seq[String] =
    if (stats.isEmpty) Nil
    else if (!units.isStored) Seq("no file has a column of this name")
    else if (stats.forall(_.onlyNulls)) Seq("every row is NULL")
    else (values ++ order).toSeq ++ unknownBounds

  private def values: Option[String] =
    if (unknown > 0) None
    else if (layout.distinctAtLeast == 1) Some("constant: no query on it can skip a file")
    else units.distinctAtMost.filter(_ <= FewValues).map { n =>
      s"few distinct values: at most ${math.round(n)}"
    }

  private def order: Option[String] =
    if (!isOrdered && layout.distinctAtLeast > 1 && files.count >= FilesToFollow * folders &&
      files.perPointQuery <= math.max(FewFiles * folders, FarBelow * files.ideal)) {
      Some("already ordered: the files follow it as they are")
    } else None

  private def unknownBounds: Seq[String] =
    if (unknown == 0) Nil
    else Seq(s"$unknown of ${stats.size} files have no min/max of it: every query reads them")
}

private[sparkzorder] object ColumnWarnings {

  /** Up to this number of values are few: a query for one value reads a quarter of the files at best. */
  val FewValues = 4

  // a folder needs so many files to show an order
  private val FilesToFollow = 4
  // files of a folder that a point query reads where the files follow the column
  private val FewFiles = 1.25
  // or this share of the ideal
  private val FarBelow = 0.5
}
