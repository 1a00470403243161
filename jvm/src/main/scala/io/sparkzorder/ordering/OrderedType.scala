// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import java.math.BigInteger
import java.util.Comparator

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.{ByteArray, UTF8String}

import io.sparkzorder.bits.OrderedLongs

/** The order of an orderable atomic type, and how its values become ordered bits. */
private[sparkzorder] sealed trait OrderedType extends Serializable {

  /** The object by which a non-null Catalyst value is compared, such as the unscaled value of a decimal. */
  def keyOf(value: Any): AnyRef = value.asInstanceOf[AnyRef]

  /** The order of the keys. */
  def keys: Comparator[AnyRef] = (a, b) => a.asInstanceOf[Comparable[AnyRef]].compareTo(b)
}

/**
 * A type of fixed width, whose values map to ordered longs: signed longs in Spark's order.
 *
 * @param bytes the number of bytes of the ordered bits of a value, 1 to 8
 */
private[sparkzorder] final case class FixedOrder(dataType: DataType, bytes: Int)
    extends OrderedType {

  override def keyOf(value: Any): AnyRef = java.lang.Long.valueOf(toLong(value))

  /** The ordered long of a non-null Catalyst value. */
  def toLong(value: Any): Long = value match {
    case v: Int => v.toLong
    case v: Long => v
    case v: Double => OrderedLongs.ofDouble(v)
    case v: Float => OrderedLongs.ofFloat(v)
    case v: Short => v.toLong
    case v: Byte => v.toLong
    case v: Boolean => OrderedLongs.ofBoolean(v)
    case v: Decimal => DecimalOrder.unscaledLong(v, scale)
  }

  /** Java code for [[toLong]] of the unboxed value `v`. */
  def longCode(v: String): String = dataType match {
    case FloatType => s"$kernels.ofFloat($v)"
    case DoubleType => s"$kernels.ofDouble($v)"
    case BooleanType => s"($v ? 1L : 0L)"
    case _: DecimalType =>
      s"${JavaNames.of(DecimalOrder)}.unscaledLong($v, $scale)"
    case _ => s"((long) $v)"
  }

  /** The ordered bits of an ordered long, in the `bytes` most significant bytes of the result. */
  def toBits(ordered: Long): Long =
    // a BOOLEAN is 0 or 1, so it has no sign bit that must be flipped
    if (dataType == BooleanType) ordered << 56 else OrderedLongs.toBits(ordered, bytes)

  /** Java code for [[toBits]] of the Java expression `ordered`. */
  def bitsCode(ordered: String): String =
    if (dataType == BooleanType) s"($ordered << 56)" else s"$kernels.toBits($ordered, $bytes)"

  private def kernels: String = JavaNames.of(OrderedLongs)

  private def scale: Int = dataType match {
    case d: DecimalType => d.scale
    case _ => 0
  }
}

/** DECIMAL of more than 18 digits: its unscaled value is a 128-bit integer. */
private[sparkzorder] final case class WideDecimalOrder(scale: Int) extends OrderedType {
  override def keyOf(value: Any): AnyRef = unscaled(value.asInstanceOf[Decimal])

  def unscaled(value: Decimal): BigInteger = DecimalOrder.unscaled(value, scale)

  /** Java code for [[unscaled]] of the value `v`. */
  def unscaledCode(v: String): String = s"${JavaNames.of(DecimalOrder)}.unscaled($v, $scale)"
}

/** STRING, CHAR and VARCHAR in binary order. */
private[sparkzorder] case object StringOrder extends OrderedType {
  override def keys: Comparator[AnyRef] = (a, b) =>
    TypeBridge.compareBinary(a.asInstanceOf[UTF8String], b.asInstanceOf[UTF8String])
}

/** BINARY. */
private[sparkzorder] case object BinaryOrder extends OrderedType {
  override def keys: Comparator[AnyRef] = (a, b) =>
    ByteArray.compareBinary(a.asInstanceOf[Array[Byte]], b.asInstanceOf[Array[Byte]])
}

private[sparkzorder] object OrderedType {

  /** The order of `dataType`; None if it is not an orderable atomic type. */
  def of(dataType: DataType): Option[OrderedType] = dataType match {
    case BooleanType | ByteType => Some(FixedOrder(dataType, 1))
    case ShortType => Some(FixedOrder(dataType, 2))
    case IntegerType | FloatType | DateType => Some(FixedOrder(dataType, 4))
    case _: YearMonthIntervalType => Some(FixedOrder(dataType, 4))
    case LongType | DoubleType | TimestampType | TimestampNTZType => Some(FixedOrder(dataType, 8))
    case _: DayTimeIntervalType => Some(FixedOrder(dataType, 8))
    // the class of TIME, whose values are nanoseconds of the day, is missing before Spark 4.1
    case t if t.typeName.startsWith("time(") => Some(FixedOrder(dataType, 8))
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS => Some(FixedOrder(d, 8))
    case d: DecimalType => Some(WideDecimalOrder(d.scale))
    case text if TypeBridge.isTextInBinaryOrder(text) => Some(StringOrder)
    case BinaryType => Some(BinaryOrder)
    case _ => None
  }

  /** Like [[of]], for a type that is known to be orderable. */
  def require(dataType: DataType): OrderedType = of(dataType).getOrElse {
    throw new IllegalArgumentException(s"${dataType.sql} is not an orderable atomic type")
  }

  /** The bytes of a key of a type that has no fixed width. */
  def bytesOf(key: AnyRef): Array[Byte] = key match {
    case wide: BigInteger => wide.toByteArray
    case string: UTF8String => string.getBytes
    case binary: Array[Byte] => binary
  }
}

/** The unscaled values of decimals. */
private[sparkzorder] object DecimalOrder {

  /** The unscaled value at `scale` of a decimal of at most 18 digits. */
  def unscaledLong(value: Decimal, scale: Int): Long =
    if (value.scale == scale) value.toUnscaledLong else unscaled(value, scale).longValue

  /** The unscaled value at `scale` of any decimal. */
  def unscaled(value: Decimal, scale: Int): BigInteger =
    value.toJavaBigDecimal.setScale(scale, java.math.RoundingMode.HALF_UP).unscaledValue
}

/** Ordered bits of Spark's strings, whose bytes can be on or off the heap. */
private[sparkzorder] object OrderedStrings {

  /** The first `bytes` bytes of a string, zero-padded on the right. */
  def padded(value: UTF8String, bytes: Int): Array[Byte] = {
    val out = new Array[Byte](bytes)
    val length = math.min(bytes, value.numBytes)
    Platform.copyMemory(
      value.getBaseObject,
      value.getBaseOffset,
      out,
      Platform.BYTE_ARRAY_OFFSET.toLong,
      length.toLong)
    out
  }
}

/** Names of Scala objects in generated Java code. */
private[sparkzorder] object JavaNames {

  /** The class with the static forwarders to the methods of a Scala object. */
  def of(scalaObject: AnyRef): String = scalaObject.getClass.getName.stripSuffix("$")
}
