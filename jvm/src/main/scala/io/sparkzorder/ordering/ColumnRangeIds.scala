// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Maps the values of one column to range ids, by the slot of a value among the bounds of the column.
 * Immutable and thread-safe.
 *
 * Ids ascend with the values in Spark's order of the type. NULL has id 0.
 *
 * @param ids one id for each slot of `bounds`, so `2 * bounds.length + 1` ids; not negative, and never
 *   descending
 */
private[sparkzorder] final class ColumnRangeIds(
    val dataType: DataType,
    val bounds: BoundsIndex,
    val ids: Array[Int])
    extends Serializable {

  require(
    ids.length == 2 * bounds.length + 1,
    s"${bounds.length} bounds have ${2 * bounds.length + 1} slots, not ${ids.length}")

  /** The id of a Catalyst value of the column's type; null has id 0. */
  def idOf(value: Any): Int = if (value == null) 0 else ids(bounds.slotOf(value))

  /** The id of a value of a type of fixed width, by its ordered long ([[FixedOrder.toLong]]). */
  def idOfLong(ordered: Long): Int = ids(bounds.asInstanceOf[LongBounds].slot(ordered))

  /** The id of a non-null string. */
  def idOfString(value: UTF8String): Int = ids(bounds.asInstanceOf[StringBounds].slot(value))

  /** The id of a non-null byte string. */
  def idOfBytes(value: Array[Byte]): Int = ids(bounds.asInstanceOf[BinaryBounds].slot(value))

  /** The id of a non-null decimal of more than 18 digits. */
  def idOfDecimal(value: Decimal): Int = ids(bounds.asInstanceOf[WideBounds].slot(value))
}
