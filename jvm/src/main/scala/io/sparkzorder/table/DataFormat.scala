package io.sparkzorder.table

import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.orc.OrcConf

import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable}
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.sparkzorder.SparkLine

/**
 * A format of data files: all that differs between tables of Parquet and of ORC while files are listed
 * and read. How files are written is in `write`, in the `OutputSpec` of each format.
 *
 * @param name as SQL has it, in USING and before a path
 * @param title as people write it
 */
sealed abstract class DataFormat(val name: String, val title: String) extends Serializable {

  /** Spark's own format, by which queries read such files. */
  def reader: FileFormat

  /** Spark tells where in its file a row stands (`_metadata.row_index`). */
  def hasRowIndex: Boolean

  /** Spark reads INT as BIGINT, FLOAT as DOUBLE and a DECIMAL as a wider one. */
  def readsWidened: Boolean

  /** False where a setting has columns found by their positions, whatever their names are. */
  def readsByName(conf: Configuration): Boolean

  /** True when queries read files by this very format, not by one that extends it. */
  def isReadBy(format: FileFormat): Boolean = format.getClass == reader.getClass
}

case object ParquetFiles extends DataFormat("parquet", "Parquet") {
  override def reader: FileFormat = new ParquetFileFormat
  override def hasRowIndex: Boolean = true
  override def readsWidened: Boolean = SparkLine.readsWidened
  override def readsByName(conf: Configuration): Boolean = true
}

case object OrcFiles extends DataFormat("orc", "ORC") {
  override def reader: FileFormat = new OrcFileFormat
  override def hasRowIndex: Boolean = false
  override def readsWidened: Boolean = true
  override def readsByName(conf: Configuration): Boolean =
    !OrcConf.FORCE_POSITIONAL_EVOLUTION.getBoolean(conf)
}

object DataFormat {
  val all: Seq[DataFormat] = Seq(ParquetFiles, OrcFiles)

  /** By the name that SQL has for it. */
  def named(name: String): Option[DataFormat] = all.find(_.name.equalsIgnoreCase(name))

  /** The format of a table of the catalog; None for other formats. */
  def of(table: CatalogTable): Option[DataFormat] =
    table.provider.map(_.toLowerCase(Locale.ROOT)) match {
      case Some("hive") | None => ofStorage(table.storage)
      case Some(provider) => named(provider)
    }

  /** The format of a table or partition in Hive's format. */
  def ofStorage(storage: CatalogStorageFormat): Option[DataFormat] = {
    val serde = storage.serde.getOrElse("").toLowerCase(Locale.ROOT)
    all.find(f => serde.contains(f.name))
  }

  /** The format of the files that a relation of Spark's reads; also for table formats on Parquet. */
  def readBy(format: FileFormat): Option[DataFormat] = format match {
    case _: ParquetFileFormat => Some(ParquetFiles)
    case other => all.find(_.isReadBy(other))
  }
}
