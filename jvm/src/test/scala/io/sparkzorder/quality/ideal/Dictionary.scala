package io.sparkzorder.quality.ideal

import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types.DataType

import io.sparkzorder.ordering.{FixedOrder, OrderedType}

/** The distinct values of a column in their order; a value's rank is its place among them. */
private[quality] sealed trait Dictionary {
  def size: Int

  /** How many of the values are below `value`: the rank of a value of the column. */
  def below(value: Any): Int

  /** How many of the values are `value` or below it. */
  def upTo(value: Any): Int
}

private[quality] object Dictionary {

  /** @param values values that are not NULL, in any order */
  def of(dataType: DataType, values: Array[Any]): Dictionary =
    OrderedType.of(dataType) match {
      case Some(order: FixedOrder) => new LongDictionary(order, values)
      case _ => new ObjectDictionary(TypeUtils.getInterpretedOrdering(dataType), values)
    }

  /** Number of leading places for which `holds`, when no place after the first other one does. */
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
