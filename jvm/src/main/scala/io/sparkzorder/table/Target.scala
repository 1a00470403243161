// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.parser.{CatalystSqlParser, ParseException}
import org.apache.spark.sql.catalyst.util.AttributeNameParser
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteIdentifier
import org.apache.spark.sql.types.DataType

import io.sparkzorder.conf.Setting
import io.sparkzorder.errors.{ZOrderErrors, ZOrderException}
import io.sparkzorder.util.Directories

/** What a statement names: a directory, or a table of the session catalog. */
private[sparkzorder] sealed trait Target {

  /** The name of the target in messages. */
  def name: String

  /** The directory as the statement or the catalog names it, not yet qualified. */
  def location: Path

  def properties: Map[String, String]

  /** The tables of the session catalog whose directory is known to be this one. */
  def tables: Seq[CatalogTable]

  /** The format of the data files. */
  def format: DataFormat

  /** Defaults of settings for this kind of table, by key. A value from any other source takes precedence. */
  def defaults: Map[String, String] = Map.empty

  /**
   * The directory with scheme and authority, so that `/t` and `file:/t` give the same path.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_PATH_NOT_A_TABLE if its file system cannot be opened
   */
  def root(conf: Configuration): Path = fileSystem(conf).makeQualified(location)

  /** @throws io.sparkzorder.errors.ZOrderException ZORDER_PATH_NOT_A_TABLE if the file system cannot be opened */
  def fileSystem(conf: Configuration): FileSystem =
    try location.getFileSystem(conf)
    catch {
      // for instance, the class of the file system is missing, or nobody knows the scheme
      case NonFatal(e) if !Directories.isDenied(e) && !e.isInstanceOf[ZOrderException] =>
        throw ZOrderErrors.pathNotATable(
          location.toString,
          s"Spark cannot open its file system (${e.getMessage})",
          Some(e))
    }
}

/**
 * A directory that a statement names as parquet.`path`, 'path' or orc.`path`.
 *
 * @param tables the tables that [[CatalogTables]] has found at the path; empty until the statement runs
 * @param unread which part of the catalog could not be read, and why; None if the whole catalog was read
 */
private[sparkzorder] final case class PathTarget(
    path: String,
    format: DataFormat,
    override val tables: Seq[CatalogTable] = Nil,
    unread: Option[String] = None)
    extends Target {
  override def name: String = s"${format.name}.`$path`"
  override def location: Path =
    try new Path(path)
    catch {
      case e: IllegalArgumentException => throw ZOrderErrors.pathNotATable(path, e.getMessage)
    }

  /**
   * The properties `zorder.*` of the tables at the path. All other properties are only for readers that name the table.
   *
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_INVALID_SETTING if two tables disagree
   */
  override def properties: Map[String, String] = {
    val settings = tables.flatMap(t =>
      t.properties.filter(_._1.startsWith(Setting.PropertyPrefix)).map(_ -> t.identifier))
    settings.groupBy(_._1._1).map { case (key, own) =>
      if (own.map(_._1._2).distinct.size > 1) {
        throw ZOrderErrors.invalidSetting(
          key,
          own.map(_._1._2).mkString(" and "),
          s"${own.map(_._2.quotedString).mkString(" and ")} are tables at $name and disagree; name " +
            "one of them instead of the path")
      }
      own.head._1
    }
  }

  override def defaults: Map[String, String] =
    tables.map(CatalogTarget(_).defaults).foldLeft(Map.empty[String, String])(_ ++ _)

  /** True when the directory may be an Iceberg table. */
  def isIceberg(conf: Configuration): Boolean =
    try TargetChecks.isIcebergRoot(location.getFileSystem(conf), location)
    catch { case NonFatal(_) => false }

  /** True when the directory is a Delta table. */
  def isDelta(conf: Configuration): Boolean =
    fileSystem(conf).exists(new Path(location, "_delta_log"))
}

/** A table of the session catalog. */
private[sparkzorder] final case class CatalogTarget(table: CatalogTable) extends Target {
  override def name: String = table.identifier.quotedString
  override def location: Path = new Path(table.location)
  override def properties: Map[String, String] = table.properties
  override def tables: Seq[CatalogTable] = Seq(table)

  // a table that is neither Parquet nor ORC is refused before any file is read, so its format here is arbitrary
  override def format: DataFormat = DataFormat.of(table).getOrElse(ParquetFiles)

  /** True for a table in Hive's format (STORED AS PARQUET), false for a table of Spark (USING parquet). */
  def isHiveFormat: Boolean = table.provider.forall(_.equalsIgnoreCase("hive"))

  // Hive before version 4 reads no other timestamps than INT96
  override def defaults: Map[String, String] =
    if (isHiveFormat) Map("timestampType" -> "preserve") else Map.empty
}

/** Names that a property, a record or a footer holds. */
private[sparkzorder] object WrittenName {

  /**
   * The parts of a name. Spark's parser refuses the name `user` without back quotes in sessions in which `user` is a
   * reserved word, but the name may come from another session.
   *
   * @throws org.apache.spark.sql.catalyst.parser.ParseException if this is no name
   */
  def parts(name: String): Seq[String] =
    try CatalystSqlParser.parseMultipartIdentifier(name)
    catch {
      case e: ParseException =>
        Try(AttributeNameParser.parseAttributeName(name)).filter(_.forall(_.nonEmpty)).getOrElse(
          throw e)
    }

  /** The name that [[parts]] reads: `a.b`, with quotes around the parts that need them. */
  def of(parts: Seq[String]): String = parts.map { p =>
    if (p.matches("[A-Za-z_][A-Za-z0-9_]*")) p else quoteIdentifier(p)
  }.mkString(".")
}

/**
 * An ordering column.
 *
 * @param parts name parts from the top level to the leaf, as the schema spells them
 */
private[sparkzorder] final case class OrderingColumn(parts: Seq[String], dataType: DataType) {

  /** Display name: `a.b`, with quotes around the parts that need them. */
  def name: String = WrittenName.of(parts)
}
