// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.report

import scala.collection.immutable.TreeMap

import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types.{BinaryType, StringType}

import io.sparkzorder.table.{Folder, OrderingColumn}
import io.sparkzorder.table.stats.{
  ColumnStats,
  FileColumn,
  FileColumns,
  FileRange,
  FileSpan,
  UnitStats
}

/**
 * How many units of one kind a point query on a column reads. Units are files, row groups or pages.
 *
 * @param count number of units that hold rows
 * @param perPointQuery mean number of units that a query `column = value` reads, judged by min/max
 *   alone; the mean is over the values of the rows
 * @param ideal the least possible `perPointQuery` for units of equal size, see `PointQueries.ideal`
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
   * @param position the position of the column in [[FileColumns.columns]]
   * @param weights the weights of the columns for which the ideal is computed; the weight of this column is
   *   the first
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

  // if a folder has fewer files than this on average, the files are not said to follow the column
  private val FilesToFollow = 4
  // if a point query reads at most this number of files per folder, the files follow the column
  private val FewFiles = 1.25
  // the files also follow the column if a point query reads at most this share of the ideal
  private val FarBelow = 0.5
}

/** A file, row group or page, and the statistics of a column in it. */
private[sparkzorder] final case class StorageUnit(folder: Folder, rows: Long, stats: ColumnStats)

/**
 * The statistics of one column in the storage units of a table: files, row groups and pages.
 *
 * @param read the files that have rows
 * @param position the position of the column in [[FileColumns.columns]]
 */
private[sparkzorder] final class ColumnStorageUnits(
    column: OrderingColumn,
    read: IndexedSeq[FileColumns],
    position: Int) {
  private val own = read.map(_.columns(position))
  private val order: Ordering[Any] = TypeUtils.getInterpretedOrdering(column.dataType)

  val files: IndexedSeq[StorageUnit] = placed(c => Seq(c.whole))
  val rowGroups: IndexedSeq[StorageUnit] = placed(_.rowGroups)

  /** None if the page indexes of some file were not read. */
  val pages: Option[IndexedSeq[StorageUnit]] =
    if (own.forall(_.pages.isDefined)) Some(placed(_.pages.get)) else None

  def rows: Long = read.map(_.rows).sum

  def nulls: Option[Long] =
    if (own.forall(_.nulls.isDefined)) Some(own.map(_.nulls.get).sum) else None

  /** True if some file has the column. */
  def isStored: Boolean = own.exists(_.stored)

  // one set of ranks for all kinds of units, so that ranks can be compared
  private val all = files ++ rowGroups ++ pages.getOrElse(Nil)
  private val span = spanOf(all)
  // of each file the smallest units, which show most exactly where its rows lie
  private val finest = positionsOfFinest.filter(i => all(i).stats.range.isDefined)
  private val spread = RowDistributionEstimate.of(
    span.ranks,
    ValueSpacing.of(column.dataType, span.values, 2 * finest.size),
    finest.map(i =>
      RowDistributionEstimate.UnitRows(span.low(i), span.high(i), all(i).rows.toDouble)))

  /**
   * How many of `units` a point query on the column reads on average, and the ideal number.
   *
   * @param units [[files]], [[rowGroups]] or the content of [[pages]]
   * @param weights the weights of the columns of the ideal layout, with the weight of this column first
   */
  def reads(units: IndexedSeq[StorageUnit], weights: IndexedSeq[Double]): UnitReads = {
    val from = if (units eq files) 0
    else if (units eq rowGroups) files.size
    else files.size + rowGroups.size
    val mean = units.indices.map { i =>
      val stats = units(i).stats
      if (stats.onlyNulls) 0.0
      else if (stats.range.isEmpty) 1.0
      else spread.share(span.low(from + i), span.high(from + i))
    }.sum
    val inFolder = units.groupBy(_.folder).values.map(_.size).toSeq
    // a query for a value that exists reads at least the unit that has the value
    val least = if (units.exists(!_.stats.onlyNulls)) 1.0 else 0.0
    UnitReads(units.size.toLong, math.max(least, mean), PointQueries.ideal(inFolder, weights, 0))
  }

  def depth: OverlapDepth =
    OverlapDepth.of(files.groupBy(_.folder).values.toSeq.map(spanOf))

  /** The number of different values among the minima and maxima of the units. */
  def distinctAtLeast: Long = column.dataType match {
    // a bound of a page may be truncated to a prefix, which need not be a value of the column
    case _: StringType | BinaryType => spanOf(files ++ rowGroups).values.size.toLong
    case _ => span.values.size.toLong
  }

  /**
   * The greatest possible number of different values between the least and the greatest bound. None for a
   * type whose values can lie arbitrarily close together.
   */
  def distinctAtMost: Option[Double] = {
    val distances = ValueSpacing.of(column.dataType, span.values, ends = 0)
    if (distances.point > 0) Some(distances.total) else None
  }

  def sortedness: Option[Double] = {
    val pairs = own.map(_.finest.flatMap(_.stats.range)).flatMap(r => r.zip(r.drop(1)))
    val apart = pairs.count { case (a, b) =>
      order.lteq(a.max, b.min) || order.lteq(b.max, a.min)
    }
    if (pairs.isEmpty) None else Some(apart.toDouble / pairs.size)
  }

  private def placed(units: FileColumn => Seq[UnitStats]): IndexedSeq[StorageUnit] =
    read.indices.flatMap(f =>
      units(own(f)).map(u => StorageUnit(read(f).file.folder, u.rows, u.stats)))

  private def spanOf(units: IndexedSeq[StorageUnit]): FileSpan =
    FileSpan.ofRanges(
      column.dataType,
      units.map(_.stats.columnRange))

  /**
   * The positions in `all` of the pages of each file. If the pages of a file were not read, or one of them has
   * no statistics, the positions of its row groups.
   */
  private def positionsOfFinest: IndexedSeq[Int] = {
    var (group, page) = (files.size, files.size + rowGroups.size)
    own.indices.flatMap { f =>
      val groups = group until group + own(f).rowGroups.size
      val pagesOfFile = page until page + own(f).pages.fold(0)(_.size)
      group = groups.end
      page = pagesOfFile.end
      if (own(f).hasPageBounds) pagesOfFile else groups
    }
  }
}

/**
 * How many files of a table overlap in one column. For the depth of a file, choose a value in its
 * range and count the files of its folder whose ranges hold this value, the file itself included.
 * The depth is the greatest such count.
 *
 * @param mean the mean depth of the files that hold values; 0 if there are none
 * @param max the greatest depth of a file; 0 if no file holds values
 * @param histogram the number of files by depth. Bucket 4 counts the files of depths 3 and 4, bucket 8 the
 *   files of depths 5 to 8, and so on. Bucket 0 counts the files that have only NULLs. Empty buckets are
 *   left out
 */
private[sparkzorder] final case class OverlapDepth(
    mean: Double,
    max: Long,
    histogram: Map[Long, Long])

private[sparkzorder] object OverlapDepth {

  /** @param folders the ranges of the files in each folder */
  def of(folders: Seq[FileSpan]): OverlapDepth = {
    val depths = folders.flatMap(depthsOf)
    val held = depths.filter(_ > 0)
    OverlapDepth(
      if (held.isEmpty) 0.0 else held.map(_.toDouble).sum / held.size,
      if (held.isEmpty) 0L else held.max.toLong,
      TreeMap(depths.groupBy(bucket).map { case (b, own) => b -> own.size.toLong }.toSeq: _*))
  }

  private def bucket(depth: Int): Long =
    if (depth <= 1) depth.toLong else java.lang.Long.highestOneBit(2L * depth - 1)

  private def depthsOf(span: FileSpan): Seq[Int] = {
    val greatest = new RangeMaximum(span.filesAt(_ => true))
    span.low.indices.map { f =>
      if (span.low(f) < 0) 0 else greatest.of(span.low(f), span.high(f))
    }
  }
}

/** Finds the greatest number between two positions of an array, in constant time. */
private[sparkzorder] final class RangeMaximum(numbers: Array[Int]) {

  // levels(k)(i) is the greatest of the 2^k numbers from i on
  private val levels: Array[Array[Int]] = Iterator
    .iterate((numbers, 1)) { case (level, width) =>
      val next = Array.tabulate(level.length - width)(i => math.max(level(i), level(i + width)))
      (next, 2 * width)
    }
    .takeWhile { case (_, width) => width <= math.max(1, numbers.length) }
    .map(_._1)
    .toArray

  /** The greatest number at the positions `from` to `to`, both included. */
  def of(from: Int, to: Int): Int = {
    val k = 31 - Integer.numberOfLeadingZeros(to - from + 1)
    math.max(levels(k)(from), levels(k)(to - (1 << k) + 1))
  }
}
