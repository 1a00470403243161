// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import java.util.Locale

import scala.util.Try

import org.apache.spark.sql.{SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.command.{
  CreateDataSourceTableAsSelectCommand,
  CreateDataSourceTableCommand,
  CreateTableCommand,
  CreateTableLikeCommand,
  DDLUtils
}
import org.apache.spark.sql.execution.datasources.V1WriteCommand
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.StructType

import io.sparkzorder.commands.SortByCheck
import io.sparkzorder.conf.Settings
import io.sparkzorder.ordered.DeclaredOrder

/**
 * Checks the declared order of a new table: of SORT BY, and of the same properties in TBLPROPERTIES.
 * A table is not made with an order that its writes could not keep.
 */
private[sparkzorder] object CheckDeclaredOrder extends (LogicalPlan => Unit) {

  override def apply(plan: LogicalPlan): Unit =
    if (Settings.ofSession(Settings.Enabled)) plan match {
      case c: CreateDataSourceTableCommand => check(c.table, c.table.schema)
      case c: CreateTableCommand => check(c.table, c.table.schema)
      case c: CreateTableLikeCommand => like(c).foreach(t => check(t, t.schema))
      // an append leaves the declared order of an existing table as it is
      case c: CreateDataSourceTableAsSelectCommand if c.mode != SaveMode.Append =>
        check(c.table, schema(c.query, c.outputColumnNames))
      case _: V1WriteCommand => // a write to a table that exists
      case v2: V2CreateTablePlan => refuseOtherCatalog(v2)
      // CREATE TABLE AS SELECT of a table in Hive's format; its class is in the module spark-hive
      case hive
          if hive.nodeName.endsWith("HiveTableAsSelectCommand") &&
            !hive.productIterator.contains(SaveMode.Append) =>
        hive.productIterator.collectFirst { case t: CatalogTable => t }.foreach { table =>
          val query = hive.productIterator.collectFirst { case q: LogicalPlan => q }
          val names = hive.productIterator.collectFirst { case n: Seq[_] => n.map(_.toString) }
          check(table, schema(query.get, names.get))
        }
      case _ =>
    }

  private def check(table: CatalogTable, schema: StructType): Unit =
    declared(table).foreach { order =>
      val partitions = table.partitionColumnNames
      val data = StructType(schema.filterNot(f => partitions.exists(sameName(_, f.name))))
      new SortByCheck(sameName).check(table, order, data)
    }

  private def declared(table: CatalogTable): Option[DeclaredOrder] =
    if (DeclaredOrder.isAuto(table)) Some(DeclaredOrder.auto)
    // what Impala or Hive declared may be of columns that only they know
    else if (!table.properties.contains(Settings.Columns.propertyKey)) None
    else DeclaredOrder.of(table)

  /**
   * The metadata of the table that CREATE TABLE LIKE will create, as far as the check needs it. None if the
   * source table does not exist: Spark reports that error itself.
   */
  private def like(create: CreateTableLikeCommand): Option[CatalogTable] =
    Try(SparkLine.session(SparkSession.active).sessionState.catalog
      .getTempViewOrPermanentTableMetadata(create.sourceTable)).toOption.map { source =>
      val provider = create.provider
        .orElse(create.fileFormat.inputFormat.map(_ => DDLUtils.HIVE_PROVIDER))
        .orElse(source.provider.filter(_ => source.tableType != CatalogTableType.VIEW))
        .orElse(Some(SQLConf.get.defaultDataSourceName))
      source.copy(
        identifier = create.targetTable,
        tableType = CatalogTableType.MANAGED,
        provider = provider,
        storage =
          if (create.fileFormat.inputFormat.isDefined) create.fileFormat else source.storage,
        properties = create.properties)
    }

  /** A table of another catalog, such as Iceberg's, has no declared order. */
  private def refuseOtherCatalog(create: V2CreateTablePlan): Unit =
    create match {
      case c: CreateTable => refuse(c, c.tableSpec)
      case c: CreateTableAsSelect => refuse(c, c.tableSpec)
      case c: ReplaceTable => refuse(c, c.tableSpec)
      case c: ReplaceTableAsSelect => refuse(c, c.tableSpec)
      case _ =>
    }

  private def refuse(create: V2CreateTablePlan, spec: TableSpecBase): Unit = {
    val (properties, provider) = spec match {
      case s: UnresolvedTableSpec => (s.properties, s.provider)
      case s: TableSpec => (s.properties, s.provider)
      case _ => (Map.empty[String, String], None)
    }
    // SORT BY sets the order; the columns alone are those of OPTIMIZE, which such a table may have
    if (properties.contains(Settings.Order.propertyKey)) {
      SortByCheck.refuseFormat(
        create.tableName.toString,
        provider.orElse(ofCatalog(create)).getOrElse("that another catalog chooses"))
    }
  }

  private def ofCatalog(create: V2CreateTablePlan): Option[String] =
    create.collectFirst { case r: ResolvedIdentifier =>
      r.catalog.getClass.getName.toLowerCase(Locale.ROOT)
    }
      .flatMap(name => Seq("delta", "iceberg", "hudi").find(name.contains))

  private def schema(query: LogicalPlan, names: Seq[String]): StructType =
    StructType(query.schema.zip(names).map { case (f, name) => f.copy(name = name) })

  private def sameName(a: String, b: String): Boolean = SQLConf.get.resolver(a, b)
}
