// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality.ideal

import org.apache.spark.sql.sparkzorder.SparkLine.Frame
import org.apache.spark.sql.types.DataType

import io.sparkzorder.table.OrderingColumn
import io.sparkzorder.table.stats.FileRange

/**
 * All values of one column as ranks, so that later computations use primitive numbers only.
 *
 * @param ranks rank of each row's value among the distinct values, or [[RankedColumn.Null]]
 */
final class RankedColumn private (
    val column: OrderingColumn,
    val ranks: Array[Int],
    dictionary: Dictionary) {

  /** Number of distinct values. */
  val distinct: Int = dictionary.size

  /**
   * The number of rows with a value of a lower rank, for each rank and for the rank after the last.
   */
  val rowsBelow: Array[Long] = {
    val counts = new Array[Long](distinct + 1)
    ranks.foreach(r => if (r != RankedColumn.Null) counts(r + 1) += 1)
    var i = 0
    while (i < distinct) {
      counts(i + 1) += counts(i)
      i += 1
    }
    counts
  }

  /** Number of rows whose value is not NULL. */
  def rows: Long = rowsBelow(distinct)

  /** The ranks of the column's values within a range of values. */
  def ranksIn(range: FileRange): RankRange =
    RankRange(dictionary.below(range.min), dictionary.upTo(range.max) - 1)

  /** The range of every value. */
  def all: RankRange = RankRange(0, distinct - 1)
}

object RankedColumn {

  /** The rank of NULL, below that of every value. */
  val Null: Int = -1

  def apply(column: OrderingColumn, values: Array[Any]): RankedColumn = {
    val dictionary = Dictionary.of(column.dataType, values.filter(_ != null))
    val ranks = values.map(v => if (v == null) Null else dictionary.below(v))
    new RankedColumn(column, ranks, dictionary)
  }

  /** The given top-level columns of a data frame, all with the same order of rows. */
  def of(frame: Frame, columns: Seq[String]): IndexedSeq[RankedColumn] = {
    val chosen = frame.select(columns.map(frame.col): _*)
    val rows = chosen.queryExecution.executedPlan.executeCollect()
    chosen.schema.fields.toIndexedSeq.zipWithIndex.map { case (f, i) =>
      RankedColumn(OrderingColumn(Seq(f.name), f.dataType), valuesOf(rows, i, f.dataType))
    }
  }

  private def valuesOf(
      rows: Array[org.apache.spark.sql.catalyst.InternalRow],
      i: Int,
      dataType: DataType): Array[Any] =
    rows.map(r => if (r.isNullAt(i)) null else r.get(i, dataType))
}
