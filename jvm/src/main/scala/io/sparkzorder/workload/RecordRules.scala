// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.workload

import java.io.IOException
import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.catalog.ExternalCatalog

import io.sparkzorder.conf.Settings
import io.sparkzorder.table.{CatalogTables, ParquetFiles, PathTarget}
import io.sparkzorder.util.NameList

/**
 * Columns that the recorded workload must not name. The names are compared without case, so that a session with
 * `spark.sql.caseSensitive` does not note what other sessions leave out.
 */
private[sparkzorder] final class ExcludedColumns private (names: Set[String])
    extends (String => Boolean) {
  override def apply(column: String): Boolean = names(ExcludedColumns.lower(column))

  def ++(other: ExcludedColumns): ExcludedColumns = new ExcludedColumns(names ++ other.all)

  private def all: Set[String] = names
}

private[sparkzorder] object ExcludedColumns {
  val none: ExcludedColumns = new ExcludedColumns(Set.empty)

  /** @param properties of the table */
  def of(properties: Map[String, String]): ExcludedColumns =
    properties.get(Settings.WorkloadExclude.propertyKey).fold(none) { text =>
      val names =
        NameList.split(text).map(_.stripPrefix("`").stripSuffix("`").replace("``", "`"))
      new ExcludedColumns(names.map(lower).toSet)
    }

  private def lower(name: String): String = name.toLowerCase(Locale.ROOT)
}

/**
 * What the properties of the tables at a path say of the recorded workload.
 *
 * @param isOff true if all of these tables turn the recording of the workload off
 */
private[sparkzorder] final case class RecordRules(isOff: Boolean, excluded: ExcludedColumns)

private[sparkzorder] object RecordRules {

  /**
   * The rules for scans that name the table by its path, and so do not know the properties of the table. Reads the
   * metadata of all tables of the catalog, so a query must not wait for this method.
   *
   * @throws java.io.IOException if a part of the catalog cannot be read: a table in this part may be at the path
   */
  def ofPath(root: Path, conf: Configuration, catalog: ExternalCatalog): RecordRules =
    new CatalogTables(conf, catalog).known(PathTarget(root.toString, ParquetFiles)) match {
      case PathTarget(_, _, _, Some(unread)) =>
        throw new IOException(s"the catalog does not tell which columns must not be noted: $unread")
      case known =>
        val properties = known.tables.map(_.properties)
        RecordRules(
          properties.nonEmpty && properties.forall(isOff),
          properties.map(ExcludedColumns.of).foldLeft(ExcludedColumns.none)(_ ++ _))
    }

  private def isOff(properties: Map[String, String]): Boolean =
    properties.contains(Settings.WorkloadEnabled.propertyKey) &&
      !RecordSettings.valueOf(Settings.WorkloadEnabled, properties).contains(true)
}
