// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import org.apache.hadoop.conf.Configuration
import org.apache.orc.OrcConf
import org.apache.parquet.column.ParquetProperties
import org.apache.parquet.hadoop.{ParquetOutputFormat, ParquetWriter}

import org.apache.spark.sql.execution.datasources.FileFormat

/** Specifies how new files are written. Each format of data files has its own implementation. */
private[sparkzorder] trait OutputSpec {

  /** Spark's short name of the compression codec, such as `zstd`. */
  def codec: String

  /**
   * The number of pages of a file with `rows` rows, a power of two. A format whose pages have a fixed number of
   * rows (ORC) returns 1.
   */
  def pagesOf(rows: Long): Int = 1

  /** What the input files have and the new files will lack. Each text is a part of a sentence. */
  def lost: Seq[String]

  /** Spark's writer, configured to write such files. */
  def writer: FileFormat
}

/**
 * The sizes of the row groups and pages of a file. In ORC, row groups are stripes and pages are
 * strides.
 *
 * @param pageRows number of rows at which the writer ends a page
 * @param rowGroupRows number of rows at which the writer ends a row group
 * @param rowGroupBytes maximum bytes of a row group before compression; a row group ends at the
 *   limit that it reaches first
 * @param maxPageRows the limit for `pageRows`, from the settings of the format
 */
private[sparkzorder] final case class FileUnits(
    pageRows: Int,
    rowGroupRows: Int,
    rowGroupBytes: Long,
    maxPageRows: Int) {

  /**
   * The sizes for a file of exactly `rows` rows, by which all its pages have equally many rows (unless `maxPageRows`
   * is smaller than such a page), and all its row groups, too. The file gets as many pages and row groups as were
   * planned, unless they would become much larger or smaller.
   */
  def fitted(rows: Long): FileUnits = {
    val pages = pagesOf(rows)
    val groups = FileUnits.powerOfTwo(rows / (rowGroupRows * FileUnits.MoreSlack))
    val ofPage = math.max(1L, (rows + pages - 1) / pages)
    // a row group has whole pages
    val ofGroup = if (groups < pages) ofPage * (pages / groups) else (rows + groups - 1) / groups
    copy(
      pageRows = math.min(maxPageRows.toLong, ofPage).toInt,
      rowGroupRows = math.max(ofPage, math.min(Int.MaxValue.toLong, ofGroup)).toInt)
  }

  /**
   * The planned number of equal pages of a file with `rows` rows, a power of two. If the file is up to a tenth too
   * large for this number of pages of `maxPageRows` rows, the number is not doubled. The pages then have `maxPageRows`
   * rows, and the rows that are left in each row group become further pages.
   */
  def pagesOf(rows: Long): Int =
    FileUnits.powerOfTwo(
      rows / math.min(maxPageRows * FileUnits.Slack, pageRows * FileUnits.MoreSlack))
}

private[sparkzorder] object FileUnits {

  // each column chunk has a dictionary of its own, so small row groups would repeat dictionaries
  private val MinRowGroupBytes: Long = 1L << 20
  private val MaxRowGroups = 4
  // the greatest power of two that is an Int
  private val MaxUnits = 1 << 30
  // the planned units are larger by this factor than the mean needs, so that most files have no small last
  // row group
  private val Slack = 1.1
  // a unit may exceed its planned size by this factor; together with `Slack`, up to 1.4 times the mean
  private val MoreSlack = 1.27
  // the least stride that ORC's writer accepts
  private val MinStride = 1000
  private val DefaultStride = 10000

  /**
   * Sizes by which a page or row group is a half, a quarter, an eighth, ... of a file, because the Hilbert
   * curve fills the space of a file in such pieces, one after the other.
   *
   * @param rows the mean number of rows of a file
   * @param bytesPerRow the mean size of a row before compression, in bytes
   * @param conf Parquet's own settings, which limit the sizes of pages and row groups
   */
  def of(rows: Double, bytesPerRow: Double, conf: Configuration): FileUnits = of(
    rows,
    bytesPerRow,
    maxPageRows = positive(
      conf.getInt(ParquetOutputFormat.PAGE_ROW_COUNT_LIMIT, 0).toLong,
      ParquetProperties.DEFAULT_PAGE_ROW_COUNT_LIMIT.toLong).toInt,
    maxRowGroupBytes = positive(
      conf.getLong(ParquetOutputFormat.BLOCK_SIZE, 0L),
      ParquetWriter.DEFAULT_BLOCK_SIZE.toLong))

  /** The value of a setting, or the default if the setting is not set or limits nothing. */
  private def positive(value: Long, default: Long): Long = if (value > 0) value else default

  /** Like `of`, for the stripes and strides of ORC, with the limits in ORC's own settings. */
  def ofOrc(rows: Double, bytesPerRow: Double, conf: Configuration): FileUnits = {
    val largest = OrcConf.ROW_INDEX_STRIDE.getLong(conf).min(Int.MaxValue.toLong).toInt
    val units = of(
      rows,
      bytesPerRow,
      // a setting of 0 switches strides off, and our files need them
      maxPageRows = if (largest < MinStride) DefaultStride else largest,
      maxRowGroupBytes = positive(
        OrcConf.STRIPE_SIZE.getLong(conf),
        OrcConf.STRIPE_SIZE.getDefaultValue.asInstanceOf[Long]))
    val stride = math.max(MinStride, units.pageRows)
    units.copy(pageRows = stride, rowGroupRows = math.max(stride, units.rowGroupRows))
  }

  private def of(
      rows: Double,
      bytesPerRow: Double,
      maxPageRows: Int,
      maxRowGroupBytes: Long): FileUnits = {
    val pages = powerOfTwo(rows / maxPageRows)
    val bytes = rows * bytesPerRow
    val maxGroups = math.max(1.0, bytes / MinRowGroupBytes)
    val groups = math.max(
      powerOfTwo(bytes / maxRowGroupBytes),
      math.min(pages, Iterator(MaxRowGroups, 2, 1).find(_ <= maxGroups).get))
    val pageRows = math.max(1, math.min(maxPageRows, math.ceil(rows / pages * Slack).toInt))
    FileUnits(
      pageRows,
      math.max(pageRows, math.min(Int.MaxValue, math.ceil(rows / groups * Slack).toLong).toInt),
      math.max(MinRowGroupBytes, math.min(maxRowGroupBytes, (bytes / groups * 2).toLong)),
      maxPageRows)
  }

  /** The least power of two that is not below `x`, and not below 1. */
  private def powerOfTwo(x: Double): Int = {
    var p = 1
    while (p < x && p < MaxUnits) p *= 2
    p
  }
}
