// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.stats

import java.io.InterruptedIOException
import java.nio.channels.ClosedByInterruptException
import java.nio.file.{AccessDeniedException, Files}
import java.util.concurrent.ConcurrentHashMap

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.commons.lang3.exception.ExceptionUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.ParquetReadOptions
import org.apache.parquet.crypto.ParquetCryptoRuntimeException
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.FileMetaData
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.MessageType

import org.apache.spark.sql.sparkzorder.SparkPrivate

import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.table.{DataFile, DataFormat, OrcFiles, OrcSchema, ParquetFiles}
import io.sparkzorder.util.{Directories, NameLookup, RawFiles}

/**
 * A data file and the part of its footer that OPTIMIZE and the skipping index need. Footers of both formats are
 * described with Parquet types. The schema of an ORC file is the schema that Parquet would have for it, see
 * [[OrcSchema]].
 *
 * @param rows number of rows
 * @param uncompressed bytes of all columns before compression; for ORC an estimate, at least the length of the file
 * @param schema as Parquet has it; files with the same content share one object
 * @param keyValues footer key-values; files with the same content share one object
 * @param codecs the codecs of the columns, named as in Spark's options (such as `zstd`), the codec with the most
 *   bytes first; empty for a file without data
 * @param leaves one entry for each leaf column, in the order of `schema.getColumns`
 * @param createdBy name of the library that wrote the file, from the footer; empty if the footer
 *   has none
 * @param orc schema of an ORC file; None for Parquet
 * @param bloomFilters the leaf columns of a Parquet file that have a Bloom filter in some row group;
 *   files with the same columns share one object
 * @param needsRowReader true if Spark's vectorized reader cannot read the encoding of a column
 */
private[sparkzorder] final case class ScannedFile(
    file: DataFile,
    rows: Long,
    uncompressed: Long,
    schema: MessageType,
    keyValues: Map[String, String],
    codecs: Seq[String],
    leaves: Array[ColumnStats],
    createdBy: String = "",
    orc: Option[OrcSchema] = None,
    bloomFilters: Set[Seq[String]] = Set.empty,
    needsRowReader: Boolean = false) {

  /** A copy without the statistics of other columns: statistics take most of the memory. */
  def only(columns: ColumnNames): ScannedFile = copy(leaves = columns.select(schema, leaves))

  /**
   * True if all readers see the same dates and timestamps in a Parquet file: the file names Spark 3 or later as its
   * writer, which did not write in legacy mode. In other files, Spark may convert early values from the Julian
   * calendar, depending on the file and the session. The rule is that of Spark's `DataSourceUtils`.
   */
  def isProleptic: Boolean =
    keyValues.get("org.apache.spark.version").exists(_ >= "3.0.0") &&
      !keyValues.contains("org.apache.spark.legacyDateTime")
}

private[sparkzorder] object ScannedFile {

  /** The first file of each Parquet schema. */
  def ofEachSchema(files: Seq[ScannedFile]): Seq[ScannedFile] = {
    val seen = scala.collection.mutable.HashSet.empty[MessageType]
    files.filter(f => seen.add(f.schema))
  }
}

/**
 * The columns whose statistics are kept, by name without case. The memory of the driver then depends on the number
 * of these columns, not on the number of all columns.
 */
private[sparkzorder] final class ColumnNames private (wanted: Option[Set[String]]) {

  def contains(name: String): Boolean = wanted.forall(_(NameLookup.folded(name)))

  def select(schema: MessageType, leaves: Array[ColumnStats]): Array[ColumnStats] =
    if (wanted.isEmpty) leaves
    else {
      val columns = schema.getColumns
      Array.tabulate(leaves.length)(i =>
        if (contains(columns.get(i).getPath.head)) leaves(i) else ColumnStats.unknown)
    }
}

private[sparkzorder] object ColumnNames {
  val all = new ColumnNames(None)

  /** @param names of top-level columns */
  def of(names: Seq[String]): ColumnNames =
    new ColumnNames(Some(names.map(NameLookup.folded).toSet))
}

/** Reads footers, several at once. Each format has its own reader. */
private[sparkzorder] object FooterReader {

  /**
   * The footers of some files, in their order.
   *
   * @param columns the columns whose statistics are kept; the statistics of other columns become unknown
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_FILE_UNREADABLE or ZORDER_FILE_ENCRYPTED,
   *   naming the file
   */
  def read(
      files: Seq[DataFile],
      conf: Configuration,
      format: DataFormat,
      columns: ColumnNames = ColumnNames.all): IndexedSeq[ScannedFile] =
    inParts(files, conf, format, columns, math.max(1, files.size)).flatten.toIndexedSeq

  /** Like [[read]], but returns the footers in parts of `size` files, each part read on demand. */
  def inParts(
      files: Seq[DataFile],
      conf: Configuration,
      format: DataFormat,
      columns: ColumnNames = ColumnNames.all,
      size: Int = 1000): Iterator[IndexedSeq[ScannedFile]] = {
    val read = footers(format, conf)
    files.grouped(size).map { part =>
      SparkPrivate.inParallel(part)(f => read(f).only(columns)).toIndexedSeq
    }
  }

  /** Like [[read]], but returns an error instead of a footer where a file cannot be read. */
  def tryRead(
      files: Seq[DataFile],
      conf: Configuration,
      format: DataFormat): IndexedSeq[Try[ScannedFile]] = {
    val read = footers(format, conf)
    SparkPrivate.inParallel(files)(f => SparkPrivate.caught(read(f))).toIndexedSeq
  }

  /**
   * A function that reads one footer. Several threads may call it at once. Equal schemas and equal key-values of
   * several footers share one object.
   */
  private def footers(format: DataFormat, conf: Configuration): DataFile => ScannedFile =
    format match {
      case ParquetFiles => new ParquetFooters(conf)
      case OrcFiles => new OrcFooters(conf)
    }

  /**
   * Opens one Parquet file and closes it.
   *
   * @param body reads from the open file, whose footer has been read already
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_FILE_UNREADABLE or ZORDER_FILE_ENCRYPTED,
   *   naming the file
   * @throws java.io.IOException as [[AccessError]] says
   */
  def withFile[T](file: DataFile, conf: Configuration, options: ParquetReadOptions)(
      body: ParquetFileReader => T): T = {
    val noAccess = new AccessError(file.path)
    try {
      val reader = ParquetFileReader.open(HadoopInputFile.fromStatus(file.status, conf), options)
      try {
        if (isEncrypted(reader.getFileMetaData)) {
          throw ZOrderErrors.fileEncrypted(file.path.toString)
        }
        body(reader)
      } finally reader.close()
    } catch {
      case e: ZOrderException => throw e
      case _: ParquetCryptoRuntimeException =>
        throw ZOrderErrors.fileEncrypted(file.path.toString)
      case noAccess(e) => throw e
      case NonFatal(e) =>
        throw ZOrderErrors.fileUnreadable(file.path.toString, e, ParquetFiles.title)
    }
  }

  private def isEncrypted(meta: FileMetaData): Boolean =
    meta.getEncryptionType != null &&
      meta.getEncryptionType != FileMetaData.EncryptionType.UNENCRYPTED
}

/**
 * An error of reading a file that says nothing of its content: the user may not read the file, the statement was
 * cancelled, or the network was too slow. Such an error is no reason to repair the file or to move it away.
 */
private[stats] final class AccessError(file: Path) {
  def unapply(e: Throwable): Option[Throwable] =
    if (ExceptionUtils.getThrowables(e).exists(AccessError.isOne)) Some(e)
    // Java says of a file of local disk that the user may not read only that it was not found
    else if (AccessError.mayNotRead(file)) {
      Some(new AccessDeniedException(file.toString, null, e.getMessage).initCause(e))
    } else None
}

private object AccessError {
  private def isOne(e: Throwable): Boolean = e match {
    case _: ClosedByInterruptException | _: InterruptedIOException => true
    case _ => Directories.isDenied(e)
  }

  private def mayNotRead(file: Path): Boolean = file.toUri.getScheme == "file" && {
    val local = RawFiles.local(file)
    Files.exists(local) && !Files.isReadable(local)
  }
}

/**
 * Replaces equal values by one object, to save memory: thousands of files share few schemas and few
 * maps of key-value metadata.
 */
private[stats] final class Interner {
  private val seen = new ConcurrentHashMap[Any, Any]

  def apply[T](value: T): T = {
    val first = seen.putIfAbsent(value, value)
    (if (first == null) value else first).asInstanceOf[T]
  }
}
