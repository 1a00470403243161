package io.sparkzorder.table

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.catalog.CatalogTable

import io.sparkzorder.errors.ZOrderErrors

/** What a statement names: a directory, or a table of the session catalog. */
sealed trait Target {

  /** How messages name it. */
  def name: String

  /** Its directory, as named; not yet qualified. */
  def location: Path

  def properties: Map[String, String]

  /** The format of its data files. */
  def format: DataFormat

  /** Settings of this kind of table, by key; any other source of settings overrides them. */
  def defaults: Map[String, String] = Map.empty

  /** The directory with scheme and authority: one path for all ways to name the directory. */
  def root(conf: Configuration): Path = location.getFileSystem(conf).makeQualified(location)
}

/** parquet.`path`, 'path' or orc.`path` */
final case class PathTarget(path: String, format: DataFormat) extends Target {
  override def name: String = s"${format.name}.`$path`"
  override def location: Path =
    try new Path(path)
    catch {
      case e: IllegalArgumentException => throw ZOrderErrors.pathNotATable(path, e.getMessage)
    }
  override def properties: Map[String, String] = Map.empty

  /** True when the directory may be an Iceberg table. */
  def isIceberg(conf: Configuration): Boolean =
    try TargetChecks.isIcebergRoot(location.getFileSystem(conf), location)
    catch { case NonFatal(_) => false }

  /** True when the directory is a Delta table. */
  def isDelta(conf: Configuration): Boolean = {
    val log = new Path(location, "_delta_log")
    log.getFileSystem(conf).exists(log)
  }
}

/** A table of the session catalog. */
final case class CatalogTarget(table: CatalogTable) extends Target {
  override def name: String = table.identifier.quotedString
  override def location: Path = new Path(table.location)
  override def properties: Map[String, String] = table.properties

  // the fallback does no harm: a table of neither format is refused before anything is read
  override def format: DataFormat = DataFormat.of(table).getOrElse(ParquetFiles)

  /** STORED AS PARQUET, not USING parquet. */
  def isHiveFormat: Boolean = table.provider.forall(_.equalsIgnoreCase("hive"))

  // Hive before version 4 reads no other timestamps than INT96
  override def defaults: Map[String, String] =
    if (isHiveFormat) Map("timestampType" -> "preserve") else Map.empty
}
