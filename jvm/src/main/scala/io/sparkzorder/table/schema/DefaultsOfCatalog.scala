// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import scala.collection.JavaConverters._

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns
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
private[sparkzorder] object DefaultsOfCatalog {

  /**
   * @param schema the columns of all files, with the defaults that footers note
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_UNSUPPORTED_TABLE
   */
  def check(target: PathTarget, schema: StructType, footers: Seq[ScannedFile]): Unit = {
    val names = ScannedFile.ofEachSchema(footers.filter(_.rows > 0))
      .map(_.schema.getFields.asScala.map(f => NameLookup.folded(f.getName)).toSet)
    val added = schema.filter(f => names.exists(!_.contains(NameLookup.folded(f.name))))
    for {
      table <- target.tables
      column <- otherDefault(table, added)
    } {
      throw ZOrderErrors.unsupportedTable(
        s"${target.name}, the directory of ${table.identifier.quotedString},",
        s"a table with another default for the column `${column.name}` than the files note",
        "Name the table instead of its directory.")
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
}
