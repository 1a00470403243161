// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.scans

import org.apache.spark.sql.types.StructType

import io.sparkzorder.index._
import io.sparkzorder.ordering.OrderedType
import io.sparkzorder.sources.{FormatEntries, FormatFile, SnapshotFormat}
import io.sparkzorder.table.OrderingColumn

/**
 * What a format knows of some columns of a table's files, in the form of an index. It serves to tell
 * where among the rows the values of a filter lie, and prunes nothing.
 *
 * @param columns names of the columns
 * @param content of a sample of the files, whose lengths stand for those of all files
 */
private[scans] final class KnownFiles private (
    val columns: Set[String],
    val content: IndexContent) {

  /** Bytes of all files of the table. */
  def bytes: Double = content.files.lengths.map(_.toDouble).sum
}

private[scans] object KnownFiles {
  // so many files tell a distribution well enough
  private val MaxFiles = 2048

  /** @param names of the columns; those of which the format has no bounds are left out */
  def of(
      format: SnapshotFormat,
      schema: StructType,
      partitionSchema: StructType,
      names: Set[String],
      sameName: (String, String) => Boolean): KnownFiles = {
    val columns = names.toSeq.sorted.flatMap(n => schema.find(f => sameName(f.name, n)))
      .filterNot(f => partitionSchema.exists(_.name == f.name))
      .filter(f =>
        OrderedType.of(f.dataType).isDefined && LeafType.ofValues(f.dataType) != OtherLeaf)
      .map(f => OrderingColumn(Seq(f.name), f.dataType)).filter(format.hasBounds)
    val files = format.snapshot(columns, None).files
    // rounded up
    val step = math.max(1, (files.size + MaxFiles - 1) / MaxFiles)
    val some = files.indices.by(step).map(files(_))
    val scale = files.map(_.bytes).sum.toDouble / math.max(1L, some.map(_.bytes).sum)
    val entries = some.zipWithIndex.map { case (f, i) => entry(f, i, columns, scale) }
    new KnownFiles(names, IndexContent.of(entries))
  }

  private def entry(
      file: FormatFile,
      number: Int,
      columns: Seq[OrderingColumn],
      scale: Double): FileEntry = {
    val leaves = columns.zip(file.columns).map { case (c, info) =>
      FormatEntries.leaf(c.parts, c.dataType, info, file.records)
    }
    FileEntry(
      number.toString,
      (file.bytes * scale).toLong,
      0L,
      file.records,
      LeafColumns(columns.map(_.parts)),
      leaves)
  }
}
