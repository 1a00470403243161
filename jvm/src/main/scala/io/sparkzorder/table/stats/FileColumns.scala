// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.stats

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.{HadoopReadOptions, ParquetReadOptions}

import org.apache.spark.sql.sparkzorder.SparkPrivate

import io.sparkzorder.table.{DataFile, DataFormat, OrcFiles, OrderingColumn, ParquetFiles}

/**
 * The number of rows of a storage unit, and the statistics of one column in the unit. A storage
 * unit is a file, a row group or stripe, a page or stride.
 *
 * @param stats statistics whose bounds are Catalyst values
 */
private[sparkzorder] final case class UnitStats(rows: Long, stats: ColumnStats) {

  /** True when the statistics can show that a query need not read the unit. */
  private[stats] def canSkip: Boolean = stats.onlyNulls || stats.range.isDefined
}

/**
 * The statistics of one column in one file and in the units of the file. No row is read for them.
 *
 * @param stored false when the file lacks the column, so that every row is NULL there
 * @param whole the file as one unit
 * @param rowGroups the row groups in the order of the file
 * @param pages the pages in the order of the file; a page without statistics of its own has those
 *   of its row group; None when the page indexes were not read
 * @param hasPageBounds true when pages were read and every page has bounds of its own, or only NULLs
 */
private[sparkzorder] final case class FileColumn(
    stored: Boolean,
    whole: UnitStats,
    rowGroups: IndexedSeq[UnitStats],
    pages: Option[IndexedSeq[UnitStats]],
    hasPageBounds: Boolean) {

  /** Number of NULLs; None if it is not known for every row group. */
  def nulls: Option[Long] = if (whole.stats.nulls < 0) None else Some(whole.stats.nulls)

  /** The smallest units with statistics of their own. */
  def finest: IndexedSeq[UnitStats] = if (hasPageBounds) pages.get else rowGroups

  /**
   * These statistics for a file that lacks the column, if the column has a default value. The rows then have
   * the default value instead of NULL, so all statistics are unknown.
   */
  def withDefault: FileColumn = {
    def unknown(unit: UnitStats) = unit.copy(stats = ColumnStats.unknown)
    FileColumn(
      stored,
      unknown(whole),
      rowGroups.map(unknown),
      pages.map(_.map(unknown)),
      hasPageBounds = false)
  }
}

private[stats] object FileColumn {

  /**
   * @param pages the pages of each row group, empty if it has no page index; None when page indexes
   *   were not read
   */
  def of(
      whole: UnitStats,
      rowGroups: IndexedSeq[UnitStats],
      pages: Option[IndexedSeq[Seq[UnitStats]]]): FileColumn = FileColumn(
    stored = true,
    whole,
    rowGroups,
    pages.map(rowGroups.zip(_).flatMap { case (group, own) => filled(group, own) }),
    pages.exists(all => all.nonEmpty && all.forall(p => p.nonEmpty && p.forall(_.canSkip))))

  /**
   * A column that the file lacks is NULL in every row. It has no pages, so the row groups stand for
   * pages.
   */
  def absent(rowsOfGroups: IndexedSeq[Long], withPages: Boolean): FileColumn = {
    def nulls(rows: Long) = UnitStats(rows, ColumnStats.onlyNulls(rows))
    val groups = rowsOfGroups.map(nulls)
    FileColumn(
      stored = false,
      nulls(rowsOfGroups.sum),
      groups,
      if (withPages) Some(groups) else None,
      hasPageBounds = false)
  }

  private def filled(group: UnitStats, pages: Seq[UnitStats]): Seq[UnitStats] =
    if (pages.isEmpty) Seq(group)
    else pages.map(page => if (page.canSkip) page else page.copy(stats = group.stats))
}

/**
 * The statistics of some columns in one file.
 *
 * @param columns in the order in which they were asked for
 */
private[sparkzorder] final case class FileColumns(
    file: DataFile,
    rows: Long,
    columns: IndexedSeq[FileColumn])

private[sparkzorder] object FileColumns {

  /**
   * Reads files, several at once.
   *
   * @param withPages true to read the page indexes too: two more small reads for each column and
   *   row group
   * @param format of the files; row groups are stripes in ORC, and pages are strides
   * @return one entry for each file, in their order
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_FILE_UNREADABLE or ZORDER_FILE_ENCRYPTED,
   *   naming the file
   */
  def read(
      files: Seq[DataFile],
      columns: Seq[OrderingColumn],
      withPages: Boolean,
      sameName: (String, String) => Boolean,
      conf: Configuration,
      format: DataFormat): IndexedSeq[FileColumns] = {
    val read: DataFile => FileColumns = format match {
      case ParquetFiles =>
        // built once for all files, because building them may read Hadoop's XML files
        val options: ParquetReadOptions = HadoopReadOptions.builder(conf).build()
        file =>
          FooterReader.withFile(file, conf, options) { reader =>
            ParquetColumns.read(file, reader, columns, withPages, sameName)
          }
      case OrcFiles => OrcColumns.read(_, columns, withPages, sameName, conf)
    }
    SparkPrivate.inParallel(files)(read).toIndexedSeq
  }
}
