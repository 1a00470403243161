// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.util.{Collections, Map => JMap, UUID}

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.column.ParquetProperties.WriterVersion
import org.apache.parquet.hadoop.ParquetWriter
import org.apache.parquet.hadoop.api.WriteSupport
import org.apache.parquet.hadoop.api.WriteSupport.WriteContext
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.hadoop.util.HadoopOutputFile
import org.apache.parquet.io.OutputFile
import org.apache.parquet.io.api.{Binary, RecordConsumer}
import org.apache.parquet.schema.{GroupType, LogicalTypeAnnotation, MessageType, Type, Types}
import org.apache.parquet.schema.LogicalTypeAnnotation.TimeUnit
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._
import org.apache.parquet.schema.Type.Repetition

import io.sparkzorder.bits.OrderedLongs
import io.sparkzorder.util.Json

/**
 * A column in the header of an index. Its position in the list of columns is the position of its
 * group in `bounds`.
 */
private[sparkzorder] final case class HeaderColumn(path: Seq[String], kind: String)

/**
 * An earlier file of an index, which has further entries of a generation. `id` tells the file from a file of the
 * same name that was written after a DROP.
 *
 * @param name of the file, in the same directory
 * @param id the id in the file's header
 * @param files number of its entries
 */
private[sparkzorder] final case class HeaderPart(name: String, id: String, files: Int)

/**
 * A part of an index of values that a generation names.
 *
 * @param name of its directory, in the directory of the index
 * @param domain text of the [[io.sparkzorder.index.values.ValueDomain]] that says which values are equal
 * @param files the number of data files all of whose values the part has
 * @param headBytes the length of the head of the part, see [[io.sparkzorder.index.values.ValuesPart]]
 * @param bytes the size of all files of the part
 * @param pairs the number of pairs of a distinct value and a data file that has the value
 * @param distinct the number of distinct values
 */
private[sparkzorder] final case class HeaderValuesPart(
    name: String,
    column: String,
    domain: String,
    files: Int,
    headBytes: Int,
    bytes: Long,
    pairs: Long,
    distinct: Long) {

  def isOf(name: String): Boolean = LeafColumns.lower(column) == LeafColumns.lower(name)
}

/**
 * The columns whose values are indexed, and the parts that hold these values.
 *
 * @param columns as the user named them
 */
private[sparkzorder] final case class HeaderValues(
    columns: Seq[String],
    parts: Seq[HeaderValuesPart] = Nil) {
  def of(column: String): Seq[HeaderValuesPart] = parts.filter(_.isOf(column))
}

private[sparkzorder] object HeaderValues {

  /** The columns without repeats; the case of names is ignored. None if there is no column. */
  def ofColumns(names: Seq[String]): Option[HeaderValues] = {
    val columns = names.foldLeft(Seq.empty[String])((found, name) =>
      if (found.exists(LeafColumns.lower(_) == LeafColumns.lower(name))) found else found :+ name)
    Some(HeaderValues(columns)).filter(_.columns.nonEmpty)
  }
}

/**
 * The header of an index: JSON in the key-values of its footer.
 *
 * @param version version of the format
 * @param id random id of this index file
 * @param chosen columns that the user named; None if the first columns of each file are indexed
 * @param columns the indexed columns
 * @param shapes the distinct lists of leaf columns of the files; the field `schema` of a row is a
 *   position in `shapes`
 * @param int96 `read` if the values of INT96 columns are read for their bounds, else None
 * @param parts the earlier files with further entries of the generation, the oldest first; None if
 *   this file holds all entries
 * @param values the index of values; None if there is none
 */
private[sparkzorder] final case class IndexHeader(
    version: Int,
    id: String,
    chosen: Option[Seq[Seq[String]]],
    columns: Seq[HeaderColumn],
    shapes: Seq[Seq[Seq[String]]],
    int96: Option[String] = None,
    parts: Option[Seq[HeaderPart]] = None,
    values: Option[HeaderValues] = None) {

  def readsInt96: Boolean = int96.contains(IndexHeader.Read)

  def indexed: IndexedSeq[IndexedColumn] =
    columns.map(c => IndexedColumn(c.path, LeafType.parse(c.kind))).toIndexedSeq
}

private[sparkzorder] object IndexHeader {
  private[index] val Read = "read"
}

/** The index as a Parquet file with one row for each data file; see `docs/skipping-index.md`. */
private[sparkzorder] object IndexFormat {

  /** The version of a file that holds all entries. */
  val Version = 2

  /** The version of a file with [[IndexHeader.parts]]. An index of a newer version is not read. */
  val PartsVersion = 3
  val HeaderKey = "spark.zorder.index"

  private[index] val Bounds = "bounds"

  // Only this number of shapes is stored. The index does not know which columns a file with another shape lacks. So
  // a query by a column that this file lacks reads the file.
  private[index] val MaxShapes = 1000

  def header(
      content: IndexContent,
      chosen: Option[Seq[Seq[String]]],
      readsInt96: Boolean = false,
      parts: Seq[HeaderPart] = Nil,
      values: Option[HeaderValues] = None): IndexHeader = IndexHeader(
    if (parts.isEmpty) Version else PartsVersion,
    UUID.randomUUID().toString,
    chosen,
    content.columns.map(c => HeaderColumn(c._1.path, c._1.leafType.text)),
    content.shapes.take(MaxShapes).map(_.leaves),
    if (readsInt96) Some(IndexHeader.Read) else None,
    if (parts.isEmpty) None else Some(parts),
    values)

  def toJson(header: IndexHeader): String = Json.mapper.writeValueAsString(header)

  /** @throws java.io.IOException when the text is not a header of a known version */
  def parse(json: String): IndexHeader = {
    if (json == null) throw new java.io.IOException("it has no header, so it is not an index")
    val version = Json.mapper.readTree(json).path("version").asInt(-1)
    if (version < Version || version > PartsVersion) throw new UnknownIndexVersionException(version)
    Json.mapper.readValue(json, classOf[IndexHeader])
  }

  /** The Parquet schema of an index with these columns. */
  def schema(columns: Seq[IndexedColumn]): MessageType = {
    val file: Seq[Type] = Seq(
      Types.required(BINARY).as(LogicalTypeAnnotation.stringType()).named("path"),
      Types.required(INT64).named("length"),
      Types.required(INT64)
        .as(LogicalTypeAnnotation.timestampType(true, TimeUnit.MILLIS))
        .named("modified"),
      Types.required(INT64).named("rows"),
      Types.optional(INT32).named("schema"))
    val groups = columns.zip(names(columns)).map { case (c, name) => group(c.leafType, name) }
    val bounds =
      if (groups.isEmpty) Nil else Seq(new GroupType(Repetition.REQUIRED, Bounds, groups: _*))
    new MessageType("zorder_index", (file ++ bounds): _*)
  }

  private def group(t: LeafType, name: String): GroupType = {
    val nulls: Type = Types.optional(INT64).named("nulls")
    val ends = if (t.hasBounds) Seq(bound(t, "min"), bound(t, "max")) else Nil
    val nan = if (t.isFloating) Seq(Types.optional(BOOLEAN).named("may_hold_nan")) else Nil
    new GroupType(Repetition.REQUIRED, name, (nulls +: (ends ++ nan)): _*)
  }

  private def bound(t: LeafType, name: String): Type = t match {
    case BooleanLeaf => Types.optional(BOOLEAN).named(name)
    case IntegerLeaf(64) => Types.optional(INT64).named(name)
    case IntegerLeaf(bits) =>
      Types.optional(INT32).as(LogicalTypeAnnotation.intType(bits, true)).named(name)
    case FloatLeaf => Types.optional(FLOAT).named(name)
    case DoubleLeaf => Types.optional(DOUBLE).named(name)
    case DateLeaf => Types.optional(INT32).as(LogicalTypeAnnotation.dateType()).named(name)
    case TimestampLeaf(millis, utc) =>
      val unit = if (millis) TimeUnit.MILLIS else TimeUnit.MICROS
      Types.optional(INT64).as(LogicalTypeAnnotation.timestampType(utc, unit)).named(name)
    case d @ DecimalLeaf(precision, scale) if d.inLongs =>
      Types.optional(if (d.inInts) INT32 else INT64).as(LogicalTypeAnnotation.decimalType(
        scale,
        precision)).named(name)
    case DecimalLeaf(precision, scale) =>
      Types.optional(FIXED_LEN_BYTE_ARRAY).length(16)
        .as(LogicalTypeAnnotation.decimalType(scale, precision)).named(name)
    case StringLeaf => Types.optional(BINARY).as(LogicalTypeAnnotation.stringType()).named(name)
    case _ => Types.optional(BINARY).named(name)
  }

  /**
   * Names of the groups: the names of the columns. If the names of several columns are equal or differ in case
   * alone, a number is added to all but the first.
   */
  private def names(columns: Seq[IndexedColumn]): Seq[String] = {
    val used = mutable.HashSet.empty[String]
    columns.map { c =>
      val candidates = Iterator(c.name) ++ Iterator.from(2).map(n => s"${c.name}#$n")
      candidates.find(n => used.add(LeafColumns.fold(n))).get
    }
  }
}

/**
 * The format version of the index is unknown: the index was written by a newer release of spark-zorder, or by a release
 * that is older than version 2 of the format.
 */
private[sparkzorder] final class UnknownIndexVersionException(version: Int)
    extends java.io.IOException(
      s"its format version is $version, and the known versions are ${IndexFormat.Version} and " +
        IndexFormat.PartsVersion)

/** Writes an index file with parquet-hadoop's own writer. */
private[index] object IndexWriter {

  /** @param path where no file exists yet */
  def write(
      content: IndexContent,
      header: IndexHeader,
      path: Path,
      conf: Configuration): Unit = {
    val file = HadoopOutputFile.fromPath(path, conf)
    val writer = new Builder(file, content, IndexFormat.toJson(header))
      .withConf(conf)
      .withCompressionCodec(CompressionCodecName.ZSTD)
      .withWriterVersion(WriterVersion.PARQUET_1_0)
      .withDictionaryEncoding("path", false)
      .withPageWriteChecksumEnabled(true)
      .build()
    try content.files.lengths.indices.foreach(i => writer.write(Int.box(i)))
    finally writer.close()
  }

  private final class Builder(file: OutputFile, content: IndexContent, header: String)
      extends ParquetWriter.Builder[Integer, Builder](file) {
    override protected def self(): Builder = this
    override protected def getWriteSupport(conf: Configuration): WriteSupport[Integer] =
      new IndexWriteSupport(content, Collections.singletonMap(IndexFormat.HeaderKey, header))
  }
}

/**
 * Writes one row for each data file of `content`. The writer passes the position of the data file in
 * `content` as the record.
 */
private final class IndexWriteSupport(content: IndexContent, keyValues: JMap[String, String])
    extends WriteSupport[Integer] {
  private var out: RecordConsumer = _
  private val names = content.columns.map(_._1)
  private val schema = IndexFormat.schema(names)
  private val groups =
    if (names.isEmpty) IndexedSeq.empty
    else {
      val bounds = schema.getType(Array(IndexFormat.Bounds): _*).asGroupType()
      names.indices.map(bounds.getFieldName(_))
    }
  private val values = content.columns.map(_._2)

  override def init(conf: Configuration): WriteContext = new WriteContext(schema, keyValues)

  override def prepareForWrite(consumer: RecordConsumer): Unit = out = consumer

  override def write(file: Integer): Unit = {
    val i = file.intValue
    val f = content.files
    out.startMessage()
    field("path", 0)(out.addBinary(Binary.fromConstantByteArray(f.paths(i))))
    field("length", 1)(out.addLong(f.lengths(i)))
    field("modified", 2)(out.addLong(f.modified(i)))
    field("rows", 3)(out.addLong(f.rows(i)))
    val shape = f.shapeOf(i)
    if (shape >= 0 && shape < IndexFormat.MaxShapes) field("schema", 4)(out.addInteger(shape))
    if (groups.nonEmpty) {
      field(IndexFormat.Bounds, 5) {
        out.startGroup()
        groups.indices.foreach { c =>
          field(groups(c), c) {
            out.startGroup()
            column(names(c).leafType, values(c), i)
            out.endGroup()
          }
        }
        out.endGroup()
      }
    }
    out.endMessage()
  }

  private def column(t: LeafType, v: ColumnValues, i: Int): Unit = {
    if (v.nulls(i) >= 0) field("nulls", 0)(out.addLong(v.nulls(i)))
    if ((v.flags(i) & ColumnValues.Bounded) != 0) {
      field("min", 1)(bound(t, v.min, i))
      field("max", 2)(bound(t, v.max, i))
      if (t.isFloating) {
        field("may_hold_nan", 3)(out.addBoolean((v.flags(i) & ColumnValues.NoNaN) == 0))
      }
    }
  }

  private def bound(t: LeafType, values: StatValues, i: Int): Unit = (values, t) match {
    case (LongStats(longs), BooleanLeaf) => out.addBoolean(longs(i) != 0)
    case (LongStats(longs), FloatLeaf) => out.addFloat(OrderedLongs.toDouble(longs(i)).toFloat)
    case (LongStats(longs), DoubleLeaf) => out.addDouble(OrderedLongs.toDouble(longs(i)))
    case (LongStats(longs), _) if t.inInts => out.addInteger(longs(i).toInt)
    case (LongStats(longs), _) => out.addLong(longs(i))
    case (ByteStats(bytes), _: DecimalLeaf) =>
      out.addBinary(Binary.fromConstantByteArray(StoredBound.flipped(bytes(i))))
    case (ByteStats(bytes), _) => out.addBinary(Binary.fromConstantByteArray(bytes(i)))
    case (NoStats, _) => throw new IllegalStateException(s"bounds of a column of type ${t.text}")
  }

  private def field(name: String, position: Int)(body: => Unit): Unit = {
    out.startField(name, position)
    body
    out.endField(name, position)
  }
}

/**
 * Converts bounds between their two forms. In memory, a bound is a long or a byte string whose order is that of the
 * values. In the index file, a bound is the plain value.
 */
private[index] object StoredBound {

  /**
   * Converts two's complement into bytes whose unsigned order is the order of the numbers, and
   * back.
   */
  def flipped(bytes: Array[Byte]): Array[Byte] = {
    val out = bytes.clone()
    out(0) = (out(0) ^ 0x80).toByte
    out
  }
}
