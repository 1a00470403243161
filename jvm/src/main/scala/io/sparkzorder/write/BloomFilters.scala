// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.column.{ColumnDescriptor, ParquetProperties}
import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter
import org.apache.parquet.hadoop.ParquetOutputFormat
import org.apache.parquet.schema.MessageType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.{BOOLEAN, DOUBLE, FLOAT}

import io.sparkzorder.util.NameLookup

/**
 * The Bloom filters of new Parquet files.
 *
 * A footer tells which columns have a Bloom filter, but not for how many values and for which rate of false
 * positives the filter was made. The filters of the new files are made for as many values as a row group has
 * rows, and for Parquet's default rate of 1 %. Parquet 1.14 and later then keeps the smallest filter that is large
 * enough for the values written. Where the table has settings for its Bloom filters, these settings decide.
 *
 * @param settings the settings of Parquet's writer
 * @param columns the greatest number of columns that may have a filter
 * @param lost texts for the message of the statement, each a clause such as `the new files have no Bloom filter of a`;
 *   empty if no filter is lost
 * @param never settings that keep filters away from columns, whatever the session sets for all columns
 */
private[sparkzorder] final case class BloomFilters(
    settings: Map[String, String],
    columns: Int,
    lost: Seq[String],
    never: Map[String, String] = Map.empty) {

  def enable(conf: Configuration): Unit = {
    (settings ++ never).foreach { case (key, value) => conf.set(key, value) }
    if (settings.nonEmpty) {
      conf.setIfUnset(BloomFilters.Adaptive, "true")
      if (conf.get(ParquetOutputFormat.BLOOM_FILTER_MAX_BYTES) == null) {
        conf.setInt(BloomFilters.FittedColumns, math.max(1, columns))
      }
    }
  }
}

private[sparkzorder] object BloomFilters {
  val Prefix = "parquet.bloom.filter."

  // spelled out, because its constant exists only since Parquet 1.14
  private val Adaptive = "parquet.bloom.filter.adaptive.enabled"
  // Tells the tasks how many filters share the memory. Set only if no setting limits the size of a filter.
  private val FittedColumns = "spark.zorder.internal.bloomFilters"
  // if the largest size of a filter is less than this, Parquet makes a useless filter of 32 bytes
  private val MinBytes = 1024

  /**
   * @param schema the schema of the new files
   * @param had columns of the inputs that have a Bloom filter in some file
   * @param ofTable settings of the table that begin with [[Prefix]]
   */
  def of(
      schema: MessageType,
      had: Set[Seq[String]],
      ofTable: Map[String, String]): BloomFilters = {
    val columns = schema.getColumns.asScala.toSeq
    // files may spell a name differently
    val names = had.map(_.map(NameLookup.folded))
    val (kept, notKept) =
      columns.filter(c => names(c.getPath.toSeq.map(NameLookup.folded))).partition(canHave)
    val enabled = kept.map(c => settingOf(c) -> "true").toMap
    val lost = notKept.filterNot(c => ofTable.contains(settingOf(c))).map(nameOf)
    // Parquet puts no BOOLEAN into its filter, which would be empty. A setting for all columns gives no filter
    // to a floating-point column.
    val never = columns.filter { c =>
      val ofParquet = c.getPrimitiveType.getPrimitiveTypeName
      ofParquet == BOOLEAN || floats(ofParquet) && !ofTable.contains(settingOf(c))
    }.map(c => settingOf(c) -> "false").toMap
    val asked = enabled ++ ofTable
    val inForce = asked ++ never
    BloomFilters(
      asked,
      if (inForce.get(ParquetOutputFormat.BLOOM_FILTER_ENABLED).contains("true")) columns.size
      else inForce.count { case (k, v) => k.startsWith(settingOf("")) && v == "true" },
      if (lost.isEmpty) Nil
      else Seq(s"the new files have no Bloom filter of ${lost.mkString("`", "`, `", "`")}"),
      never)
  }

  /**
   * A filter of a floating-point column would hide -0.0 from a query for 0.0. Parquet's settings name a
   * column by its path with dots, so a name with a dot is not found.
   */
  private def canHave(column: ColumnDescriptor): Boolean =
    column.getPrimitiveType.getPrimitiveTypeName != BOOLEAN &&
      !floats(column.getPrimitiveType.getPrimitiveTypeName) &&
      !column.getPath.exists(_.contains('.'))

  private val floats = Set(FLOAT, DOUBLE)

  private def nameOf(column: ColumnDescriptor): String = column.getPath.mkString(".")

  private def settingOf(column: ColumnDescriptor): String = settingOf(nameOf(column))

  private def settingOf(column: String): String =
    s"${ParquetOutputFormat.BLOOM_FILTER_ENABLED}#$column"

  /**
   * Sets the largest size of a filter to what the values of a row group need. A writer keeps all filters in
   * memory beside the row group. So all filters together take at most a quarter of the bytes of the row group,
   * but each may take a megabyte, which is Parquet's default. That is enough: a value that is not in a dictionary
   * takes more bytes in the row group than in the filter.
   */
  def limitBytes(units: FileUnits, conf: Configuration): Unit = {
    val columns = conf.getInt(FittedColumns, 0)
    if (columns > 0) {
      val fpp = conf.getPropsWithPrefix(ParquetOutputFormat.BLOOM_FILTER_FPP + "#").values.asScala
        .map(_.toDouble).foldLeft(ParquetProperties.DEFAULT_BLOOM_FILTER_FPP)(math.min)
      val bytes = BlockSplitBloomFilter.optimalNumOfBits(units.rowGroupRows.toLong, fpp) / 8
      val needed = math.max(MinBytes, Integer.highestOneBit(math.max(1, bytes - 1)) << 1)
      val share = math.min(units.rowGroupBytes / 4 / columns, Int.MaxValue.toLong).toInt
      val most =
        math.max(ParquetProperties.DEFAULT_MAX_BLOOM_FILTER_BYTES, Integer.highestOneBit(share))
      conf.setInt(ParquetOutputFormat.BLOOM_FILTER_MAX_BYTES, math.min(needed, most))
    }
  }
}
