package io.sparkzorder.table.schema

import scala.collection.JavaConverters._
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.{StructField, StructType}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.PathTarget
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.NameLookup

/**
 * Refuses to rewrite by its path a directory that is a table of the catalog, if the table has another default
 * for a column than the files note. Readers of the table see the table's default in files without the
 * column. The rewritten files would hold the column, with the noted default or NULL.
 */
private[sparkzorder] final class DefaultsOfCatalog(session: Session, conf: Configuration)
    extends Logging {

  /**
   * @param schema the columns of all files, with the defaults that footers note
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_UNSUPPORTED_TABLE
   */
  def check(target: PathTarget, schema: StructType, footers: Seq[ScannedFile]): Unit = {
    val names = ScannedFile.ofEachSchema(footers.filter(_.rows > 0))
      .map(_.schema.getFields.asScala.map(f => NameLookup.folded(f.getName)).toSet)
    val added = schema.filter(f => names.exists(!_.contains(NameLookup.folded(f.name))))
    // the catalog may have very many tables, and most directories have no added column
    if (added.nonEmpty) {
      val root = target.root(conf)
      for {
        table <- tables()
        column <- otherDefault(table, added)
        if isAt(table, root)
      } {
        throw ZOrderErrors.unsupportedTable(
          target.name,
          s"the directory of ${table.identifier.quotedString}, which has another default for the column " +
            s"`${column.name}` than the files note",
          "Name the table instead of its directory.")
      }
    }
  }

  private def otherDefault(table: CatalogTable, added: Seq[StructField]): Option[StructField] =
    table.schema.find { declared =>
      added.exists(f =>
        NameLookup.folded(f.name) == NameLookup.folded(declared.name) &&
          default(f) != default(declared))
    }

  /** None for NULL, which is what files without the column read as anyway. */
  private def default(column: StructField): Option[Any] =
    if (!TableSchema.hasDefault(column)) None
    else {
      val schema = StructType(Seq(column))
      Option(ResolveDefaultColumns.getExistenceDefaultValues(schema).head)
    }

  /** Compares texts first: to open the file system of each table would be slow. */
  private def isAt(table: CatalogTable, root: Path): Boolean =
    table.storage.locationUri.map(new Path(_)).exists { location =>
      location.toUri.getPath == root.toUri.getPath &&
      Try(location.getFileSystem(conf).makeQualified(location)).toOption.contains(root)
    }

  private def tables(): Iterator[CatalogTable] = {
    val catalog = session.sessionState.catalog.externalCatalog
    logged("the databases", catalog.listDatabases()).getOrElse(Nil).iterator.flatMap { database =>
      val names = logged(s"the tables of $database", catalog.listTables(database)).getOrElse(Nil)
      // one table that Spark cannot read must not hide the others
      Try(catalog.getTablesByName(database, names)).getOrElse(names.flatMap(name =>
        logged(s"the table $database.$name", catalog.getTable(database, name))))
    }
  }

  /** What the user may not look at is no table for the user. */
  private def logged[T](what: String, body: => T): Option[T] =
    try Some(body)
    catch {
      case NonFatal(e) =>
        logWarning(
          s"The catalog does not show $what, whose defaults are not checked: ${e.getMessage}")
        None
    }
}
