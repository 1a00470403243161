// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.types.DataType

import io.sparkzorder.index.{
  ColumnValues,
  DateLeaf,
  DecimalLeaf,
  FileTable,
  IndexColumns,
  IndexedColumn,
  IntegerLeaf,
  LeafColumns,
  LeafType,
  LongStats,
  TimestampLeaf
}
import io.sparkzorder.skipping.values.LongIntervals

/**
 * The values of a column for which a predicate on it may be true: the predicate is tested on a file of which
 * nothing is known.
 */
private[sparkzorder] final class ValuesOfColumn(columns: TableColumns) {

  /**
   * None if the values are not known, if they are no whole numbers, or if a row matches where the
   * column is NULL.
   *
   * @param predicate with one column
   */
  def apply(predicate: Expression): Option[LongIntervals] =
    predicate.references.toSeq match {
      case Seq(a) => leafType(a.dataType).flatMap { leaf =>
          val index = new UnknownFile(a, leaf)
          val test = new PredicateCompiler(columns, new ColumnDomainsReader(index, true))(predicate)
          test match {
            case t: IntervalTest if !t.ofNulls && !t.hasNaN =>
              t.intervals match {
                case longs: LongIntervals => Some(longs)
                case _ => None
              }
            case _ => None
          }
        }
      case _ => None
    }

  private def leafType(t: DataType): Option[LeafType] = LeafType.ofValues(t) match {
    case leaf @ (_: IntegerLeaf | DateLeaf | _: TimestampLeaf) => Some(leaf)
    case leaf: DecimalLeaf if leaf.inLongs => Some(leaf)
    case _ => None
  }

  private final class UnknownFile(column: Attribute, leaf: LeafType) extends IndexColumns {
    override val indexed: IndexedSeq[IndexedColumn] =
      IndexedSeq(IndexedColumn(Seq(column.name), leaf))
    override val shapes: IndexedSeq[LeafColumns] = IndexedSeq(LeafColumns(Seq(Seq(column.name))))
    override def table: FileTable = ValuesOfColumn.oneFile
    override def column(number: Int): ColumnValues =
      ColumnValues(Array(-1L), Array[Byte](0), LongStats(Array(0L)), LongStats(Array(0L)))
  }
}

private object ValuesOfColumn {
  private val oneFile: FileTable = {
    val paths = new io.sparkzorder.index.ByteValues.Builder(1)
    paths.add(Array[Byte]('f'))
    FileTable(paths.result(), Array(1L), Array(0L), Array(1L), Array(0))
  }
}
