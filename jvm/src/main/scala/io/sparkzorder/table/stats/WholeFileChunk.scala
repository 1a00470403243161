package io.sparkzorder.table.stats

import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData
import org.apache.parquet.schema.PrimitiveComparator

/**
 * A column chunk that stands for all chunks of its column in a file, so that Parquet's row group
 * filter can judge the file as a whole.
 */
private[sparkzorder] object WholeFileChunk {

  /** @param chunks the column's chunks in all row groups, at least one */
  def of(chunks: Seq[ColumnChunkMetaData]): ColumnChunkMetaData = {
    val first = chunks.head
    ColumnChunkMetaData.get(
      first.getPath,
      first.getPrimitiveType,
      first.getCodec,
      first.getEncodingStats,
      first.getEncodings,
      statistics(chunks),
      first.getFirstDataPageOffset,
      first.getDictionaryPageOffset,
      chunks.map(_.getValueCount).sum,
      chunks.map(_.getTotalSize).sum,
      chunks.map(_.getTotalUncompressedSize).sum)
  }

  // Where one row group does not say, the file does not say: Parquet's own `mergeStatistics` would
  // take the others' word for it.
  private def statistics(chunks: Seq[ColumnChunkMetaData]): Statistics[_] = {
    val parts = chunks.map(_.getStatistics)
    val builder = Statistics.getBuilderForReading(chunks.head.getPrimitiveType)
    if (parts.forall(_.isNumNullsSet)) builder.withNumNulls(parts.map(_.getNumNulls).sum)
    val valued = chunks.filterNot(allNull).map(_.getStatistics)
    if (valued.nonEmpty && valued.forall(_.hasNonNullValue)) {
      builder.withMin(extreme(valued, -1, _.genericGetMin).getMinBytes)
      builder.withMax(extreme(valued, 1, _.genericGetMax).getMaxBytes)
    }
    builder.build()
  }

  private def allNull(chunk: ColumnChunkMetaData): Boolean =
    chunk.getStatistics.isNumNullsSet && chunk.getStatistics.getNumNulls == chunk.getValueCount

  private def extreme(
      parts: Seq[Statistics[_]],
      sign: Int,
      end: Statistics[_] => Any): Statistics[_] = {
    val order = parts.head.comparator().asInstanceOf[PrimitiveComparator[Any]]
    parts.reduceLeft((a, b) => if (order.compare(end(a), end(b)) * sign >= 0) a else b)
  }
}
