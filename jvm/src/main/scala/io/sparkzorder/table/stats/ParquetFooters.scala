// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.stats

import java.nio.ByteBuffer
import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.column.Encoding.BYTE_STREAM_SPLIT
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.internal.column.columnindex.ColumnIndex
import org.apache.parquet.schema.PrimitiveType

import org.apache.spark.sql.types.DataType

import io.sparkzorder.table.{DataFile, OrderingColumn}
import io.sparkzorder.util.ColumnLookup

/** Reads footers of Parquet files with parquet-hadoop's own reader. */
private[sparkzorder] final class ParquetFooters(conf: Configuration)
    extends (DataFile => ScannedFile) {
  private val sharing = new Interner
  // The options are built once, from `conf`. Built without a configuration, they would read
  // Hadoop's XML files, which takes ten times as long as reading a footer.
  private val options = HadoopReadOptions.builder(conf).build()

  override def apply(file: DataFile): ScannedFile = {
    val metadata = FooterReader.withFile(file, conf, options)(_.getFooter)
    val meta = metadata.getFileMetaData
    val schema = sharing(meta.getSchema)
    val blocks = metadata.getBlocks.asScala
    val leaves = Array.fill(schema.getColumns.size)(ColumnStats.none)
    val position =
      schema.getColumns.asScala.map(_.getPath.toSeq).zipWithIndex.toMap
    blocks.foreach(_.getColumns.asScala.foreach { chunk =>
      val i = position(chunk.getPath.toArray.toSeq)
      leaves(i) =
        ColumnStats.merged(chunk.getPrimitiveType, leaves(i), ParquetColumnStats.of(chunk))
    })
    val filters = blocks.flatMap(_.getColumns.asScala)
      .filter(_.getBloomFilterOffset >= 0).map(_.getPath.toArray.toSeq).toSet
    ScannedFile(
      file,
      blocks.map(_.getRowCount).sum,
      blocks.map(_.getTotalByteSize).sum,
      schema,
      sharing(meta.getKeyValueMetaData.asScala.toMap),
      sharing(codecs(blocks.flatMap(_.getColumns.asScala).toSeq)),
      leaves,
      sharing(Option(meta.getCreatedBy).getOrElse("")),
      bloomFilters = sharing(filters),
      needsRowReader =
        blocks.exists(_.getColumns.asScala.exists(_.getEncodings.contains(BYTE_STREAM_SPLIT))))
  }

  private def codecs(chunks: Seq[ColumnChunkMetaData]): Seq[String] =
    chunks.groupBy(_.getCodec).toSeq.sortBy(c => -c._2.map(_.getTotalSize).sum)
      .map(_._1.name.toLowerCase(Locale.ROOT))
}

/** The statistics of Parquet row groups and pages, as [[ColumnStats]]. */
private[sparkzorder] object ParquetColumnStats {

  /** The statistics of a column chunk, which is a column in one row group. */
  def of(chunk: ColumnChunkMetaData): ColumnStats = {
    val s: Statistics[_] = chunk.getStatistics
    val hasNulls = s != null && s.isNumNullsSet
    val nulls = if (hasNulls) s.getNumNulls else -1L
    val bytes = chunk.getTotalSize
    val hasBounds = s != null && !s.isEmpty && s.hasNonNullValue
    // Some writers counted NULLs several times (polars#29321), or compared values in another order. Statistics that
    // contradict themselves say nothing about the values.
    if (nulls > chunk.getValueCount || hasBounds && nulls == chunk.getValueCount) {
      ColumnStats.unknown.copy(bytes = bytes)
    } else if (nulls == chunk.getValueCount) ColumnStats(nulls, null, null, known = true, bytes)
    else if (!hasBounds || isInverted(chunk.getPrimitiveType, s)) {
      ColumnStats(nulls, null, null, known = false, bytes)
    } else ColumnStats(nulls, s.genericGetMin, s.genericGetMax, known = true, bytes)
  }

  private def isInverted(t: PrimitiveType, s: Statistics[_]): Boolean =
    ColumnStats.compare(t, s.genericGetMin, s.genericGetMax) > 0

  /**
   * The statistics of each page of a chunk. A chunk without an offset index counts as one page
   * without statistics.
   */
  def ofPages(reader: ParquetFileReader, rows: Long, chunk: ColumnChunkMetaData): Seq[UnitStats] =
    Option(reader.readOffsetIndex(chunk)) match {
      case None => Seq(UnitStats(rows, ColumnStats.unknown))
      case Some(places) =>
        val index = Option(reader.readColumnIndex(chunk))
        (0 until places.getPageCount).map { i =>
          val n = places.getLastRowIndex(i, rows) - places.getFirstRowIndex(i) + 1
          UnitStats(n, index.fold(ColumnStats.unknown)(page(_, i, n, chunk.getPrimitiveType)))
        }
    }

  private def page(index: ColumnIndex, i: Int, rows: Long, t: PrimitiveType): ColumnStats =
    if (index.getNullPages.get(i)) ColumnStats.onlyNulls(rows)
    else {
      val s: Statistics[_] = Statistics.getBuilderForReading(t)
        .withMin(bytes(index.getMinValues.get(i)))
        .withMax(bytes(index.getMaxValues.get(i)))
        .build()
      if (s.hasNonNullValue) ColumnStats(-1L, s.genericGetMin, s.genericGetMax, known = true)
      else ColumnStats.unknown
    }

  private def bytes(buffer: ByteBuffer): Array[Byte] = {
    val copy = buffer.duplicate()
    val out = new Array[Byte](copy.remaining)
    copy.get(out)
    out
  }
}

/** [[FileColumns]] of Parquet files. */
private[sparkzorder] object ParquetColumns {

  def read(
      file: DataFile,
      reader: ParquetFileReader,
      columns: Seq[OrderingColumn],
      withPages: Boolean,
      sameName: (String, String) => Boolean): FileColumns = {
    val schema = reader.getFileMetaData.getSchema
    val groups = reader.getRowGroups.asScala.toIndexedSeq
    val read = columns.map { c =>
      ColumnLookup.position(schema, c.parts, sameName) match {
        case None =>
          FileColumn.absent(groups.map(_.getRowCount), withPages)
        case Some(i) => column(reader, groups, i, c.dataType, withPages)
      }
    }
    FileColumns(file, groups.map(_.getRowCount).sum, read.toIndexedSeq)
  }

  /** @param leaf position of the column among the leaf columns of the schema */
  private def column(
      reader: ParquetFileReader,
      groups: IndexedSeq[BlockMetaData],
      leaf: Int,
      dataType: DataType,
      withPages: Boolean): FileColumn = {
    val descriptor = reader.getFileMetaData.getSchema.getColumns.get(leaf)
    val (t, path) = (descriptor.getPrimitiveType, descriptor.getPath)
    val chunks = groups.map { g =>
      g -> g.getColumns.asScala.find(_.getPath.toArray.sameElements(path)).get
    }
    val parts = chunks.map { case (g, c) => UnitStats(g.getRowCount, ParquetColumnStats.of(c)) }
    val whole = parts.map(_.stats).foldLeft(ColumnStats.none)(ColumnStats.merged(t, _, _))
    def in(u: UnitStats) = u.copy(stats = u.stats.in(t, dataType))
    val pages = if (!withPages) None
    else Some(chunks.map { case (g, c) =>
      val group = ParquetColumnStats.of(c)
      ParquetColumnStats.ofPages(reader, g.getRowCount, c)
        .map(p => in(p.copy(stats = ColumnStats.within(t, p.stats, group))))
    })
    FileColumn.of(in(UnitStats(parts.map(_.rows).sum, whole)), parts.map(in), pages)
  }
}
