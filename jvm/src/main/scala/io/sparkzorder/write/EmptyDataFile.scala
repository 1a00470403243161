// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.io.ByteArrayOutputStream
import java.util.Collections

import scala.collection.JavaConverters._

import org.apache.commons.io.IOUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.orc.{OrcFile, Reader => OrcReader}
import org.apache.parquet.bytes.BytesUtils
import org.apache.parquet.format.Util
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.hadoop.ParquetFileWriter
import org.apache.parquet.hadoop.metadata.{BlockMetaData, FileMetaData, ParquetMetadata}

import io.sparkzorder.table.{DataFormat, OrcFiles, ParquetFiles}
import io.sparkzorder.util.RawFiles

/**
 * A data file without rows: the token of a run. Other engines must be able to read the token, because during a
 * publish it lies beside the data files.
 */
private[sparkzorder] object EmptyDataFile {

  /**
   * The bytes of a file without rows, with the schema and the key-values of another file.
   *
   * @param like the other file
   * @param scratch a path in an existing directory. For ORC, a temporary file is written there and stays, because
   *   ORC's writer cannot write into memory
   */
  def bytes(like: Path, scratch: Path, format: DataFormat, conf: Configuration): Array[Byte] =
    format match {
      case ParquetFiles => parquet(like, conf)
      case OrcFiles =>
        val raw = RawFiles.writeRaw(new Configuration(conf))
        orc(scratch, like, raw)
        val in = scratch.getFileSystem(raw).open(scratch)
        try IOUtils.toByteArray(in)
        finally in.close()
    }

  /** A footer between Parquet's two magic words, as Parquet's own writer makes a file without row groups. */
  private def parquet(like: Path, conf: Configuration): Array[Byte] = {
    val of = ParquetRewriteFormat.footerOf(like, conf).getFileMetaData
    val bytes = footer(new FileMetaData(of.getSchema, of.getKeyValueMetaData, of.getCreatedBy))
    val out = new ByteArrayOutputStream()
    out.write(ParquetFileWriter.MAGIC)
    out.write(bytes)
    BytesUtils.writeIntLittleEndian(out, bytes.length)
    out.write(ParquetFileWriter.MAGIC)
    out.toByteArray
  }

  /** The bytes of a Parquet footer without row groups. */
  private[write] def footer(meta: FileMetaData): Array[Byte] = {
    val footer = new ParquetMetadata(meta, Collections.emptyList[BlockMetaData]())
    val out = new ByteArrayOutputStream()
    Util.writeFileMetaData(new ParquetMetadataConverter().toParquetMetadata(1, footer), out)
    out.toByteArray
  }

  private def orc(path: Path, like: Path, conf: Configuration): Unit = {
    val reader: OrcReader = OrcFile.createReader(like, OrcFile.readerOptions(conf))
    try {
      val writer = OrcFile.createWriter(
        path,
        OrcFile.writerOptions(conf).setSchema(reader.getSchema)
          .compress(reader.getCompressionKind).overwrite(true))
      try reader.getMetadataKeys.asScala.foreach(k =>
          writer.addUserMetadata(k, reader.getMetadataValue(k)))
      finally writer.close()
    } finally reader.close()
  }
}
