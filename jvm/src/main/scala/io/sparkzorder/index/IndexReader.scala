// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

/**
 * The files of an index as one sequence of entries. If two files have an entry for the same path, only the
 * entry of the later file is valid.
 *
 * @param parts the oldest first
 */
private[index] final class PartsReader(val parts: IndexedSeq[PartReader]) {
  lazy val indexed: IndexedSeq[IndexedColumn] = parts.flatMap(_.header.indexed).distinct
  lazy val shapes: IndexedSeq[LeafColumns] = parts.flatMap(_.shapes).distinct

  /** The number of entries, including entries that a later part replaces. */
  def size: Int = parts.map(_.size).sum

  /** All entries with a search by path. Entries that a later part replaces are not live. */
  def slots(): PathSlots = {
    val table =
      if (parts.size == 1) parts.head.files()
      else IndexContent.concatFiles(parts.map(p => (p.files(), p.shapes)), shapes)
    new PathSlots(table, parts.headOption.fold(0)(_.size))
  }

  /** @param number the position of the column in `indexed` */
  def column(number: Int): ColumnValues =
    if (parts.size == 1) parts.head.column(number)
    else {
      val wanted = indexed(number)
      IndexContent.concatColumn(
        wanted.leafType,
        parts.map { p =>
          val at = p.header.indexed.indexOf(wanted)
          (p.size, if (at < 0) None else Some(p.column(at)))
        })
    }

  /** All entries, including those that are not live. */
  def all(): IndexContent =
    IndexContent(slots().table, indexed.indices.map(i => indexed(i) -> column(i)), shapes)
}

/**
 * Reads a generation of an index: the earlier parts that its header names, and its own file.
 *
 * @param file the generation's own file
 */
private[sparkzorder] final class IndexReader(val file: FileStatus, conf: Configuration) {
  private val own = new PartReader(file, conf)

  private[index] lazy val reader: PartsReader = {
    val directory = file.getPath.getParent
    val earlier = own.header.parts.getOrElse(Nil).map { p =>
      val path = new Path(directory, p.name)
      val part = new PartReader(path.getFileSystem(conf).getFileStatus(path), conf)
      if (part.header.id != Some(p.id) || part.size != p.files) {
        throw new java.io.IOException(s"its part ${p.name} was replaced by a file of another index")
      }
      part
    }
    new PartsReader(earlier.toIndexedSeq :+ own)
  }

  /**
   * The header of the generation, with the columns and shapes of all parts.
   *
   * @throws java.io.IOException also if the file is not an index of a known version
   */
  lazy val header: IndexHeader =
    if (own.header.parts.isEmpty) own.header
    else own.header.copy(
      version = reader.parts.map(_.header.version).min,
      columns = reader.indexed.map(c => HeaderColumn(c.path, c.leafType.text)),
      shapes = reader.shapes.map(_.leaves))

  private[index] def slots(): PathSlots = reader.slots()

  /** All entries, including those that are not live, so that an entry has its position in [[column]]. */
  def files(): FileTable = slots().table

  /** @param number the position of the column in `header.indexed` */
  def column(number: Int): ColumnValues = reader.column(number)

  /** The live entries, with all columns. */
  def content(): IndexContent = {
    val all = reader.all()
    IndexContent.select(all, all.files.isLive)
  }

  /** Bytes on disk. */
  def bytes: Long = reader.parts.map(_.file.getLen).sum

  /** Names of the earlier files that the generation needs. */
  private[index] def partNames: Seq[String] = own.header.parts.getOrElse(Nil).map(_.name)
}
