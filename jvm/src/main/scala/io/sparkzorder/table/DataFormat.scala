// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.orc.{CompressionKind, OrcConf}
import org.apache.orc.impl.OrcCodecPool
import org.apache.parquet.hadoop.metadata.CompressionCodecName

import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable}
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.sparkzorder.SparkLine

/**
 * A format of data files, Parquet or ORC. This class has all differences in how files of the two formats are listed and
 * read. The `OutputSpec` of a format, in the package `write`, says how its files are written.
 *
 * @param name the format's name in SQL, in USING and in front of a path
 * @param title the format's name in messages
 */
private[sparkzorder] sealed abstract class DataFormat(val name: String, val title: String)
    extends Serializable {

  /** Spark's own format class, with which queries read such files. */
  def reader: FileFormat

  /** True if Spark provides the position of a row in its file (`_metadata.row_index`). */
  def hasRowIndex: Boolean

  /** True if Spark can read INT as BIGINT, FLOAT as DOUBLE, and a DECIMAL as a wider DECIMAL. */
  def readsWidened: Boolean

  /**
   * True if a column of bytes that is read as text has the text whose UTF-8 the bytes are. Otherwise the text is
   * another, such as the hexadecimal digits of the bytes.
   */
  def readsBytesAsText: Boolean

  /** The setting by which readers find columns by their positions instead of their names. */
  def byPosition: String

  /** False if the setting [[byPosition]] is on. */
  def readsByName(conf: Configuration): Boolean = !conf.getBoolean(byPosition, false)

  /**
   * Looks whether the library of a codec is missing. Returns the text of the error that follows from this; None if
   * files of the codec can be read and written.
   *
   * @param codec the name of the codec in Spark's options, such as `zstd`
   */
  def missingLibrary(codec: String, conf: Configuration): Option[String] =
    try {
      load(codec.toUpperCase(Locale.ROOT), conf)
      None
    } catch {
      case e @ (_: ClassNotFoundException | _: LinkageError) => Some(e.toString)
    }

  protected def load(codec: String, conf: Configuration): Unit

  /** True if `format` has the class of [[reader]]. A class that extends it does not count. */
  def isReadBy(format: FileFormat): Boolean = format.getClass == reader.getClass
}

private[sparkzorder] case object ParquetFiles extends DataFormat("parquet", "Parquet") {
  override def reader: FileFormat = new ParquetFileFormat
  override def hasRowIndex: Boolean = true
  override def readsWidened: Boolean = SparkLine.readsWidened
  override def readsBytesAsText: Boolean = true
  // Only Hive reads this setting. With it, Hive takes the first column of a file for the first column of the table,
  // and so on. In a file with another order of columns, Hive then reads wrong columns.
  override def byPosition: String = "parquet.column.index.access"

  override protected def load(codec: String, conf: Configuration): Unit =
    Option(CompressionCodecName.valueOf(codec).getHadoopCompressionCodecClassName)
      .foreach(conf.getClassByName(_))
}

private[sparkzorder] case object OrcFiles extends DataFormat("orc", "ORC") {
  override def reader: FileFormat = new OrcFileFormat
  override def hasRowIndex: Boolean = false
  override def readsWidened: Boolean = true
  // ORC's reader makes hexadecimal digits with a space between two bytes
  override def readsBytesAsText: Boolean = false
  override def byPosition: String = OrcConf.FORCE_POSITIONAL_EVOLUTION.getAttribute
  override def readsByName(conf: Configuration): Boolean =
    !OrcConf.FORCE_POSITIONAL_EVOLUTION.getBoolean(conf)

  /** All codecs that ORC knows. */
  def codecs: Seq[String] = CompressionKind.values.map(_.name.toLowerCase(Locale.ROOT)).toSeq

  override protected def load(codec: String, conf: Configuration): Unit = {
    val kind = CompressionKind.valueOf(codec)
    OrcCodecPool.returnCodec(kind, OrcCodecPool.getCodec(kind))
  }
}

private[sparkzorder] object DataFormat {
  val all: Seq[DataFormat] = Seq(ParquetFiles, OrcFiles)

  /** The format with this name in SQL, in upper or lower case. */
  def named(name: String): Option[DataFormat] = all.find(_.name.equalsIgnoreCase(name))

  /** The format of a table of the catalog; None if this is neither Parquet nor ORC. */
  def of(table: CatalogTable): Option[DataFormat] =
    table.provider.map(_.toLowerCase(Locale.ROOT)) match {
      case Some("hive") | None => ofStorage(table.storage)
      case Some(provider) => named(provider)
    }

  /**
   * The format of a table or partition in Hive's format, by the name of the SerDe class; None for other formats.
   */
  def ofStorage(storage: CatalogStorageFormat): Option[DataFormat] = {
    val serde = storage.serde.getOrElse("").toLowerCase(Locale.ROOT)
    all.find(f => serde.contains(f.name))
  }

  /**
   * The format of the files that a relation with `format` reads. A table format that extends
   * Spark's Parquet format counts as Parquet.
   */
  def readBy(format: FileFormat): Option[DataFormat] = format match {
    case _: ParquetFileFormat => Some(ParquetFiles)
    case other => all.find(_.isReadBy(other))
  }
}
