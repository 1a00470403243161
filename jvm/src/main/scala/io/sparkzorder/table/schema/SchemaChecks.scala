// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.schema

import scala.collection.JavaConverters._

import org.apache.parquet.schema.GroupType

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns
import org.apache.spark.sql.types.{StructField, StructType}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.table.PathTarget
import io.sparkzorder.table.stats.ScannedFile
import io.sparkzorder.util.NameLookup

/**
 * Refuses a statement that names the directory of a catalog table, if the table and the files have
 * different defaults for a column. In a file without the column, readers of the table see the default of
 * the table. The rewritten file would hold the column, with the default that the files note or with NULL.
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

/**
 * Refuses Parquet files in which columns of one name have different field ids, for a session that finds
 * columns by field id. OPTIMIZE finds columns by name and would merge them into one column, which could
 * keep none of the ids. A reader that asks for an id would then read NULL.
 */
private[sparkzorder] object FieldIds {

  /**
   * @param target how messages name the table
   * @param caseSensitive true if names that differ by case are two columns
   * @throws io.sparkzorder.errors.ZOrderException ZORDER_INCOMPATIBLE_SCHEMAS
   */
  def check(target: String, footers: Seq[ScannedFile], caseSensitive: Boolean): Unit = {
    val ids = for {
      file <- ScannedFile.ofEachSchema(footers)
      (name, id) <- idsOf(file.schema, Nil)
    } yield (name, id, file.file.path.toString)
    ids.groupBy(i => if (caseSensitive) i._1 else NameLookup.folded(i._1)).values.foreach { same =>
      val (name, id, file) = same.head
      same.find(_._2 != id).foreach { case (_, other, otherFile) =>
        throw ZOrderErrors.incompatibleSchemas(
          target,
          name,
          text(id),
          file,
          s"${text(other)} while spark.sql.parquet.fieldId.read.enabled is true",
          otherFile)
      }
    }
  }

  private def text(id: Option[Int]): String =
    id.fold("a column without a field id")(i => s"field id $i")

  /** The full name and the field id of each column and each nested field. */
  private def idsOf(group: GroupType, path: Seq[String]): Seq[(String, Option[Int])] =
    group.getFields.asScala.toSeq.flatMap { t =>
      val name = path :+ t.getName
      val own = (name.mkString("."), Option(t.getId).map(_.intValue))
      if (t.isPrimitive) Seq(own) else own +: idsOf(t.asGroupType(), name)
    }
}
