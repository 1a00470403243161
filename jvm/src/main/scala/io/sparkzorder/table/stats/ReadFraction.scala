package io.sparkzorder.table.stats

import java.util.{List => JList}

import scala.collection.JavaConverters._

import org.apache.parquet.filter2.compat.FilterCompat
import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate, LogicalInverseRewriter}
import org.apache.parquet.filter2.statisticslevel.StatisticsFilter
import org.apache.parquet.hadoop.metadata.ColumnPath
import org.apache.parquet.internal.column.columnindex.OffsetIndex
import org.apache.parquet.internal.filter2.columnindex.{ColumnIndexFilter, RowRanges}

/**
 * How much of a table a query must read, judged by Parquet's min/max alone: exact, and the same on
 * every machine. Each level assumes that the level above has been ruled out where it can be.
 *
 * @param files     judged by the min/max of the whole file, as a skipping index would
 * @param rowGroups judged by the footer of each file that is left
 * @param pages     pages of the filtered columns, judged by the page indexes of each row group that is
 *                  left; with several columns a page counts when some row of it may match in all of
 *                  them. A column chunk without page index counts as one page.
 */
final case class ReadFraction(files: ReadShare, rowGroups: ReadShare, pages: ReadShare)

/**
 * @param read      units that cannot be ruled out
 * @param total     all units
 * @param readRows  rows in the units that cannot be ruled out
 * @param totalRows rows of the table
 */
final case class ReadShare(read: Long, total: Long, readRows: Long, totalRows: Long) {

  /** The share of units; 0 for a table that has none. */
  def fraction: Double = if (total == 0) 0.0 else read.toDouble / total

  private[sparkzorder] def +(other: ReadShare): ReadShare = ReadShare(
    read + other.read,
    total + other.total,
    readRows + other.readRows,
    totalRows + other.totalRows)
}

object ReadFraction {
  private val nothing = ReadShare(0, 0, 0, 0)

  /**
   * For any Parquet predicate.
   *
   * @param filtered the predicate's columns by their name parts: their pages are counted
   */
  def of(
      files: Seq[FileStatistics],
      predicate: FilterPredicate,
      filtered: Seq[Seq[String]]): ReadFraction = {
    val columns = filtered.map(c => ColumnPath.get(c: _*)).distinct
    // Parquet's filters refuse a NOT
    val positive = LogicalInverseRewriter.rewrite(predicate)
    sum(files.map(judge(_, positive, columns)))
  }

  /** For the rows that lie in all the ranges, at least one; each file may store a type of its own. */
  def of(files: Seq[FileStatistics], ranges: Seq[ColumnRange]): ReadFraction = {
    require(ranges.nonEmpty, "a read fraction needs at least one range")
    sum(files.map { file =>
      val both = ranges.map(_.predicate(file.columnType)).reduceLeft(FilterApi.and)
      judge(file, both, ranges.map(r => ColumnPath.get(r.column: _*)).distinct)
    })
  }

  /** The same for callers that have no Scala collections. */
  def of(files: JList[FileStatistics], ranges: JList[ColumnRange]): ReadFraction =
    of(files.asScala.toSeq, ranges.asScala.toSeq)

  private def judge(
      file: FileStatistics,
      predicate: FilterPredicate,
      filtered: Seq[ColumnPath]): ReadFraction = {
    val open = file.rows > 0 && !StatisticsFilter.canDrop(predicate, file.wholeFile.asJava)
    val groups = file.rowGroups.map { group =>
      val groupOpen = open && !StatisticsFilter.canDrop(predicate, group.columns.asJava)
      share(groupOpen, group.rows) -> pages(group, predicate, filtered, groupOpen)
    }
    ReadFraction(
      share(open, file.rows),
      groups.map(_._1).foldLeft(nothing)(_ + _),
      groups.map(_._2).foldLeft(nothing)(_ + _))
  }

  private def share(read: Boolean, rows: Long): ReadShare =
    ReadShare(if (read) 1 else 0, 1, if (read) rows else 0, rows)

  private def pages(
      group: RowGroupStatistics,
      predicate: FilterPredicate,
      filtered: Seq[ColumnPath],
      open: Boolean): ReadShare = {
    val present = group.columns.map(_.getPath).toSet
    val indexes = filtered.filter(present).map(group.pages.getOffsetIndex)
    val rows =
      if (open) {
        ColumnIndexFilter.calculateRowRanges(
          FilterCompat.get(predicate),
          group.pages,
          present.asJava,
          group.rows)
      } else RowRanges.EMPTY
    ReadShare(
      indexes.map(touched(_, rows, group.rows)).sum,
      indexes.map(_.getPageCount.toLong).sum,
      rows.rowCount,
      group.rows)
  }

  private def touched(index: OffsetIndex, rows: RowRanges, groupRows: Long): Long =
    (0 until index.getPageCount).count { page =>
      rows.isOverlapping(index.getFirstRowIndex(page), index.getLastRowIndex(page, groupRows))
    }.toLong

  private def sum(parts: Seq[ReadFraction]): ReadFraction = ReadFraction(
    parts.map(_.files).foldLeft(nothing)(_ + _),
    parts.map(_.rowGroups).foldLeft(nothing)(_ + _),
    parts.map(_.pages).foldLeft(nothing)(_ + _))
}
