// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.report

import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.{FileColumns, FileRange}

/**
 * How many units of one kind a point query on a column reads. Units are files, row groups or pages.
 *
 * @param count number of units that hold rows
 * @param perPointQuery mean number of units that a query `column = value` reads, judged by min/max
 *   alone; the mean is over the values of the rows
 * @param ideal the bound of `perPointQuery` for units of equal size, see `PointQueries.ideal`
 */
private[sparkzorder] final case class UnitReads(count: Long, perPointQuery: Double, ideal: Double) {

  /** `perPointQuery` divided by `ideal`: 1.0 is perfect. None if there is nothing to read. */
  def excess: Option[Double] = if (ideal > 0) Some(perPointQuery / ideal) else None
}

/**
 * How well the files of a table are laid out for one column, according to footers and page indexes
 * alone.
 *
 * @param rows number of rows of all files
 * @param nulls number of rows with NULL; None if it is unknown for some file
 * @param distinctAtLeast number of distinct values among the min and max of all units, except pages of
 *   string and binary columns
 * @param sortedness share of the pairs of neighbouring pages of a file whose ranges do not overlap. In a
 *   file without complete page statistics, row groups replace pages. None if no file has such a pair
 * @param pages None when page indexes were not read
 * @param ranges number of rows and range of each file with rows; the range is None if it is unknown
 *   or all rows are NULL
 * @param warnings why the column may not be worth ordering by
 */
private[sparkzorder] final case class ColumnLayout(
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

private[sparkzorder] object ColumnLayout {

  /**
   * @param files all files of the table
   * @param position of the column in [[FileColumns.columns]]
   * @param weights of the columns for which the ideal is computed; the weight of this column is the first
   * @param isOrdered true for an ordering column of the table
   */
  def of(
      column: OrderingColumn,
      files: IndexedSeq[FileColumns],
      position: Int,
      weights: IndexedSeq[Double],
      isOrdered: Boolean): ColumnLayout = {
    val units = new ColumnStorageUnits(column, files.filter(_.rows > 0), position)
    val plain = ColumnLayout(
      column,
      units.rows,
      units.reads(units.files, weights),
      units.depth,
      units.distinctAtLeast,
      units.nulls,
      units.sortedness,
      units.reads(units.rowGroups, weights),
      units.pages.map(units.reads(_, weights)),
      units.files.map(u => (u.rows, u.stats.range)),
      Nil)
    plain.copy(warnings = new ColumnWarnings(plain, units, isOrdered).all)
  }
}

/**
 * Why a column may not be worth ordering by.
 *
 * @param isOrdered true for an ordering column of the table
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
    else if (isCutAlike) {
      Some("min and max are cut, and the same in all files: no query on it can skip a file")
    } else if (layout.distinctAtLeast == 1) Some("constant: no query on it can skip a file")
    else units.distinctAtMost.filter(_ <= FewValues).map { n =>
      s"few distinct values: at most ${math.round(n)}"
    }

  private def isCutAlike: Boolean = {
    val ranges = stats.flatMap(_.range)
    ranges.size > 1 && ranges.distinct.size == 1 && FileRange.isCut(ranges.head)
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

  /**
   * A column with at most this number of distinct values gets a warning: a query for one value
   * reads a quarter of the files at best.
   */
  val FewValues = 4

  // mean number of files of a folder below which no order is assumed
  private val FilesToFollow = 4
  // if a point query reads at most this number of files per folder, the files follow the column
  private val FewFiles = 1.25
  // the files also follow the column if a point query reads at most this share of the ideal
  private val FarBelow = 0.5
}
