// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands

import org.apache.spark.sql.catalyst.analysis.Resolver
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType}
import org.apache.spark.sql.types.StructType

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.ordered.DeclaredOrder
import io.sparkzorder.table.DataFormat

/** Refuses, at the time of the declaration, a declared order that writes could not keep. */
private[sparkzorder] final class SortByCheck(sameName: Resolver) {

  /**
   * @param schema the data columns; empty if they are not known yet
   * @throws io.sparkzorder.errors.ZOrderException if the table is a view, or is not a table of Parquet or
   *   ORC files; or if a column is missing, duplicated, a partition column or not orderable
   */
  def check(table: CatalogTable, order: DeclaredOrder, schema: StructType): Unit = {
    val name = table.identifier.quotedString
    if (table.tableType == CatalogTableType.VIEW) {
      throw ZOrderErrors.sortByUnsupported(name, "a view", "Name the table that the view reads.")
    }
    if (DataFormat.of(table).isEmpty) {
      SortByCheck.refuseFormat(name, table.provider.getOrElse("hive"))
    }
    if (schema.nonEmpty) {
      val partitions = StructType(table.partitionColumnNames.map { p =>
        table.schema.find(f => sameName(f.name, p))
          .getOrElse(org.apache.spark.sql.types.StructField(p, org.apache.spark.sql.types.NullType))
      })
      new OrderingColumns(name, sameName).resolve(order.columns, schema, partitions)
      ()
    }
  }
}

private[sparkzorder] object SortByCheck {

  /** Refuses a table of another format. The message names the corresponding statement of that format. */
  def refuseFormat(name: String, format: String): Nothing = {
    val (kind, advice) = format.toLowerCase(java.util.Locale.ROOT) match {
      case "delta" => "a Delta table" -> "Use ALTER TABLE ... CLUSTER BY (...)."
      case "iceberg" => "an Iceberg table" -> "Use ALTER TABLE ... WRITE ORDERED BY zorder(...)."
      case "hudi" => "a Hudi table" -> "Use Hudi's own clustering."
      case other => s"a table of the format $other" -> "Only tables of Parquet and ORC files are."
    }
    throw ZOrderErrors.sortByUnsupported(name, kind, advice)
  }
}
