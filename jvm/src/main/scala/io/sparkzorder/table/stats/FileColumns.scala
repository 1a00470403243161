package io.sparkzorder.table.stats

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.{HadoopReadOptions, ParquetReadOptions}

import org.apache.spark.sql.sparkzorder.SparkPrivate

import io.sparkzorder.table.{DataFile, DataFormat, OrcFiles, OrderingColumn, ParquetFiles}

/**
 * The rows of a storage unit (a file, a row group or stripe, a page or stride) and the statistics of one
 * column in it.
 *
 * @param stats with bounds as Catalyst values
 */
final case class UnitStats(rows: Long, stats: ColumnStats) {

  /** True when its min and max tell which queries need not read it. */
  private[stats] def says: Boolean = stats.onlyNulls || stats.range.isDefined
}

/**
 * The statistics of one column in one file and in its units; no row is read.
 *
 * @param stored false when the file lacks the column, so that every row is NULL there
 * @param whole the file as one unit
 * @param rowGroups in their order
 * @param pages in their order; a page without bounds of its own has those of its row group. None when the
 *   page indexes were not read
 * @param pagesSay true when pages were read and each has statistics of its own
 */
final case class FileColumn(
    stored: Boolean,
    whole: UnitStats,
    rowGroups: IndexedSeq[UnitStats],
    pages: Option[IndexedSeq[UnitStats]],
    pagesSay: Boolean) {

  /** Number of NULLs, if every row group has it. */
  def nulls: Option[Long] = if (whole.stats.nulls < 0) None else Some(whole.stats.nulls)

  /** The smallest units with statistics of their own. */
  def finest: IndexedSeq[UnitStats] = if (pagesSay) pages.get else rowGroups

  /** The same of a file that lacks the column, whose rows have a default value instead of NULL. */
  def withDefault: FileColumn = {
    def unknown(unit: UnitStats) = unit.copy(stats = ColumnStats.unknown)
    FileColumn(
      stored,
      unknown(whole),
      rowGroups.map(unknown),
      pages.map(_.map(unknown)),
      pagesSay = false)
  }
}

private[stats] object FileColumn {

  /** @param pages of each row group, none where it has no page index; None when they were not read */
  def of(
      whole: UnitStats,
      rowGroups: IndexedSeq[UnitStats],
      pages: Option[IndexedSeq[Seq[UnitStats]]]): FileColumn = FileColumn(
    stored = true,
    whole,
    rowGroups,
    pages.map(rowGroups.zip(_).flatMap { case (group, own) => filled(group, own) }),
    pages.exists(all => all.nonEmpty && all.forall(p => p.nonEmpty && p.forall(_.says))))

  /** A column that the file lacks is NULL in every row; it has no page, but the rows of its row groups. */
  def absent(rowsOfGroups: IndexedSeq[Long], withPages: Boolean): FileColumn = {
    def nulls(rows: Long) = UnitStats(rows, ColumnStats.onlyNulls(rows))
    val groups = rowsOfGroups.map(nulls)
    FileColumn(
      stored = false,
      nulls(rowsOfGroups.sum),
      groups,
      if (withPages) Some(groups) else None,
      pagesSay = false)
  }

  private def filled(group: UnitStats, pages: Seq[UnitStats]): Seq[UnitStats] =
    if (pages.isEmpty) Seq(group)
    else pages.map(page => if (page.says) page else page.copy(stats = group.stats))
}

/**
 * The statistics of some columns in one file.
 *
 * @param columns in the order in which they were asked for
 */
final case class FileColumns(file: DataFile, rows: Long, columns: IndexedSeq[FileColumn])

object FileColumns {

  /**
   * Reads files, several at once.
   *
   * @param withPages also the page indexes, two more small reads for each column and row group
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
        // made once: making them reads Hadoop's XML files
        val options: ParquetReadOptions = HadoopReadOptions.builder(conf).build()
        file =>
          FooterReader.withFile(file, conf, options) { reader =>
            ParquetColumns.read(file, reader, columns, withPages, sameName)
          }
      case OrcFiles => OrcColumns.read(_, columns, withPages, sameName, conf)
    }
    SparkPrivate.inParallel(files, "zorder-footers", FooterReader.Threads)(read).toIndexedSeq
  }
}
