// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.stats

import java.io.IOException
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util.Locale
import java.util.concurrent.ConcurrentHashMap

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.commons.lang3.exception.ExceptionUtils
import org.apache.hadoop.conf.Configuration
import org.apache.orc.{
  ColumnStatistics,
  CompressionKind,
  OrcFile,
  OrcProto,
  Reader,
  StripeInformation,
  TypeDescription
}
import org.apache.orc.impl.{ColumnStatisticsImpl, RecordReaderImpl}

import org.apache.spark.sql.types.DataType

import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.table.{DataFile, OrcFiles, OrcLeaf, OrcSchema, OrderingColumn}

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
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_FILE_UNREADABLE, ZORDER_FILE_ENCRYPTED or
   *   ZORDER_CODEC_NOT_AVAILABLE, naming the file
   * @throws java.io.IOException as [[AccessError]] says
   */
  def withFile[T](file: DataFile, conf: Configuration)(body: Reader => T): T = {
    val noAccess = new AccessError(file.path)
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
      // even the footer cannot be read without the codec, because it is compressed, too
      case MissingClass(e) =>
        val missing = OrcFiles.codecs.filter(OrcFiles.missingLibrary(_, conf).isDefined)
        if (missing.isEmpty) throw e
        throw ZOrderErrors.codecNotAvailable(
          file.path.toString,
          missing.mkString(" or "),
          e.toString)
      case noAccess(e) => throw e
      case NonFatal(e) =>
        throw ZOrderErrors.fileUnreadable(file.path.toString, e, OrcFiles.title)
    }
  }

  /** The footers of some stripes, which tell what the footer of the file does not. Reads nothing else of the stripes. */
  def ofStripes(reader: Reader, stripes: Seq[StripeInformation]): Seq[OrcProto.StripeFooter] = {
    val root = Array.tabulate(reader.getSchema.getMaximumId + 1)(_ == 0)
    val rows = reader.rows(reader.options.include(root)).asInstanceOf[RecordReaderImpl]
    try stripes.map(rows.readStripeFooter).toList
    finally rows.close()
  }

  private object MissingClass {

    /** None also for a class of another version, such as that of another ORC. It is there, but lacks a method. */
    def unapply(e: Throwable): Option[LinkageError] =
      Option(ExceptionUtils.throwableOfType(e, classOf[LinkageError]))
        .filterNot(_.isInstanceOf[IncompatibleClassChangeError])
  }
}

/**
 * Reads [[FileColumns]] of ORC files. Stripes stand for row groups, and strides of the row index
 * for pages.
 */
private[sparkzorder] object OrcColumns {

  def read(
      file: DataFile,
      columns: Seq[OrderingColumn],
      withPages: Boolean,
      sameName: (String, String) => Boolean,
      conf: Configuration): FileColumns = OrcFooters.withFile(file, conf) { reader =>
    val schema = OrcSchema.of(reader.getSchema, file.path.toString)
    val found = columns.map(c => c -> schema.leaf(c.parts, sameName)).toIndexedSeq
    val open = new OrcFileColumns(reader)
    // the row indexes of all columns are read at once, because they lie side by side in a stripe
    val strides = if (withPages) Some(open.strides(found.flatMap(_._2))) else None
    FileColumns(
      file,
      reader.getNumberOfRows,
      found.map {
        case (_, None) => open.absent(withPages)
        case (c, Some(leaf)) => open.column(leaf, c.dataType, strides.map(_(leaf)))
      })
  }
}

/** The statistics of one open file. */
private final class OrcFileColumns(reader: Reader) {
  private val statsOf = new OrcColumnStats(reader.getWriterVersion)
  private val rowsOfStripes = reader.getStripes.asScala.map(_.getNumberOfRows).toIndexedSeq
  private lazy val statistics: IndexedSeq[Array[ColumnStatistics]] = {
    val found = reader.getStripeStatistics.asScala.map(_.getColumnStatistics).toIndexedSeq
    // a file may lack the statistics of its stripes
    if (found.size == rowsOfStripes.size) found
    else rowsOfStripes.map(_ => Array.empty[ColumnStatistics])
  }

  def absent(withPages: Boolean): FileColumn = FileColumn.absent(rowsOfStripes, withPages)

  /**
   * @param strides the strides of each stripe, empty for a stripe without a row index; None when row
   *   indexes were not read
   */
  def column(
      leaf: OrcLeaf,
      dataType: DataType,
      strides: Option[IndexedSeq[Seq[(Long, ColumnStats)]]]): FileColumn = {
    def unit(rows: Long, s: ColumnStats) = UnitStats(rows, s.in(leaf.primitive, dataType))
    val rows = reader.getNumberOfRows
    val stripes = rowsOfStripes.zip(statistics)
      .map { case (n, all) => unit(n, statsOf.of(all, leaf, n)) }
    FileColumn.of(
      unit(rows, statsOf.of(reader.getStatistics, leaf, rows)),
      stripes,
      strides.map(_.map(_.map { case (n, s) => unit(n, s) })))
  }

  /** Number of rows and statistics of each stride, by column and stripe. */
  def strides(leaves: Seq[OrcLeaf]): Map[OrcLeaf, IndexedSeq[Seq[(Long, ColumnStats)]]] = {
    val columns = reader.getSchema.getMaximumId + 1
    val wanted = new Array[Boolean](columns)
    leaves.foreach(l => wanted(l.id) = true)
    // Opening a RecordReader reads a stripe. Only the root column is chosen, which holds no data.
    val root = Array.tabulate(columns)(_ == 0)
    val rows = reader.rows(reader.options.include(root)).asInstanceOf[RecordReaderImpl]
    try {
      val byStripe = rowsOfStripes.indices.map { s =>
        // the last argument chooses the columns whose Bloom filters are read: none
        val index = rows.readRowIndex(s, wanted, new Array[Boolean](columns)).getRowGroupIndex
        leaves.map(l => l -> ofStripe(rowsOfStripes(s), l, Option(index(l.id)))).toMap
      }
      leaves.map(l => l -> byStripe.map(_(l))).toMap
    } finally rows.close()
  }

  private def ofStripe(
      rows: Long,
      leaf: OrcLeaf,
      index: Option[org.apache.orc.OrcProto.RowIndex]): Seq[(Long, ColumnStats)] = {
    val stride = reader.getRowIndexStride.toLong
    val entries = index.toSeq.flatMap(_.getEntryList.asScala)
    // each stride has the number of rows that the footer names, but the last stride may have fewer
    if (stride <= 0 || entries.size != (rows + stride - 1) / stride) Nil
    else entries.zipWithIndex.map { case (entry, i) =>
      val n = math.min(stride, rows - i * stride)
      val s = ColumnStatisticsImpl.deserialize(leaf.types, entry.getStatistics)
      n -> statsOf.of(s, leaf, n)
    }
  }
}
