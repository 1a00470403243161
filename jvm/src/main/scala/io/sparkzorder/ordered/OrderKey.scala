// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordered

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, RebalancePartitions}

/**
 * By what the rows of a write are ordered.
 *
 * @param marked the expressions to sort by
 * @param cells how the rows are dealt to tasks first; None to leave them where they are
 */
private[ordered] final case class OrderKey(marked: Seq[DeclaredKey], cells: Option[DealByCells]) {

  /** The same key over other columns. */
  def map(f: Expression => Expression): OrderKey =
    OrderKey(marked.map(f(_).asInstanceOf[DeclaredKey]), cells.map(c => c.copy(path = f(c.path))))
}

/**
 * One shuffle that deals the rows to cells.
 *
 * @param path the directory of a row below the table
 */
private[ordered] final case class DealByCells(cells: WriteCells, path: Expression) {

  /** @param key the place of a row is the first column of the key */
  def deal(rows: LogicalPlan, key: Seq[Attribute]): LogicalPlan =
    RebalancePartitions(
      Seq(CellOfPlace(key.head, path, cells)),
      rows,
      Some(cells.partitions))
}
