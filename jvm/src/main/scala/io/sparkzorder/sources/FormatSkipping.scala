// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import org.apache.parquet.io.api.Binary

import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.index._
import io.sparkzorder.skipping.predicate.FileBounds
import io.sparkzorder.table.stats.{ColumnRange, ColumnStats, FileRange}
import io.sparkzorder.util.WeightedCache

/** Caches the bounds of files for each state of a table, a version or snapshot. All sessions share the cache. */
private[sources] object FormatSkipping {
  private val cache = new WeightedCache[AnyRef, FileBounds](_.bytes)

  /**
   * The bounds of some columns. If the cache lacks one of the columns, all of these columns and all columns that
   * were loaded before are loaded anew.
   *
   * @param state identifies one state of one table
   * @param limit the bytes that all bounds in the cache may take
   */
  def bounds(state: AnyRef, columns: Set[String], limit: Long)(
      load: Set[String] => FileBounds): FileBounds = {
    val before = cache.get(state)
    before.filter(b => columns.subsetOf(b.columns)).getOrElse {
      val wanted = columns ++ before.fold(Set.empty[String])(_.columns)
      val loaded = load(wanted)
      cache.put(state, loaded, limit)
      loaded
    }
  }
}

/** Converts the statistics that a format keeps of the columns of a file into entries of a skipping index. */
private[sources] object FormatEntries {

  /**
   * @param path the name parts of the column
   * @param rows the number of rows of the file
   */
  def leaf(path: Seq[String], dataType: DataType, info: FileColumnInfo, rows: Long): LeafEntry = {
    val column = IndexedColumn(path, LeafType.ofValues(dataType))
    LeafEntry(column, stats(info, column.leafType, rows))
  }

  private def stats(info: FileColumnInfo, t: LeafType, rows: Long): ColumnStats =
    info.range match {
      case ColumnRange.Empty => ColumnStats.onlyNulls(rows)
      case ColumnRange.Unknown => ColumnStats.unknown
      case FileRange(min, max) =>
        IndexValue.bounds(stored(min), stored(max), t).fold(ColumnStats.unknown) {
          case (a, b) => ColumnStats(-1L, a, b, known = true)
        }
    }

  /** Converts a Catalyst value to the form that footers of Parquet have. */
  private def stored(value: Any): Any = value match {
    case s: UTF8String => Binary.fromConstantByteArray(s.getBytes)
    case d: Decimal =>
      Binary.fromConstantByteArray(d.toJavaBigDecimal.unscaledValue.toByteArray)
    case b: Array[Byte] => Binary.fromConstantByteArray(b)
    case other => other
  }
}
