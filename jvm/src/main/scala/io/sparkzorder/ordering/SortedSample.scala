// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import java.math.BigInteger
import java.util.{Arrays, Comparator}

import scala.collection.mutable.ArrayBuilder
import scala.reflect.ClassTag

import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.types.{ByteArray, UTF8String}

/**
 * The distinct values of the sample of a column, in Spark's order, each with its weight.
 *
 * @param weights the weight of each distinct value, positive
 * @param take makes bounds from the values at the given indices, which ascend
 */
private[sparkzorder] final class SortedSample(
    val weights: Array[Double],
    val take: Array[Int] => BoundsIndex) {

  /** All distinct values. */
  def all: BoundsIndex = take(Array.range(0, weights.length))
}

private[sparkzorder] object SortedSample {

  /**
   * @param values Catalyst values in any order, none null
   * @param weights one for each value, or null if each has the weight 1; values of weight 0 are
   *   dropped
   */
  def apply(dataType: DataType, values: Array[Any], weights: Array[Double]): SortedSample =
    OrderedType.require(dataType) match {
      case f: FixedOrder if weights == null => ofOrderedLongs(f, values.map(f.toLong))
      case f: FixedOrder =>
        ofKeys(dataType, values.map(v => java.lang.Long.valueOf(f.toLong(v))), weights)
      case w: WideDecimalOrder =>
        ofKeys(dataType, values.map(v => w.unscaled(v.asInstanceOf[Decimal])), weights)
      case _ => ofKeys(dataType, values.map(_.asInstanceOf[AnyRef]), weights)
    }

  /**
   * Like [[apply]], for keys in place of values.
   *
   * @param keys as [[BoundsIndex.key]] returns them
   */
  def ofKeys(dataType: DataType, keys: Array[_ <: AnyRef], weights: Array[Double]): SortedSample =
    OrderedType.require(dataType) match {
      case f: FixedOrder =>
        distinct[java.lang.Long](keys, weights, Comparator.naturalOrder[java.lang.Long])(k =>
          new LongBounds(f, k.map(_.longValue)))
      case w: WideDecimalOrder =>
        distinct[BigInteger](keys, weights, Comparator.naturalOrder[BigInteger])(
          new WideBounds(w, _))
      case StringOrder =>
        // the strings are copied, because a string of the sample can keep its whole row in memory
        distinct[UTF8String](keys, weights, binaryOrder)(k => new StringBounds(k.map(_.clone())))
      case BinaryOrder =>
        distinct[Array[Byte]](keys, weights, (a, b) => ByteArray.compareBinary(a, b))(
          new BinaryBounds(_))
    }

  private val binaryOrder: Comparator[UTF8String] = (a, b) => TypeBridge.compareBinary(a, b)

  /**
   * The common case, without boxing: ordered longs of equal weight.
   *
   * @param keys in any order; this method sorts the array in place
   */
  def ofOrderedLongs(order: FixedOrder, keys: Array[Long]): SortedSample = {
    Arrays.parallelSort(keys)
    val values = new ArrayBuilder.ofLong
    val counts = new ArrayBuilder.ofDouble
    var i = 0
    while (i < keys.length) {
      val start = i
      while (i < keys.length && keys(i) == keys(start)) i += 1
      values += keys(start)
      counts += (i - start).toDouble
    }
    val distinct = values.result()
    new SortedSample(counts.result(), taken => new LongBounds(order, taken.map(d => distinct(d))))
  }

  private def distinct[K <: AnyRef: ClassTag](
      untyped: Array[_ <: AnyRef],
      weights: Array[Double],
      order: Comparator[K])(bounds: Array[K] => BoundsIndex): SortedSample = {
    val keys = untyped.map(_.asInstanceOf[K])
    val weighty = keys.indices.filter(i => weights == null || weights(i) > 0)
    val byKey = weighty.map(Integer.valueOf).toArray
    Arrays.parallelSort(byKey, (a: Integer, b: Integer) => order.compare(keys(a), keys(b)))
    val values = Array.newBuilder[K]
    val sums = Array.newBuilder[Double]
    var i = 0
    while (i < byKey.length) {
      val value = keys(byKey(i))
      var sum = 0.0
      while (i < byKey.length && order.compare(keys(byKey(i)), value) == 0) {
        sum += (if (weights == null) 1.0 else weights(byKey(i)))
        i += 1
      }
      values += value
      sums += sum
    }
    val sorted = values.result()
    new SortedSample(sums.result(), taken => bounds(taken.map(d => sorted(d))))
  }
}
