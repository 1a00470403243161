// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality.ideal

import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types.DataType

import io.sparkzorder.ordering.{FixedOrder, OrderedType}

/**
 * The distinct values of a column in their order. The rank of a value is its position among them.
 */
private[quality] sealed trait Dictionary {
  def size: Int

  /** How many of the values are below `value`. For a value of the column, this is its rank. */
  def below(value: Any): Int

  /** How many of the values are at most `value`. */
  def upTo(value: Any): Int
}

private[quality] object Dictionary {

  /** @param values in any order, without NULL */
  def of(dataType: DataType, values: Array[Any]): Dictionary =
    OrderedType.of(dataType) match {
      case Some(order: FixedOrder) => new LongDictionary(order, values)
      case _ => new ObjectDictionary(TypeUtils.getInterpretedOrdering(dataType), values)
    }

  /**
   * The number of leading positions for which `holds`; it must hold for no position after the first
   * false one.
   */
  def leading(size: Int)(holds: Int => Boolean): Int = {
    var lo = 0
    var hi = size
    while (lo < hi) {
      val mid = (lo + hi) >>> 1
      if (holds(mid)) lo = mid + 1 else hi = mid
    }
    lo
  }
}

private final class LongDictionary(order: FixedOrder, values: Array[Any]) extends Dictionary {
  private val sorted: Array[Long] = {
    val all = values.map(order.toLong)
    java.util.Arrays.sort(all)
    all.indices.filter(i => i == 0 || all(i) != all(i - 1)).map(all(_)).toArray
  }

  override def size: Int = sorted.length

  override def below(value: Any): Int = {
    val x = order.toLong(value)
    Dictionary.leading(size)(sorted(_) < x)
  }

  override def upTo(value: Any): Int = {
    val x = order.toLong(value)
    Dictionary.leading(size)(sorted(_) <= x)
  }
}

private final class ObjectDictionary(ordering: Ordering[Any], values: Array[Any])
    extends Dictionary {
  private val sorted: Array[AnyRef] = {
    val all = values.map(_.asInstanceOf[AnyRef])
    java.util.Arrays.sort(all, ordering.asInstanceOf[Ordering[AnyRef]])
    all.indices.filter(i => i == 0 || ordering.compare(all(i), all(i - 1)) != 0).map(all(_)).toArray
  }

  override def size: Int = sorted.length

  override def below(value: Any): Int =
    Dictionary.leading(size)(i => ordering.compare(sorted(i), value) < 0)

  override def upTo(value: Any): Int =
    Dictionary.leading(size)(i => ordering.compare(sorted(i), value) <= 0)
}
