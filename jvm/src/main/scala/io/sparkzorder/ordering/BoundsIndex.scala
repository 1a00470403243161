// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import java.math.BigInteger

import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.types.{ByteArray, UTF8String}

import io.sparkzorder.bits.{GuidedBounds, OrderedLongs, PrefixedBounds}

/**
 * The sorted bounds of one column, with a search.
 *
 * A look-up returns a ''slot'': `2 * i + 1` for a value that equals bound `i`, `2 * i` for a value in the gap below
 * bound `i`, and `2 * length` for a value above all bounds. With the bounds 10 and 20, the values 9, 10, 15, 20 and
 * 21 have the slots 0 to 4. If several bounds are equal, `i` is the first of them. Slots ascend with the values.
 * Only for a wide decimal does a look-up allocate an object, the unscaled value.
 */
private[sparkzorder] sealed trait BoundsIndex extends Serializable {

  /** The number of bounds. */
  def length: Int

  /** The slot of a non-null Catalyst value of the column's type. */
  def slotOf(value: Any): Int

  /** The order of the column's type. */
  def order: OrderedType

  /** The key ([[OrderedType.keyOf]]) of bound `i`. */
  def key(i: Int): AnyRef

  /** The slot of a key. */
  def slotOfKey(key: AnyRef): Int = slotOf(key)

  /** @param kept the positions of the bounds to keep, ascending */
  final def take(kept: Array[Int]): BoundsIndex =
    BoundsIndex.ofKeys(order, kept.map(key(_)))
}

/** Bounds of a type of fixed width, as ordered longs. */
private[sparkzorder] final class LongBounds(val order: FixedOrder, val sorted: Array[Long])
    extends BoundsIndex {
  private val guided = new GuidedBounds(sorted)

  def length: Int = sorted.length
  def slotOf(value: Any): Int = slot(order.toLong(value))
  def key(i: Int): AnyRef = java.lang.Long.valueOf(sorted(i))
  override def slotOfKey(key: AnyRef): Int = slot(key.asInstanceOf[java.lang.Long])

  /** The slot of a value by its ordered long ([[FixedOrder.toLong]]). */
  def slot(ordered: Long): Int = {
    val i = guided.lowerBound(ordered)
    if (i < sorted.length && sorted(i) == ordered) 2 * i + 1 else 2 * i
  }
}

/**
 * Bounds that are first compared by a prefix, an ordered long. Only bounds with an equal prefix are compared in
 * full.
 */
private[sparkzorder] sealed abstract class PrefixedIndex[T <: AnyRef](prefixes: Array[Long])
    extends BoundsIndex {
  private val prefixed = new PrefixedBounds(prefixes)

  def length: Int = prefixed.length

  /** Compares bound `i` with a value that has the same prefix. */
  protected def compareAt(i: Int, value: T): Int

  protected def search(prefix: Long, value: T): Int = {
    val start = prefixed.runStart(prefix)
    val end = prefixed.runEnd(start, prefix)
    var lo = start
    var hi = end
    while (lo < hi) {
      val mid = (lo + hi) >>> 1
      if (compareAt(mid, value) < 0) lo = mid + 1 else hi = mid
    }
    if (lo < end && compareAt(lo, value) == 0) 2 * lo + 1 else 2 * lo
  }
}

/** Bounds of a DECIMAL of more than 18 digits, as unscaled values. */
private[sparkzorder] final class WideBounds(
    val order: WideDecimalOrder,
    sorted: Array[BigInteger])
    extends PrefixedIndex[BigInteger](sorted.map(OrderedLongs.high)) {

  def slotOf(value: Any): Int = slot(value.asInstanceOf[Decimal])

  def key(i: Int): AnyRef = sorted(i)
  override def slotOfKey(key: AnyRef): Int = slot(key.asInstanceOf[BigInteger])

  def slot(value: Decimal): Int = slot(order.unscaled(value))

  private def slot(unscaled: BigInteger): Int = search(OrderedLongs.high(unscaled), unscaled)

  protected def compareAt(i: Int, value: BigInteger): Int = sorted(i).compareTo(value)
}

/** Bounds of strings in binary order. */
private[sparkzorder] final class StringBounds(sorted: Array[UTF8String])
    extends PrefixedIndex[UTF8String](sorted.map(_.getPrefix ^ Long.MinValue)) {

  def order: OrderedType = StringOrder
  def slotOf(value: Any): Int = slot(value.asInstanceOf[UTF8String])

  def key(i: Int): AnyRef = sorted(i)

  def slot(value: UTF8String): Int = search(value.getPrefix ^ Long.MinValue, value)

  protected def compareAt(i: Int, value: UTF8String): Int =
    TypeBridge.compareBinary(sorted(i), value)
}

/** Bounds of byte strings. */
private[sparkzorder] final class BinaryBounds(sorted: Array[Array[Byte]])
    extends PrefixedIndex[Array[Byte]](sorted.map(OrderedLongs.prefix)) {

  def order: OrderedType = BinaryOrder
  def slotOf(value: Any): Int = slot(value.asInstanceOf[Array[Byte]])

  def key(i: Int): AnyRef = sorted(i)

  def slot(value: Array[Byte]): Int = search(OrderedLongs.prefix(value), value)

  protected def compareAt(i: Int, value: Array[Byte]): Int =
    ByteArray.compareBinary(sorted(i), value)
}

private[sparkzorder] object BoundsIndex {

  /** @param keys ascending ([[OrderedType.keyOf]]); equal keys are allowed */
  def ofKeys(order: OrderedType, keys: Array[AnyRef]): BoundsIndex = order match {
    case f: FixedOrder => new LongBounds(f, keys.map(_.asInstanceOf[java.lang.Long].longValue))
    case w: WideDecimalOrder => new WideBounds(w, keys.map(_.asInstanceOf[BigInteger]))
    case StringOrder => new StringBounds(keys.map(_.asInstanceOf[UTF8String]))
    case BinaryOrder => new BinaryBounds(keys.map(_.asInstanceOf[Array[Byte]]))
  }

  /** @param values Catalyst values in ascending order, none null; equal values are allowed */
  def ofSorted(dataType: DataType, values: Array[Any]): BoundsIndex = {
    val order = OrderedType.require(dataType)
    ofKeys(order, values.map(order.keyOf))
  }

  /**
   * Reads `n` bounds from a stream.
   *
   * @param long reads the next ordered long, for a type of fixed width
   * @param bytes reads the bytes of the next key ([[OrderedType.bytesOf]]), for any other type
   */
  def read(order: OrderedType, n: Int)(long: => Long, bytes: => Array[Byte]): BoundsIndex =
    order match {
      case f: FixedOrder => new LongBounds(f, Array.fill(n)(long))
      case w: WideDecimalOrder => new WideBounds(w, Array.fill(n)(new BigInteger(bytes)))
      case StringOrder => new StringBounds(Array.fill(n)(UTF8String.fromBytes(bytes)))
      case BinaryOrder => new BinaryBounds(Array.fill(n)(bytes))
    }

  /** The distinct keys of `keys`, ascending. */
  def sortedKeys(order: OrderedType, keys: Seq[AnyRef]): Seq[AnyRef] =
    keys.sorted(Ordering.comparatorToOrdering(order.keys)).foldRight(List.empty[AnyRef]) {
      case (key, next :: rest) if order.keys.compare(key, next) == 0 => next :: rest
      case (key, more) => key :: more
    }

  /**
   * Java code for the slot of the unboxed, non-null value `v`.
   *
   * @param index a Java expression whose static type is the subclass of [[BoundsIndex]] for `dataType`
   */
  def slotCode(dataType: DataType, index: String, v: String): String =
    OrderedType.require(dataType) match {
      case f: FixedOrder => s"$index.slot(${f.longCode(v)})"
      case _ => s"$index.slot($v)"
    }
}
