package io.sparkzorder.write

import org.apache.hadoop.conf.Configuration
import org.apache.orc.OrcConf
import org.apache.parquet.column.ParquetProperties
import org.apache.parquet.hadoop.{ParquetOutputFormat, ParquetWriter}

import org.apache.spark.sql.execution.datasources.FileFormat

/** How a rewritten file looks; each format of data files has its own. */
trait OutputSpec {

  /** Compression by Spark's short name, such as `zstd`. */
  def codec: String

  /** Spark's writer, made to write such files. */
  private[sparkzorder] def writer: FileFormat
}

/**
 * How large the row groups and pages of a file are, which are stripes and strides in ORC.
 *
 * @param pageRows rows of a page
 * @param rowGroupRows rows of a row group
 * @param rowGroupBytes bytes of a row group before compression, where this limit is reached first
 */
final case class FileUnits(pageRows: Int, rowGroupRows: Int, rowGroupBytes: Long)

object FileUnits {

  // a chunk has its own dictionary, which small row groups would repeat
  private val SmallestRowGroup: Long = 1L << 20
  private val MostRowGroups = 4
  // room for files above the mean size, so that most files have no small last row group
  private val Slack = 1.1
  // the least stride that ORC's writer accepts
  private val SmallestStride = 1000
  private val DefaultStride = 10000

  /**
   * Pages and row groups that are a half, a quarter, an eighth, ... of a file: so are the pieces in
   * which the Hilbert curve passes through it.
   *
   * @param rows of a file
   * @param bytesPerRow before compression
   * @param conf says how large a page and a row group may be, by Parquet's own settings
   */
  def of(rows: Double, bytesPerRow: Double, conf: Configuration): FileUnits = of(
    rows,
    bytesPerRow,
    largestPage = conf.getInt(
      ParquetOutputFormat.PAGE_ROW_COUNT_LIMIT,
      ParquetProperties.DEFAULT_PAGE_ROW_COUNT_LIMIT),
    largestRowGroup =
      conf.getLong(ParquetOutputFormat.BLOCK_SIZE, ParquetWriter.DEFAULT_BLOCK_SIZE.toLong))

  /** The same for strides and stripes, by ORC's own settings. */
  def ofOrc(rows: Double, bytesPerRow: Double, conf: Configuration): FileUnits = {
    val largest = OrcConf.ROW_INDEX_STRIDE.getLong(conf).min(Int.MaxValue.toLong).toInt
    val units = of(
      rows,
      bytesPerRow,
      // no strides at all is what a setting of 0 asks for
      largestPage = if (largest < SmallestStride) DefaultStride else largest,
      largestRowGroup = OrcConf.STRIPE_SIZE.getLong(conf))
    val stride = math.max(SmallestStride, units.pageRows)
    units.copy(pageRows = stride, rowGroupRows = math.max(stride, units.rowGroupRows))
  }

  private def of(
      rows: Double,
      bytesPerRow: Double,
      largestPage: Int,
      largestRowGroup: Long): FileUnits = {
    val pages = powerOfTwo(rows / largestPage)
    val bytes = rows * bytesPerRow
    val mostGroups = math.max(1.0, bytes / SmallestRowGroup)
    val groups = math.max(
      powerOfTwo(bytes / largestRowGroup),
      math.min(pages, Iterator(MostRowGroups, 2, 1).find(_ <= mostGroups).get))
    val pageRows = math.max(1, math.min(largestPage, math.ceil(rows / pages * Slack).toInt))
    FileUnits(
      pageRows,
      math.max(pageRows, math.min(Int.MaxValue, math.ceil(rows / groups * Slack).toLong).toInt),
      math.max(SmallestRowGroup, math.min(largestRowGroup, (bytes / groups * 2).toLong)))
  }

  /** The least power of two that is not below `x`, and not below 1. */
  private def powerOfTwo(x: Double): Int = {
    var p = 1
    while (p < x) p *= 2
    p
  }
}
