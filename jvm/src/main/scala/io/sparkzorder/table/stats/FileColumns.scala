package io.sparkzorder.table.stats

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.{HadoopReadOptions, ParquetReadOptions}
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.ColumnPath

import org.apache.spark.sql.sparkzorder.SparkPrivate

import io.sparkzorder.table.{DataFile, DataFormat, OrcFiles, OrderingColumn, ParquetFiles}
import io.sparkzorder.util.LeafNames

/**
 * What one file says of one column, without a row being read.
 *
 * @param stored false when the file lacks the column, so that every row is NULL there
 * @param nulls number of NULLs, if every row group says it
 * @param whole the file as one unit
 * @param rowGroups in their order
 * @param pages in their order; a page that says nothing has the range of its row group. None when the
 *   page indexes were not read
 * @param pagesSay true when pages were read and every one says something of its own
 */
final case class FileColumn(
    stored: Boolean,
    nulls: Option[Long],
    whole: UnitBounds,
    rowGroups: IndexedSeq[UnitBounds],
    pages: Option[IndexedSeq[UnitBounds]],
    pagesSay: Boolean) {

  /** The smallest units that the file says something of. */
  def finest: IndexedSeq[UnitBounds] = if (pagesSay) pages.get else rowGroups

  /** The same of a file that lacks the column, whose rows have a default value instead of NULL. */
  def withDefault: FileColumn = {
    def unknown(unit: UnitBounds) = unit.copy(onlyNulls = false, range = None)
    FileColumn(
      stored,
      None,
      unknown(whole),
      rowGroups.map(unknown),
      pages.map(_.map(unknown)),
      pagesSay = false)
  }
}

/**
 * What one file says of some columns.
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
            of(file, reader, columns.map(spelledAsIn(reader, _, sameName)), withPages)
          }
      case OrcFiles => OrcColumns.read(_, columns, withPages, sameName, conf)
    }
    SparkPrivate.inParallel(files, "zorder-footers", FooterReader.Threads)(read).toIndexedSeq
  }

  private def of(
      file: DataFile,
      reader: ParquetFileReader,
      columns: Seq[OrderingColumn],
      withPages: Boolean): FileColumns = {
    val wanted = if (withPages) columns.map(c => ColumnPath.get(c.parts: _*)).toSet
    else Set.empty[ColumnPath]
    val statistics = FileStatistics.of(file.path.toString, reader, wanted)
    FileColumns(
      file,
      statistics.rows,
      columns.map(c => column(c, statistics, withPages)).toIndexedSeq)
  }

  private def column(
      c: OrderingColumn,
      statistics: FileStatistics,
      withPages: Boolean): FileColumn = {
    val groups = statistics.rowGroups.toIndexedSeq
    val wholes = groups.map(_.bounds(c))
    val pages = if (withPages) groups.map(_.pageBounds(c)) else Nil
    FileColumn(
      statistics.columnType(c.parts).isDefined,
      statistics.nulls(c),
      statistics.bounds(c),
      wholes,
      if (withPages) Some(wholes.zip(pages).flatMap { case (w, p) => filled(w, p) }) else None,
      pages.nonEmpty && pages.forall(p => p.nonEmpty && p.forall(says)))
  }

  private[sparkzorder] def says(unit: UnitBounds): Boolean = unit.onlyNulls || unit.range.isDefined

  private[sparkzorder] def filled(group: UnitBounds, pages: Seq[UnitBounds]): Seq[UnitBounds] =
    // a file that lacks the column has no page of it, but rows that are NULL
    if (pages.isEmpty) Seq(group)
    else pages.map { page =>
      if (says(page)) page
      else page.copy(onlyNulls = group.onlyNulls, range = group.range)
    }

  /** The column with its name as this file spells it. */
  private def spelledAsIn(
      reader: ParquetFileReader,
      column: OrderingColumn,
      sameName: (String, String) => Boolean): OrderingColumn = {
    val schema = reader.getFileMetaData.getSchema
    LeafNames.position(schema, column.parts, sameName)
      .fold(column)(i => column.copy(parts = schema.getColumns.get(i).getPath.toSeq))
  }
}
