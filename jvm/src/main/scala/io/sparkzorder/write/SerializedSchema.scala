package io.sparkzorder.write

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.util.Collections

import org.apache.parquet.ParquetReadOptions
import org.apache.parquet.format.Util
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.hadoop.metadata.{BlockMetaData, FileMetaData, ParquetMetadata}
import org.apache.parquet.schema.MessageType

/**
 * A Parquet schema that can travel to tasks, as the bytes of a footer that holds nothing else.
 * (The textual form cannot carry every column name.)
 */
private[sparkzorder] final class SerializedSchema private (bytes: Array[Byte])
    extends Serializable {
  def toMessageType: MessageType =
    // without options Parquet 1.17 takes -1 for the greatest length of a footer, and refuses it
    new ParquetMetadataConverter(ParquetReadOptions.builder().build())
      .readParquetMetadata(new ByteArrayInputStream(bytes), ParquetMetadataConverter.NO_FILTER)
      .getFileMetaData
      .getSchema
}

private[sparkzorder] object SerializedSchema {
  def apply(schema: MessageType): SerializedSchema = {
    val meta = new FileMetaData(schema, Collections.emptyMap[String, String](), "spark-zorder")
    val footer = new ParquetMetadata(meta, Collections.emptyList[BlockMetaData]())
    val out = new ByteArrayOutputStream()
    Util.writeFileMetaData(new ParquetMetadataConverter().toParquetMetadata(1, footer), out)
    new SerializedSchema(out.toByteArray)
  }
}
