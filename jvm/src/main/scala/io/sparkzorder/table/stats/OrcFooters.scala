// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.stats

import java.io.IOException
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util.Locale
import java.util.concurrent.ConcurrentHashMap

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.orc.{CompressionKind, OrcFile, Reader, TypeDescription}

import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.table.{DataFile, OrcFiles, OrcSchema}
import io.sparkzorder.util.Interner

/** Reads footers of ORC files with ORC's own reader, and describes them in Parquet's types. */
private[sparkzorder] final class OrcFooters(conf: Configuration) extends (DataFile => ScannedFile) {
  private val schemas = new ConcurrentHashMap[TypeDescription, OrcSchema]
  private val sharing = new Interner

  override def apply(file: DataFile): ScannedFile = OrcFooters.withFile(file, conf) { reader =>
    val schema =
      schemas.computeIfAbsent(reader.getSchema, t => OrcSchema.of(t, file.path.toString))
    val rows = reader.getNumberOfRows
    if (schema.spark.isEmpty && rows > 0) throw new IOException(s"it has $rows rows of no columns")
    val stats = new OrcColumnStats(reader.getWriterVersion)
    val statistics = reader.getStatistics
    ScannedFile(
      file,
      rows,
      // the raw size is an estimate by the writer, and some writers do not make it
      math.max(file.length, reader.getRawDataSize),
      schema.parquet,
      sharing(keyValues(reader)),
      Seq(OrcFooters.codec(reader.getCompressionKind)),
      schema.leaves.map(stats.of(statistics, _, rows)).toArray,
      sharing(Option(reader.getSoftwareVersion).getOrElse("")),
      Some(schema))
  }

  private def keyValues(reader: Reader): Map[String, String] =
    reader.getMetadataKeys.asScala
      .map(k => k -> ISO_8859_1.decode(reader.getMetadataValue(k)).toString).toMap
}

private[sparkzorder] object OrcFooters {

  /** The name of a codec in Spark's options. */
  def codec(kind: CompressionKind): String = kind.name.toLowerCase(Locale.ROOT)

  /**
   * Opens one file, calls `body` with its reader, and closes the file.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_FILE_UNREADABLE or ZORDER_FILE_ENCRYPTED,
   *   naming the file
   */
  def withFile[T](file: DataFile, conf: Configuration)(body: Reader => T): T =
    try {
      // ORC would read an empty file as a file without rows
      if (file.length == 0) throw new IOException("it has no bytes")
      val options = OrcFile.readerOptions(conf)
        .filesystem(file.path.getFileSystem(conf))
        .maxLength(file.length)
      val reader = OrcFile.createReader(file.path, options)
      try {
        if (reader.getColumnEncryptionKeys.nonEmpty) {
          throw ZOrderErrors.fileEncrypted(file.path.toString)
        }
        body(reader)
      } finally reader.close()
    } catch {
      case e: ZOrderException => throw e
      // the footer is compressed, too
      case MissingClass(e) => throw ZOrderErrors.codecNotAvailable(
          file.path.toString,
          OrcFiles.codecs.filter(OrcFiles.missing(_, conf).isDefined).mkString(" or "),
          e.toString)
      case NonFatal(e) =>
        throw ZOrderErrors.fileUnreadable(file.path.toString, e, OrcFiles.title)
    }

  private object MissingClass {
    def unapply(e: Throwable): Option[LinkageError] =
      Iterator.iterate(e)(_.getCause).takeWhile(_ != null).collectFirst { case l: LinkageError =>
        l
      }
  }
}
