// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.util.{Collections, Map => JMap}

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
    override protected def getWriteSupport(conf: Configuration): WriteSupport[Integer] = {
      val _ = conf
      new IndexWriteSupport(content, Collections.singletonMap(IndexFormat.HeaderKey, header))
    }
  }
}

/**
 * Writes one row for each data file of `content`. A record is the data file's position in
 * `content`.
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

  override def init(conf: Configuration): WriteContext = {
    val _ = conf
    new WriteContext(schema, keyValues)
  }

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
    case (LongStats(longs), FloatLeaf) => out.addFloat(StoredBound.double(longs(i)).toFloat)
    case (LongStats(longs), DoubleLeaf) => out.addDouble(StoredBound.double(longs(i)))
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
 * Converts bounds. In memory a bound is a long or a byte string whose order is that of the values.
 * In the index file a bound is the plain value.
 */
private[index] object StoredBound {

  /** The DOUBLE that was converted to the long `ordered`, which has the order of the doubles. */
  def double(ordered: Long): Double =
    java.lang.Double.longBitsToDouble(ordered ^ ((ordered >> 63) & Long.MaxValue))

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
