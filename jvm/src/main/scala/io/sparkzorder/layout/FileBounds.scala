package io.sparkzorder.layout

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.ParquetReadOptions
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.PrimitiveType

/** Rows, and min, max and null count of every leaf column, of one data file: from its footer. */
final case class FileBounds(path: String, bytes: Long, rows: Long, columns: Seq[ColumnBounds]) {

  /** The bounds of a leaf column by its name parts; none where the file lacks the column. */
  def column(nameParts: Seq[String]): Option[ColumnBounds] = columns.find(_.column == nameParts)
}

/**
 * @param column   name parts of the leaf
 * @param fileType the leaf's type in this file
 * @param bounds   smallest and largest value as Parquet stores them (`Integer`, `Binary`, ...); none
 *                 where all values are NULL or the file does not say
 * @param nulls    number of NULLs, where the file says
 * @param values   number of values, NULLs included
 */
final case class ColumnBounds(
    column: Seq[String],
    fileType: PrimitiveType,
    bounds: Option[(Comparable[_], Comparable[_])],
    nulls: Option[Long],
    values: Long) {

  def allNull: Boolean = nulls.contains(values)
}

object FileBounds {

  /** Reads one footer. */
  def read(path: Path, conf: Configuration): FileBounds = {
    val file = HadoopInputFile.fromPath(path, conf)
    val reader = ParquetFileReader.open(file, ParquetReadOptions.builder().build())
    try {
      val groups = reader.getRowGroups.asScala.toSeq
      val chunks = groups.flatMap(_.getColumns.asScala).groupBy(_.getPath)
      val inSchemaOrder = groups.headOption.toSeq.flatMap(_.getColumns.asScala.map(_.getPath))
      FileBounds(
        path.toString,
        file.getLength,
        groups.map(_.getRowCount).sum,
        inSchemaOrder.map(leaf => bounds(asOneChunk(chunks(leaf)))))
    } finally reader.close()
  }

  /** A column chunk that stands for all of a file's: what Parquet's filter judges, it judges. */
  private[layout] def asOneChunk(chunks: Seq[ColumnChunkMetaData]): ColumnChunkMetaData = {
    val first = chunks.head
    ColumnChunkMetaData.get(
      first.getPath,
      first.getPrimitiveType,
      first.getCodec,
      first.getEncodingStats,
      first.getEncodings,
      MergedStatistics.of(chunks),
      first.getFirstDataPageOffset,
      first.getDictionaryPageOffset,
      chunks.map(_.getValueCount).sum,
      chunks.map(_.getTotalSize).sum,
      chunks.map(_.getTotalUncompressedSize).sum)
  }

  private def bounds(chunk: ColumnChunkMetaData): ColumnBounds = {
    val statistics: Statistics[_] = chunk.getStatistics
    ColumnBounds(
      chunk.getPath.toArray.toSeq,
      chunk.getPrimitiveType,
      if (statistics.hasNonNullValue)
        Some((end(statistics.genericGetMin), end(statistics.genericGetMax)))
      else None,
      if (statistics.isNumNullsSet) Some(statistics.getNumNulls) else None,
      chunk.getValueCount)
  }

  private def end(value: Any): Comparable[_] = value.asInstanceOf[Comparable[_]]
}
