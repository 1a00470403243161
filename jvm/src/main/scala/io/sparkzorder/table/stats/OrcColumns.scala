// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.stats

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.orc.{ColumnStatistics, Reader}
import org.apache.orc.impl.{ColumnStatisticsImpl, RecordReaderImpl}

import org.apache.spark.sql.types.DataType

import io.sparkzorder.table.{DataFile, OrcLeaf, OrcSchema, OrderingColumn}

/**
 * Reads [[FileColumns]] of ORC files. Stripes stand for row groups, and strides of the row index
 * for pages.
 */
private[sparkzorder] object OrcColumns {

  def read(
      file: DataFile,
      columns: Seq[OrderingColumn],
      withPages: Boolean,
      sameName: (String, String) => Boolean,
      conf: Configuration): FileColumns = OrcFooters.withFile(file, conf) { reader =>
    val schema = OrcSchema.of(reader.getSchema, file.path.toString)
    val found = columns.map(c => c -> schema.leaf(c.parts, sameName)).toIndexedSeq
    val open = new OrcFileColumns(reader)
    // one read for the row indexes of all columns, because they lie side by side in a stripe
    val strides = if (withPages) Some(open.strides(found.flatMap(_._2))) else None
    FileColumns(
      file,
      reader.getNumberOfRows,
      found.map {
        case (_, None) => open.absent(withPages)
        case (c, Some(leaf)) => open.column(leaf, c.dataType, strides.map(_(leaf)))
      })
  }
}

/** The statistics of one open file. */
private final class OrcFileColumns(reader: Reader) {
  private val statsOf = new OrcColumnStats(reader.getWriterVersion)
  private val rowsOfStripes = reader.getStripes.asScala.map(_.getNumberOfRows).toIndexedSeq
  private lazy val statistics: IndexedSeq[Array[ColumnStatistics]] = {
    val found = reader.getStripeStatistics.asScala.map(_.getColumnStatistics).toIndexedSeq
    // a file may lack the statistics of its stripes
    if (found.size == rowsOfStripes.size) found
    else rowsOfStripes.map(_ => Array.empty[ColumnStatistics])
  }

  def absent(withPages: Boolean): FileColumn = FileColumn.absent(rowsOfStripes, withPages)

  /**
   * @param strides the strides of each stripe, empty for a stripe without a row index; None when row
   *   indexes were not read
   */
  def column(
      leaf: OrcLeaf,
      dataType: DataType,
      strides: Option[IndexedSeq[Seq[(Long, ColumnStats)]]]): FileColumn = {
    def unit(rows: Long, s: ColumnStats) = UnitStats(rows, s.in(leaf.primitive, dataType))
    val rows = reader.getNumberOfRows
    val stripes = rowsOfStripes.zip(statistics)
      .map { case (n, all) => unit(n, statsOf.of(all, leaf, n)) }
    FileColumn.of(
      unit(rows, statsOf.of(reader.getStatistics, leaf, rows)),
      stripes,
      strides.map(_.map(_.map { case (n, s) => unit(n, s) })))
  }

  /** Number of rows and statistics of each stride, by column and stripe. */
  def strides(leaves: Seq[OrcLeaf]): Map[OrcLeaf, IndexedSeq[Seq[(Long, ColumnStats)]]] = {
    val columns = reader.getSchema.getMaximumId + 1
    val wanted = new Array[Boolean](columns)
    leaves.foreach(l => wanted(l.id) = true)
    // Opening a RecordReader reads a stripe. Only the root column is chosen, which holds no data.
    val root = Array.tabulate(columns)(_ == 0)
    val rows = reader.rows(reader.options.include(root)).asInstanceOf[RecordReaderImpl]
    try {
      val byStripe = rowsOfStripes.indices.map { s =>
        // the last argument chooses the columns whose Bloom filters are read: none
        val index = rows.readRowIndex(s, wanted, new Array[Boolean](columns)).getRowGroupIndex
        leaves.map(l => l -> ofStripe(rowsOfStripes(s), l, Option(index(l.id)))).toMap
      }
      leaves.map(l => l -> byStripe.map(_(l))).toMap
    } finally rows.close()
  }

  private def ofStripe(
      rows: Long,
      leaf: OrcLeaf,
      index: Option[org.apache.orc.OrcProto.RowIndex]): Seq[(Long, ColumnStats)] = {
    val stride = reader.getRowIndexStride.toLong
    val entries = index.toSeq.flatMap(_.getEntryList.asScala)
    // each stride has the number of rows that the footer names, but the last stride may have fewer
    if (stride <= 0 || entries.size != (rows + stride - 1) / stride) Nil
    else entries.zipWithIndex.map { case (entry, i) =>
      val n = math.min(stride, rows - i * stride)
      val s = ColumnStatisticsImpl.deserialize(leaf.types, entry.getStatistics)
      n -> statsOf.of(s, leaf, n)
    }
  }
}
