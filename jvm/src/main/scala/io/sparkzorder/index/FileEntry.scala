// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import io.sparkzorder.table.stats.ColumnStats

/**
 * The statistics of one leaf column in one file.
 *
 * @param stats statistics whose bounds are longs or byte arrays, as [[IndexValue]] converts them
 */
private[sparkzorder] final case class LeafEntry(column: IndexedColumn, stats: ColumnStats)

/**
 * The entry of one data file in the index.
 *
 * @param path path relative to the table's root, in the spelling of the directory listing
 * @param modified modification time in milliseconds
 */
private[sparkzorder] final case class FileEntry(
    path: String,
    length: Long,
    modified: Long,
    rows: Long,
    shape: LeafColumns,
    leaves: Seq[LeafEntry])

/** Collects the statistics of one column in many files. */
private[index] final class ColumnBuilder(leafType: LeafType, expected: Int) {
  private val nulls = Array.newBuilder[Long]
  private val flags = Array.newBuilder[Byte]
  private val longs =
    if (leafType.inLongs) Some((Array.newBuilder[Long], Array.newBuilder[Long])) else None
  private val bytes =
    if (leafType.inLongs || !leafType.hasBounds) None
    else Some((new ByteValues.Builder(expected), new ByteValues.Builder(expected)))
  nulls.sizeHint(expected)
  flags.sizeHint(expected)

  /**
   * Adds the statistics of the next file, `ColumnStats.unknown` if the file has none for this
   * column.
   */
  def add(stats: ColumnStats): Unit = {
    val bounds = stats.bounds
    add(stats.nulls, bounds.isDefined, stats.noNaN)
    longs.foreach { case (min, max) =>
      min += bounds.map(_._1.asInstanceOf[Long]).getOrElse(0L)
      max += bounds.map(_._2.asInstanceOf[Long]).getOrElse(0L)
    }
    bytes.foreach { case (min, max) =>
      min.add(bounds.map(_._1.asInstanceOf[Array[Byte]]).getOrElse(Array.emptyByteArray))
      max.add(bounds.map(_._2.asInstanceOf[Array[Byte]]).getOrElse(Array.emptyByteArray))
    }
  }

  /** Copies the statistics of file `i` from other values of the same column. */
  def copy(from: ColumnValues, i: Int): Unit = {
    nulls += from.nulls(i)
    flags += from.flags(i)
    (from.min, from.max, longs, bytes) match {
      case (LongStats(a), LongStats(b), Some((min, max)), _) =>
        min += a(i)
        max += b(i)
      case (ByteStats(a), ByteStats(b), _, Some((min, max))) =>
        min.add(a.data, a.start(i), a.ends(i) - a.start(i))
        max.add(b.data, b.start(i), b.ends(i) - b.start(i))
      case _ =>
    }
  }

  private def add(nullCount: Long, bounded: Boolean, noNaN: Boolean): Unit = {
    nulls += nullCount
    val flag = (if (bounded) ColumnValues.Bounded else 0) | (if (noNaN) ColumnValues.NoNaN else 0)
    flags += flag.toByte
  }

  def result(): ColumnValues = {
    val (min, max) = (longs, bytes) match {
      case (Some((a, b)), _) => (LongStats(a.result()), LongStats(b.result()))
      case (_, Some((a, b))) => (ByteStats(a.result()), ByteStats(b.result()))
      case _ => (NoStats, NoStats)
    }
    ColumnValues(nulls.result(), flags.result(), min, max)
  }
}
