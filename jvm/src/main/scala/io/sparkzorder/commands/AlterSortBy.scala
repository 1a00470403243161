// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.analysis.Resolver
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.command.{
  AlterTableSetPropertiesCommand,
  AlterTableUnsetPropertiesCommand
}
import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.{NullType, StructField, StructType}

import io.sparkzorder.errors.ZOrderErrors
import io.sparkzorder.ordered.DeclaredOrder
import io.sparkzorder.table.{CatalogTarget, DataFormat, Target}

/**
 * ALTER TABLE ... SORT BY: declares the order in which later writes put rows into files. Existing files stay as
 * they are.
 *
 * @param order None for `SORT BY ()`, which removes the declaration
 */
private[sparkzorder] final case class AlterSortBy(order: Option[DeclaredOrder])
    extends TableAction {
  override def statement: String = "ALTER TABLE ... SORT BY"

  override def schema: StructType = new StructType()

  override def description(target: Target): String =
    s"AlterSortBy ${target.name} ${order.fold("()")(_.clause)}"

  override def commandOnOther(name: String, format: String): Option[LogicalPlan] =
    SortByCheck.refuseFormat(name, format)

  override def run(session: Session, target: Target): Seq[Row] = {
    target match {
      case CatalogTarget(table) => alter(session, table)
      case path =>
        throw ZOrderErrors.sortByUnsupported(
          path.name,
          "a directory, which has no properties",
          """Write with .option("zorder.columns", "a, b"), or create a table on the directory.""")
    }
    Nil
  }

  /** Removes the declaration that `saveAsTable` copied from options of the writer to options of the table. */
  private def removeOptions(session: Session, table: CatalogTable): Unit = {
    val catalog = session.sessionState.catalog
    val now = catalog.getTableMetadata(table.identifier)
    val kept = now.storage.properties.filterNot { case (key, _) => isDeclaration(key) }
    catalog.alterTable(now.copy(storage = now.storage.copy(properties = kept)))
  }

  private def isDeclaration(key: String): Boolean =
    DeclaredOrder.propertyKeys.exists(_.equalsIgnoreCase(key))

  private def alter(session: Session, table: CatalogTable): Unit = {
    val declared = order.map { o =>
      new SortByCheck(session.sessionState.conf.resolver).check(table, o, table.dataSchema)
      o.properties
    }.getOrElse(Map.empty)
    val hasOwn = (table.properties.keys ++ table.storage.properties.keys).exists(isDeclaration)
    // CLUSTER BY NONE leaves an empty list in the property
    if (order.isEmpty && !hasOwn && DeclaredOrder.of(table.properties).nonEmpty) {
      throw ZOrderErrors.sortByUnsupported(
        table.identifier.quotedString,
        "declared with CLUSTER BY",
        "Use ALTER TABLE ... CLUSTER BY NONE.")
    }
    // Properties of an earlier declaration that the new one does not set are removed. Impala's two properties, for
    // example, would go on to declare another order for Impala.
    val old =
      DeclaredOrder.propertyKeys.filter(k => table.properties.contains(k) && !declared.contains(k))
    if (declared.nonEmpty) {
      AlterTableSetPropertiesCommand(table.identifier, declared, isView = false).run(session)
    }
    if (old.nonEmpty) {
      AlterTableUnsetPropertiesCommand(table.identifier, old, ifExists = true, isView = false)
        .run(session)
    }
    if (table.storage.properties.keys.exists(isDeclaration)) removeOptions(session, table)
    // the relation of the table in Spark's cache still has the old properties
    session.sessionState.catalog.invalidateCachedTable(table.identifier)
  }
}

/** Checks an order when it is declared. Refuses an order that later writes could not keep. */
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
          .getOrElse(StructField(p, NullType))
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
      case "parquet" | "orc" =>
        "a table of another catalog than Spark's session catalog" -> "Create it in spark_catalog."
      case other =>
        s"a table of the format $other" -> "SORT BY works for tables of Parquet and ORC files only."
    }
    throw ZOrderErrors.sortByUnsupported(name, kind, advice)
  }
}
