package io.sparkzorder.table.stats

import java.util.{List => JList}

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData, ColumnPath}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.internal.column.columnindex.{ColumnIndex, OffsetIndex}
import org.apache.parquet.internal.filter2.columnindex.ColumnIndexStore
import org.apache.parquet.schema.PrimitiveType

import io.sparkzorder.table.OrderingColumn

/**
 * All that a Parquet file says without reading a row: min/max of the file, of its row groups and, for
 * chosen columns, of their pages. Held in memory, so that many predicates can be judged at once.
 */
final case class FileStatistics private[sparkzorder] (
    path: String,
    rowGroups: Seq[RowGroupStatistics],
    private[sparkzorder] val wholeFile: Seq[ColumnChunkMetaData]) {

  private lazy val types = wholeFile.map(c => c.getPath -> c.getPrimitiveType).toMap

  def rows: Long = rowGroups.map(_.rows).sum

  /** What the file as a whole says of a column. */
  def bounds(column: OrderingColumn): UnitBounds = UnitBounds.of(rows, wholeFile, column)

  /** How many rows are NULL in a column, if every row group says it. */
  private[sparkzorder] def nulls(column: OrderingColumn): Option[Long] =
    UnitBounds.nulls(rows, wholeFile, column)

  /** The type that this file stores a leaf column in; none where it lacks the column. */
  private[sparkzorder] def columnType(leaf: Seq[String]): Option[PrimitiveType] =
    types.get(ColumnPath.get(leaf: _*))
}

/** One row group's part of [[FileStatistics]]. */
final case class RowGroupStatistics private[sparkzorder] (
    rows: Long,
    private[sparkzorder] val columns: Seq[ColumnChunkMetaData],
    private[sparkzorder] val pages: PageStatistics) {

  /** What the row group says of a column. */
  def bounds(column: OrderingColumn): UnitBounds = UnitBounds.of(rows, columns, column)

  /** What each page of a column says, in their order; its page index must have been loaded. */
  def pageBounds(column: OrderingColumn): Seq[UnitBounds] =
    UnitBounds.ofPages(rows, columns, pages, column)
}

/** The page indexes of chosen columns of one row group, as Parquet's filter asks for them. */
private[sparkzorder] final class PageStatistics(indexes: Map[
  ColumnPath,
  (ColumnIndex, OffsetIndex)])
    extends ColumnIndexStore {
  override def getColumnIndex(column: ColumnPath): ColumnIndex = loaded(column)._1
  override def getOffsetIndex(column: ColumnPath): OffsetIndex = loaded(column)._2

  private def loaded(column: ColumnPath) = indexes.getOrElse(
    column,
    throw new IllegalArgumentException(s"page indexes were not loaded for column $column"))
}

object FileStatistics {

  /** Reads footers, and page indexes of the columns given by their name parts. */
  def load(
      paths: Seq[String],
      columns: Seq[Seq[String]],
      conf: Configuration): Seq[FileStatistics] = {
    val wanted = columns.map(c => ColumnPath.get(c: _*)).toSet
    paths.map(read(_, wanted, conf))
  }

  /** The same for top-level columns, for callers that have no Scala collections. */
  def load(
      paths: JList[String],
      columns: JList[String],
      conf: Configuration): JList[FileStatistics] =
    load(paths.asScala.toSeq, columns.asScala.map(Seq(_)).toSeq, conf).asJava

  private def read(path: String, wanted: Set[ColumnPath], conf: Configuration): FileStatistics = {
    val file = HadoopInputFile.fromPath(new Path(path), conf)
    val reader = ParquetFileReader.open(file, HadoopReadOptions.builder(conf).build())
    try of(path, reader, wanted)
    finally reader.close()
  }

  /** Of a file that is open, with the page indexes of the wanted leaf columns. */
  private[sparkzorder] def of(
      path: String,
      reader: ParquetFileReader,
      wanted: Set[ColumnPath]): FileStatistics = {
    val groups = reader.getRowGroups.asScala.toSeq.map(rowGroup(reader, _, wanted))
    val chunks = groups.flatMap(_.columns).groupBy(_.getPath).values.toSeq
    FileStatistics(path, groups, chunks.map(WholeFileChunk.of))
  }

  private def rowGroup(
      reader: ParquetFileReader,
      block: BlockMetaData,
      wanted: Set[ColumnPath]): RowGroupStatistics = {
    val chunks = block.getColumns.asScala.toSeq
    val indexes = chunks.filter(c => wanted(c.getPath)).map { c =>
      val pages = Option(reader.readOffsetIndex(c)).getOrElse(OnePage(c.getTotalSize))
      c.getPath -> (reader.readColumnIndex(c) -> pages)
    }
    RowGroupStatistics(block.getRowCount, chunks, new PageStatistics(indexes.toMap))
  }

  /** Stands for the offset index of a chunk that has none: all its rows must be read together. */
  private final case class OnePage(chunkBytes: Long) extends OffsetIndex {
    override def getPageCount: Int = 1
    override def getOffset(page: Int): Long = 0L
    override def getCompressedPageSize(page: Int): Int = math.min(chunkBytes, Int.MaxValue).toInt
    override def getFirstRowIndex(page: Int): Long = 0L
  }
}
