package io.sparkzorder.expressions

import java.math.BigInteger
import java.util.{Arrays, Comparator}

import scala.reflect.ClassTag

import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.bits.ByteStrings

/**
 * The distinct values of a column's sample in Spark's order, each with its weight.
 *
 * @param weights the weight of each distinct value, positive
 * @param take the bounds at the given indices, which ascend
 */
private[expressions] final class SortedSample(
    val weights: Array[Double],
    val take: Array[Int] => BoundsIndex)

private[expressions] object SortedSample {

  /**
   * @param values Catalyst values in any order, none null
   * @param weights one a value, or null if each weighs 1; values of no weight are left out
   */
  def apply(dataType: DataType, values: Array[Any], weights: Array[Double]): SortedSample =
    OrderedType.require(dataType) match {
      case f: FixedOrder =>
        val keys = values.map(f.toLong)
        if (weights == null) ofLongs(f, keys)
        else {
          val boxed = keys.map(java.lang.Long.valueOf)
          distinct[java.lang.Long](boxed, weights, Comparator.naturalOrder[java.lang.Long])(k =>
            new LongBounds(f, k.map(_.longValue)))
        }
      case w: WideDecimalOrder =>
        val keys = values.map(v => w.unscaled(v.asInstanceOf[Decimal]))
        distinct[BigInteger](keys, weights, Comparator.naturalOrder[BigInteger])(
          new WideBounds(w, _))
      case StringOrder =>
        val keys = values.map(_.asInstanceOf[UTF8String])
        // copied: the sample's strings may hold on to the whole rows that they came in
        distinct[UTF8String](keys, weights, binaryOrder)(k => new StringBounds(k.map(_.clone())))
      case BinaryOrder =>
        val keys = values.map(_.asInstanceOf[Array[Byte]])
        distinct[Array[Byte]](keys, weights, (a, b) => ByteStrings.compare(a, b))(
          new BinaryBounds(_))
    }

  private val binaryOrder: Comparator[UTF8String] = (a, b) => TypeBridge.compareBinary(a, b)

  /** The common case without boxes: equal weights and an ordered long. */
  private def ofLongs(order: FixedOrder, keys: Array[Long]): SortedSample = {
    Arrays.parallelSort(keys)
    val starts = keys.indices.filter(i => i == 0 || keys(i) != keys(i - 1)).toArray
    val counts = starts.indices.map { d =>
      val end = if (d + 1 < starts.length) starts(d + 1) else keys.length
      (end - starts(d)).toDouble
    }
    new SortedSample(
      counts.toArray,
      taken => new LongBounds(order, taken.map(d => keys(starts(d)))))
  }

  private def distinct[K <: AnyRef: ClassTag](
      keys: Array[K],
      weights: Array[Double],
      order: Comparator[K])(bounds: Array[K] => BoundsIndex): SortedSample = {
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
