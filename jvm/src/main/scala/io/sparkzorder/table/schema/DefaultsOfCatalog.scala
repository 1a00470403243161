package io.sparkzorder.table.schema

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns.EXISTS_DEFAULT_COLUMN_METADATA_KEY
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.{StructField, StructType}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.PathTarget
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.NameLookup

/**
 * Refuses to rewrite by its path a directory that is a table of the catalog, if a column of the table has a
 * default that the files do not note. Readers of the table see the default in files without the
 * column. The rewritten files would hold the column, with NULL in the place of the default.
 */
private[sparkzorder] final class DefaultsOfCatalog(session: Session, conf: Configuration) {

  /**
   * @param schema the columns of all files, with the defaults that footers note
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_UNSUPPORTED_TABLE
   */
  def check(target: PathTarget, schema: StructType, footers: Seq[ScannedFile]): Unit = {
    val names = footers.map(_.schema).distinct
      .map(_.getFields.asScala.map(f => NameLookup.folded(f.getName)).toSet)
    val added = schema.filter(f => names.exists(!_.contains(NameLookup.folded(f.name))))
    // only these columns need the catalog, which may have very many tables
    if (added.nonEmpty) {
      val root = target.root(conf)
      for {
        table <- tablesAt(root)
        column <- added
        declared <- table.schema.find(f => isSame(f.name, column.name))
        if default(declared).isDefined && default(declared) != default(column)
      } {
        throw ZOrderErrors.unsupportedTable(
          target.name,
          s"the directory of ${table.identifier.quotedString}, whose column `${declared.name}` has a " +
            "default that its files do not hold",
          "Name the table instead of its directory.")
      }
    }
  }

  private def isSame(a: String, b: String): Boolean = NameLookup.folded(a) == NameLookup.folded(b)

  private def default(column: StructField): Option[String] =
    if (TableSchema.hasDefault(column)) {
      Some(column.metadata.getString(EXISTS_DEFAULT_COLUMN_METADATA_KEY))
    } else None

  /** A database or a location that the user may not look at has no table for the user. */
  private def tablesAt(root: Path): Seq[CatalogTable] = {
    val catalog = session.sessionState.catalog.externalCatalog
    for {
      database <- Try(catalog.listDatabases()).getOrElse(Nil)
      table <- Try(catalog.getTablesByName(database, catalog.listTables(database))).getOrElse(Nil)
      location <- table.storage.locationUri
      if Try(qualified(new Path(location))).toOption.contains(root)
    } yield table
  }

  private def qualified(path: Path): Path = path.getFileSystem(conf).makeQualified(path)
}
