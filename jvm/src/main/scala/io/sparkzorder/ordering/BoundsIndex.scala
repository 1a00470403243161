// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import java.math.BigInteger

import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.types.{ByteArray, UTF8String}

import io.sparkzorder.bits.{GuidedBounds, OrderedLongs, PrefixedBounds}

/**
 * The sorted, distinct bounds of one column, with a search.
 *
 * A look-up returns a ''slot'': `2 * i + 1` for a value that equals bound `i`, `2 * i` for a value
 * in the gap below bound `i`, and `2 * length` for a value above all bounds. Slots have the order
 * of the values. A look-up allocates nothing, except that wide decimals allocate their unscaled
 * values.
 */
private[sparkzorder] sealed trait BoundsIndex extends Serializable {

  /** The number of bounds. */
  def length: Int

  /** The slot of a non-null Catalyst value of the column's type. */
  def slotOf(value: Any): Int

  /**
   * The key by which bound `i` is compared: the ordered long for a type of fixed width, else the
   * value.
   */
  private[sparkzorder] def key(i: Int): AnyRef

  /** @param kept the positions of the bounds to keep, ascending */
  private[sparkzorder] def take(kept: Array[Int]): BoundsIndex

  /** The slot of a key. */
  private[sparkzorder] def slotOfKey(key: AnyRef): Int
}

/** Bounds of a type of fixed width, as ordered longs. */
private[sparkzorder] final class LongBounds(val order: FixedOrder, val sorted: Array[Long])
    extends BoundsIndex {
  private val guided = new GuidedBounds(sorted)

  def length: Int = sorted.length
  def slotOf(value: Any): Int = slot(order.toLong(value))
  private[sparkzorder] def key(i: Int): AnyRef = java.lang.Long.valueOf(sorted(i))
  private[sparkzorder] def take(kept: Array[Int]): BoundsIndex =
    new LongBounds(order, kept.map(sorted(_)))
  private[sparkzorder] def slotOfKey(key: AnyRef): Int = slot(key.asInstanceOf[java.lang.Long])

  /** The slot of a value by its ordered long ([[FixedOrder.toLong]]). */
  def slot(ordered: Long): Int = {
    val i = guided.lowerBound(ordered)
    if (i < sorted.length && sorted(i) == ordered) 2 * i + 1 else 2 * i
  }
}

/**
 * Bounds that are compared by a prefix first, which is an ordered long. Only bounds with an equal prefix
 * are compared in full.
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
    val sorted: Array[BigInteger])
    extends PrefixedIndex[BigInteger](sorted.map(OrderedLongs.high)) {

  def slotOf(value: Any): Int = slot(value.asInstanceOf[Decimal])

  private[sparkzorder] def key(i: Int): AnyRef = sorted(i)
  private[sparkzorder] def take(kept: Array[Int]): BoundsIndex =
    new WideBounds(order, kept.map(sorted(_)))
  private[sparkzorder] def slotOfKey(key: AnyRef): Int = slot(key.asInstanceOf[BigInteger])

  def slot(value: Decimal): Int = slot(order.unscaled(value))

  private def slot(unscaled: BigInteger): Int = search(OrderedLongs.high(unscaled), unscaled)

  protected def compareAt(i: Int, value: BigInteger): Int = sorted(i).compareTo(value)
}

/** Bounds of strings in binary order. */
private[sparkzorder] final class StringBounds(val sorted: Array[UTF8String])
    extends PrefixedIndex[UTF8String](sorted.map(_.getPrefix ^ Long.MinValue)) {

  def slotOf(value: Any): Int = slot(value.asInstanceOf[UTF8String])

  private[sparkzorder] def key(i: Int): AnyRef = sorted(i)
  private[sparkzorder] def take(kept: Array[Int]): BoundsIndex =
    new StringBounds(kept.map(sorted(_)))
  private[sparkzorder] def slotOfKey(key: AnyRef): Int = slotOf(key)

  def slot(value: UTF8String): Int = search(value.getPrefix ^ Long.MinValue, value)

  protected def compareAt(i: Int, value: UTF8String): Int =
    TypeBridge.compareBinary(sorted(i), value)
}

/** Bounds of byte strings. */
private[sparkzorder] final class BinaryBounds(val sorted: Array[Array[Byte]])
    extends PrefixedIndex[Array[Byte]](sorted.map(OrderedLongs.prefix)) {

  def slotOf(value: Any): Int = slot(value.asInstanceOf[Array[Byte]])

  private[sparkzorder] def key(i: Int): AnyRef = sorted(i)
  private[sparkzorder] def take(kept: Array[Int]): BoundsIndex =
    new BinaryBounds(kept.map(sorted(_)))
  private[sparkzorder] def slotOfKey(key: AnyRef): Int = slotOf(key)

  def slot(value: Array[Byte]): Int = search(OrderedLongs.prefix(value), value)

  protected def compareAt(i: Int, value: Array[Byte]): Int =
    ByteArray.compareBinary(sorted(i), value)
}

private[sparkzorder] object BoundsIndex {

  /** The distinct keys of `keys`, ascending. All have the type of the keys of `like`. */
  private[sparkzorder] def ofSortedDistinct(like: BoundsIndex, keys: Seq[AnyRef]): Seq[AnyRef] = {
    def isLess(a: AnyRef, b: AnyRef): Boolean = ofKeys(like, Array(b)).slotOfKey(a) == 0
    val sorted = keys.sortWith(isLess)
    sorted.take(1) ++ sorted.zip(sorted.drop(1)).collect { case (a, b) if isLess(a, b) => b }
  }

  /** @param keys ascending, of the type of the keys of `like` */
  private[sparkzorder] def ofKeys(like: BoundsIndex, keys: Array[AnyRef]): BoundsIndex =
    like match {
      case b: LongBounds =>
        new LongBounds(b.order, keys.map(_.asInstanceOf[java.lang.Long].longValue))
      case b: WideBounds => new WideBounds(b.order, keys.map(_.asInstanceOf[BigInteger]))
      case _: StringBounds => new StringBounds(keys.map(_.asInstanceOf[UTF8String]))
      case _: BinaryBounds => new BinaryBounds(keys.map(_.asInstanceOf[Array[Byte]]))
    }

  /** @param values Catalyst values in ascending order, none null; equal values are allowed */
  def ofSorted(dataType: DataType, values: Array[Any]): BoundsIndex =
    OrderedType.require(dataType) match {
      case f: FixedOrder => new LongBounds(f, values.map(f.toLong))
      case w: WideDecimalOrder =>
        new WideBounds(w, values.map(v => w.unscaled(v.asInstanceOf[Decimal])))
      case StringOrder => new StringBounds(values.map(_.asInstanceOf[UTF8String]))
      case BinaryOrder => new BinaryBounds(values.map(_.asInstanceOf[Array[Byte]]))
    }

  /**
   * Java code for the slot of the unboxed, non-null value `v`.
   *
   * @param index a Java expression; its static type is the subclass of [[BoundsIndex]] for
   *   `dataType`
   */
  def slotCode(dataType: DataType, index: String, v: String): String =
    OrderedType.require(dataType) match {
      case f: FixedOrder => s"$index.slot(${f.longCode(v)})"
      case _ => s"$index.slot($v)"
    }
}
