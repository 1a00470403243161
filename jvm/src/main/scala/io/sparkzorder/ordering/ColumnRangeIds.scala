package io.sparkzorder.ordering

import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.types.UTF8String

/**
 * The range ids of one column: bounds to search and an id for every slot between and on them. Plain,
 * immutable, serialisable data; safe for threads.
 *
 * Ids ascend with the values, by Spark's order of the type; NULL has id 0.
 *
 * @param bounds the column's bounds
 * @param ids one a slot of `bounds`, so `2 * bounds.length + 1`, ascending, none negative
 */
final class ColumnRangeIds(
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

object ColumnRangeIds {

  /**
   * Stretched range ids from a sample: `floor(2^bits * midrank)`, so that a column of few values uses
   * all bits too, and a heavy value owns one id with a gap on either side.
   *
   * Without a sample every id is 0.
   *
   * @param values Catalyst values in any order, none null
   * @param weights one a value, or null if each weighs 1
   * @param nullWeight the weight of the sample's nulls, which are below all values
   * @param bits 0 to 30
   * @param maxBounds the most bounds to keep; a value heavier than `total / maxBounds` stays one
   */
  def fromSample(
      dataType: DataType,
      values: Array[Any],
      weights: Array[Double],
      nullWeight: Double,
      bits: Int,
      maxBounds: Int): ColumnRangeIds = {
    require(bits >= 0 && bits <= 30, s"range ids have 0 to 30 bits, not $bits")
    ColumnRanks.fromSample(dataType, values, weights, nullWeight, maxBounds).toRangeIds(1 << bits)
  }
}
