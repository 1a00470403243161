// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.commands.layout

import scala.util.Try

import org.apache.spark.sql.sparkzorder.SparkLine.Session
import org.apache.spark.sql.types.{DataType, StructType}

import io.sparkzorder.commands.OrderingColumns
import io.sparkzorder.log.TableLog
import io.sparkzorder.ordered.DeclaredOrder
import io.sparkzorder.ordering.OrderedType
import io.sparkzorder.table.{ListedTable, OrderingColumn}

/**
 * The columns that SHOW LAYOUT describes.
 *
 * @param dimensions number of columns for which the ideal is computed together; 1 if each column is
 *   judged alone
 * @param ordering columns of the table's layout, by the records
 * @param weights how many point queries the layout expects on each of `columns`; empty if equally many
 */
private[sparkzorder] final case class ChosenColumns(
    columns: Seq[OrderingColumn],
    dimensions: Int,
    ordering: Seq[OrderingColumn],
    weights: Seq[Double] = Nil) {

  /** The weights of the columns for which the ideal is computed together, one column's own first. */
  def weightsFor(column: Int): IndexedSeq[Double] =
    if (weights.isEmpty) IndexedSeq.fill(dimensions)(1.0)
    else (weights(column) +: weights.patch(column, Nil, 1)).toIndexedSeq
  def isOrderedBy(column: OrderingColumn): Boolean = ordering.exists(_.parts == column.parts)
}

/**
 * Chooses the columns of FOR, else of the last run, else of the declared order, else the first
 * columns of the table.
 */
private[sparkzorder] final class LayoutColumns(
    session: Session,
    table: ListedTable,
    log: Option[TableLog]) {
  private val sameName = session.sessionState.conf.resolver
  private val resolver = new OrderingColumns(table.name, sameName)
  private val parser = session.sessionState.sqlParser

  /**
   * @param names name parts of the columns of FOR; empty without FOR
   * @param schema data columns
   */
  def choose(names: Seq[Seq[String]], schema: StructType): ChosenColumns = {
    def found(columns: Seq[Seq[String]]): Seq[OrderingColumn] =
      // columns may have been dropped since
      columns.flatMap(c => Try(resolve(Seq(c), schema)).toOption).flatten
    val ordering = found(lastLayout.map(parser.parseMultipartIdentifier))
    // the data schema of a Delta table has its partition columns, too
    def data = StructType(
      schema.filterNot(f => table.files.partitionSchema.exists(p => sameName(p.name, f.name))))
    if (names.nonEmpty) {
      // an empty directory has no schema to look columns up in
      val isEmpty = schema.isEmpty && table.files.files.isEmpty
      val columns = if (isEmpty) Nil else resolve(names, schema)
      ChosenColumns(columns, columns.size, ordering)
    } else {
      Seq(ordering, found(declared)).find(_.nonEmpty)
        .map(columns =>
          ChosenColumns(columns, columns.size, ordering, weightsOf(columns, ordering)))
        .getOrElse(ChosenColumns(leaves(data, Nil).take(LayoutColumns.MaxColumns), 1, Nil))
    }
  }

  /** The weights of the layout, if all of its columns are still there. */
  private def weightsOf(
      columns: Seq[OrderingColumn],
      ordering: Seq[OrderingColumn]): Seq[Double] =
    log.flatMap(OrderingColumns.recordInForce).map(_.columnWeights)
      .filter(w => columns == ordering && w.size == columns.size).getOrElse(Nil)

  private def resolve(names: Seq[Seq[String]], schema: StructType): Seq[OrderingColumn] =
    resolver.resolve(names, schema, table.files.partitionSchema)

  private def lastLayout: Seq[String] =
    log.flatMap(_.columns).orElse(table.ordering.map(DeclaredOrder.split)).getOrElse(Nil)

  private def declared: Seq[Seq[String]] = table.target match {
    case Some(target) =>
      target.tables.flatMap(t => Try(DeclaredOrder.of(t)).toOption.toSeq.flatten).headOption.toSeq
        .flatMap(_.columns)
    // somebody else may have written the property
    case _ => table.declared.toSeq.flatMap(DeclaredOrder.split)
        .flatMap(c => Try(parser.parseMultipartIdentifier(c)).toOption)
  }

  /** Leaf columns that have an order, also in structs, but not inside lists and maps. */
  private def leaves(t: DataType, parts: Seq[String]): Seq[OrderingColumn] = t match {
    case s: StructType => s.fields.toSeq.flatMap(f => leaves(f.dataType, parts :+ f.name))
    case _ if parts.nonEmpty && OrderedType.of(t).isDefined => Seq(OrderingColumn(parts, t))
    case _ => Nil
  }
}

private[sparkzorder] object LayoutColumns {

  /** How many of the first columns are judged in a table that has no layout. */
  val MaxColumns = 32
}
