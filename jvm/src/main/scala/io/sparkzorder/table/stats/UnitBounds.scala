package io.sparkzorder.table.stats

import java.nio.ByteBuffer

import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.hadoop.metadata.{ColumnChunkMetaData, ColumnPath}
import org.apache.parquet.internal.column.columnindex.ColumnIndex
import org.apache.parquet.schema.PrimitiveType

import org.apache.spark.sql.types.DataType

import io.sparkzorder.table.OrderingColumn

/**
 * What a file, a row group or a page says of the values of one column.
 *
 * @param rows number of rows of the unit
 * @param onlyNulls no row holds a value, so that no value is looked for in the unit
 * @param range least and greatest value; None where the unit does not say, or has only NULLs
 */
final case class UnitBounds(rows: Long, onlyNulls: Boolean, range: Option[FileRange])

private[sparkzorder] object UnitBounds {

  /** Of the column's chunk among `chunks`; a column without a chunk is NULL in every row. */
  def of(rows: Long, chunks: Seq[ColumnChunkMetaData], column: OrderingColumn): UnitBounds =
    chunkOf(chunks, column) match {
      case None => onlyNulls(rows)
      case Some(c) =>
        val s: Statistics[_] = c.getStatistics
        if (s.isNumNullsSet && s.getNumNulls == c.getValueCount) onlyNulls(rows)
        else UnitBounds(rows, onlyNulls = false, range(s, c.getPrimitiveType, column.dataType))
    }

  /** Number of NULLs of the column's chunk among `chunks`, if it says. */
  def nulls(rows: Long, chunks: Seq[ColumnChunkMetaData], column: OrderingColumn): Option[Long] =
    chunkOf(chunks, column) match {
      case None => Some(rows)
      case Some(c) if c.getStatistics.isNumNullsSet => Some(c.getStatistics.getNumNulls)
      case _ => None
    }

  /** Of the column's pages in a row group; a chunk without column index says nothing of its pages. */
  def ofPages(
      groupRows: Long,
      chunks: Seq[ColumnChunkMetaData],
      pages: PageStatistics,
      column: OrderingColumn): Seq[UnitBounds] =
    chunkOf(chunks, column).toSeq.flatMap { chunk =>
      val places = pages.getOffsetIndex(chunk.getPath)
      val index = Option(pages.getColumnIndex(chunk.getPath))
      (0 until places.getPageCount).map { i =>
        val rows = places.getLastRowIndex(i, groupRows) - places.getFirstRowIndex(i) + 1
        index match {
          case None => UnitBounds(rows, onlyNulls = false, None)
          case Some(x) if x.getNullPages.get(i) => onlyNulls(rows)
          case Some(x) =>
            val t = chunk.getPrimitiveType
            UnitBounds(rows, onlyNulls = false, range(page(x, i, t), t, column.dataType))
        }
      }
    }

  private def onlyNulls(rows: Long) = UnitBounds(rows, onlyNulls = true, None)

  private def chunkOf(chunks: Seq[ColumnChunkMetaData], column: OrderingColumn) = {
    val path = ColumnPath.get(column.parts: _*)
    chunks.find(_.getPath == path)
  }

  private def page(index: ColumnIndex, i: Int, t: PrimitiveType): Statistics[_] =
    Statistics.getBuilderForReading(t)
      .withMin(bytes(index.getMinValues.get(i)))
      .withMax(bytes(index.getMaxValues.get(i)))
      .build()

  private def bytes(buffer: ByteBuffer): Array[Byte] = {
    val copy = buffer.duplicate()
    val out = new Array[Byte](copy.remaining)
    copy.get(out)
    out
  }

  private def range(s: Statistics[_], t: PrimitiveType, dataType: DataType): Option[FileRange] =
    if (!s.hasNonNullValue) None
    else {
      for {
        min <- StatisticValue(s.genericGetMin, t, dataType)
        max <- StatisticValue(s.genericGetMax, t, dataType)
      } yield FileRange(min, max)
    }
}
