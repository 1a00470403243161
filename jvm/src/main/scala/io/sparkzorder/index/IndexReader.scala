// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.column.ColumnReader
import org.apache.parquet.column.impl.ColumnReadStoreImpl
import org.apache.parquet.column.page.PageReadStore
import org.apache.parquet.example.DummyRecordConverter
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.{GroupType, MessageType, Type}

import io.sparkzorder.bits.OrderedLongs

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
      if (part.header.id != p.id || part.size != p.files) {
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
      columns = reader.indexed.map(c => HeaderColumn(c.path, c.leafType.text)),
      shapes = reader.shapes.map(_.leaves))

  private[index] def slots(): PathSlots = reader.slots()

  /** All entries, also those that are not live. Entry `i` is row `i` of each [[column]]. */
  def files(): FileTable = slots().table

  /** @param number the position of the column in `header.indexed` */
  def column(number: Int): ColumnValues = reader.column(number)

  /** The live entries, with all columns. */
  def content(): IndexContent = {
    val all = reader.all()
    IndexContent.select(all, all.files.isLive)
  }

  def bytes: Long = reader.parts.map(_.file.getLen).sum

  /** Names of the earlier files that the generation needs. */
  private[index] def partNames: Seq[String] = own.header.parts.getOrElse(Nil).map(_.name)
}

/**
 * Reads one file of an index column by column, without assembling rows.
 *
 * @param file a Parquet file that holds a part of the index, or all of it
 */
private[index] final class PartReader(val file: FileStatus, conf: Configuration) {
  private val options =
    HadoopReadOptions.builder(conf).usePageChecksumVerification(true).build()

  private lazy val loaded: (IndexHeader, String, Int) = open { reader =>
    val json = headerOf(reader)
    val read = IndexFormat.parse(json)
    if (reader.getFooter.getFileMetaData.getSchema != schemaOf(read)) {
      throw new java.io.IOException("its columns are not those of its header")
    }
    (read, json, Math.toIntExact(reader.getRecordCount))
  }

  /** @throws java.io.IOException if the file cannot be read, or is not an index of a known version */
  def header: IndexHeader = loaded._1
  def size: Int = loaded._3

  private def headerOf(reader: ParquetFileReader): String =
    reader.getFooter.getFileMetaData.getKeyValueMetaData.get(IndexFormat.HeaderKey)

  private def schemaOf(header: IndexHeader): MessageType = IndexFormat.schema(header.indexed)
  private lazy val schema = schemaOf(header)

  def files(): FileTable = {
    var paths: ByteValues.Builder = null
    val numbers = Array("length", "modified", "rows").map(new LongSink(_, -1L))
    val shapes = new LongSink("schema", -1L)
    val count = read(schema.getFields.asScala.take(5).map(f => Seq(f.getName)).toSeq) {
      (name, chunk) =>
        if (name.last == "path") {
          if (paths == null) paths = new ByteValues.Builder(chunk.total)
          chunk.foreach((_, _) => paths.add(chunk.column.getBinary.getBytesUnsafe))
        } else (numbers :+ shapes).find(_.name == name.last).get.take(chunk)
    }
    FileTable(
      Option(paths).getOrElse(new ByteValues.Builder(0)).result(),
      numbers(0).result(count),
      numbers(1).result(count),
      numbers(2).result(count),
      shapes.result(count).map(_.toInt))
  }

  /** @param number the position of the column in `header.indexed` */
  def column(number: Int): ColumnValues = {
    val t = header.indexed(number).leafType
    val group =
      schema.getType(Array(IndexFormat.Bounds): _*).asGroupType().getType(number).asGroupType()
    val parts = group.getFields.asScala.map(f => Seq(IndexFormat.Bounds, group.getName, f.getName))
    val nulls = new LongSink("nulls", -1L)
    val ends = Seq("min", "max").map(new BoundSink(_, t))
    var flags = Array.emptyByteArray
    val count = read(parts.toSeq) { (name, chunk) =>
      if (flags.length == 0) flags = new Array[Byte](chunk.total)
      name.last match {
        case "nulls" => nulls.take(chunk)
        case "may_hold_nan" =>
          chunk.foreach { (i, defined) =>
            if (defined && !chunk.column.getBoolean) {
              flags(i) = (flags(i) | ColumnValues.NoNaN).toByte
            }
          }
        case end =>
          ends.find(_.name == end).get.take(chunk) { i =>
            if (end == "max") flags(i) = (flags(i) | ColumnValues.Bounded).toByte
          }
      }
    }
    ColumnValues(nulls.result(count), flags, ends(0).result(count), ends(1).result(count))
  }

  def shapes: IndexedSeq[LeafColumns] = header.shapes.map(LeafColumns(_)).toIndexedSeq

  private def open[T](body: ParquetFileReader => T): T = {
    val reader = ParquetFileReader.open(HadoopInputFile.fromStatus(file, conf), options)
    try body(reader)
    finally reader.close()
  }

  /**
   * For each row group, calls `body` with the path and the values of each of the columns.
   *
   * @param paths the leaf columns to read
   * @return the number of rows of the index
   */
  private def read(paths: Seq[Seq[String]])(
      body: (Seq[String], ColumnChunk) => Unit): Int = open { reader =>
    // The file is opened once more, and another file may have its name by now. The header of each index file has
    // an id of its own, so equal headers mean that the file is the same.
    if (headerOf(reader) != loaded._2) {
      throw new java.io.IOException("another index has taken its place while it was read")
    }
    ColumnChunk.readAll(reader, paths)(body)
    Math.toIntExact(reader.getRecordCount)
  }

  private final class LongSink(val name: String, missing: Long) {
    private var out = Array.emptyLongArray

    def take(chunk: ColumnChunk): Unit = {
      if (out.length == 0) out = Array.fill(chunk.total)(missing)
      val column = chunk.column
      val isInt = name == "schema"
      chunk.foreach { (i, defined) =>
        if (defined) out(i) = if (isInt) column.getInteger.toLong else column.getLong
      }
    }

    def result(count: Int): Array[Long] = {
      if (out.length != count) throw new java.io.IOException(s"the column $name is not complete")
      out
    }
  }

  private final class BoundSink(val name: String, t: LeafType) {
    private var longs = Array.emptyLongArray
    private var bytes: ByteValues.Builder = _

    def take(chunk: ColumnChunk)(bounded: Int => Unit): Unit = {
      if (t.inLongs && longs.length == 0) longs = new Array[Long](chunk.total)
      if (!t.inLongs && bytes == null) bytes = new ByteValues.Builder(chunk.total)
      chunk.foreach { (i, defined) =>
        if (t.inLongs) { if (defined) longs(i) = long(chunk.column) }
        else bytes.add(if (defined) binary(chunk.column) else Array.emptyByteArray)
        if (defined) bounded(i)
      }
    }

    private def long(column: ColumnReader): Long = t match {
      case BooleanLeaf => OrderedLongs.ofBoolean(column.getBoolean)
      case FloatLeaf => OrderedLongs.ofDouble(column.getFloat.toDouble)
      case DoubleLeaf => OrderedLongs.ofDouble(column.getDouble)
      case _ if t.inInts => column.getInteger.toLong
      case _ => column.getLong
    }

    private def binary(column: ColumnReader): Array[Byte] = {
      val value = column.getBinary.getBytes
      if (t.isInstanceOf[DecimalLeaf]) StoredBound.flipped(value) else value
    }

    def result(count: Int): StatValues =
      if (!t.hasBounds) NoStats
      else if (t.inLongs) LongStats(if (count == 0) Array.emptyLongArray else longs)
      else ByteStats(Option(bytes).getOrElse(new ByteValues.Builder(0)).result())
  }
}

/**
 * The values of one column in one row group. The column is not inside a list or map, so it has one value or NULL in
 * each row.
 *
 * @param from the number of rows of the file before this row group
 * @param rows the number of rows of this row group
 * @param total the number of rows of the file
 */
private final class ColumnChunk(val column: ColumnReader, from: Int, rows: Int, val total: Int) {

  /** @param body gets the position of a row in the file, and whether the column has a value in the row */
  def foreach(body: (Int, Boolean) => Unit): Unit = {
    val required = column.getDescriptor.getMaxDefinitionLevel
    var i = 0
    while (i < rows) {
      body(from + i, column.getCurrentDefinitionLevel == required)
      column.consume()
      i += 1
    }
  }
}

private object ColumnChunk {

  /** For each row group, calls `body` with the path and the values of each of the columns. */
  def readAll(reader: ParquetFileReader, paths: Seq[Seq[String]])(
      body: (Seq[String], ColumnChunk) => Unit): Unit = {
    val total = Math.toIntExact(reader.getRecordCount)
    var from = 0
    ColumnsOfFile.rowGroups(reader, paths).foreach { case (pages, columns) =>
      val rows = pages.getRowCount.toInt
      columns.foreach(c =>
        body(c.getDescriptor.getPath.toSeq, new ColumnChunk(c, from, rows, total)))
      from += rows
    }
  }
}

/** Reads leaf columns without assembling rows. */
private[sparkzorder] object ColumnsOfFile {

  /**
   * The pages of each row group, and a reader of each of the columns. A row group is read when the iterator gets to it.
   */
  def rowGroups(
      reader: ParquetFileReader,
      paths: Seq[Seq[String]]): Iterator[(PageReadStore, Seq[ColumnReader])] = {
    val meta = reader.getFooter.getFileMetaData
    val wanted = project(meta.getSchema, paths)
    reader.setRequestedSchema(wanted)
    Iterator.continually(reader.readNextRowGroup()).takeWhile(_ != null).map { pages =>
      val store =
        new ColumnReadStoreImpl(
          pages,
          new DummyRecordConverter(wanted).getRootConverter,
          wanted,
          meta.getCreatedBy)
      (pages, wanted.getColumns.asScala.toSeq.map(store.getColumnReader))
    }
  }

  /** The schema, reduced to some leaf columns. */
  private def project(schema: MessageType, leaves: Seq[Seq[String]]): MessageType = {
    def reduced(group: GroupType, at: Seq[String]): Seq[Type] =
      group.getFields.asScala.toSeq.flatMap { f =>
        val path = at :+ f.getName
        if (f.isPrimitive) { if (leaves.contains(path)) Some(f) else None }
        else {
          val inner = reduced(f.asGroupType(), path)
          if (inner.isEmpty) None else Some(f.asGroupType().withNewFields(inner: _*))
        }
      }
    new MessageType(schema.getName, reduced(schema, Nil): _*)
  }
}
