// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index.values

import java.math.BigInteger

import org.apache.spark.sql.catalyst.expressions.{SpecializedGetters, XXH64}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform

import io.sparkzorder.bits.OrderedLongs
import io.sparkzorder.ordering.{OrderedType, StringOrder}

/**
 * A group of types whose values the index of values treats alike. Values that are equal for Spark have the
 * same hash in every type of the group: INT and BIGINT, FLOAT and DOUBLE, decimals of one scale and any
 * precision.
 *
 * @param text the name of the domain in files
 */
private[sparkzorder] sealed abstract class ValueDomain(val text: String) extends Serializable {

  /**
   * A function from a row to the hash of the value at position `ordinal`, which must not be NULL.
   *
   * @param dataType the type of the column in the rows
   * @param seed the seed of the hash
   */
  def hasher(ordinal: Int, dataType: DataType, seed: Long): SpecializedGetters => Long
}

/** Integers, and decimals by their unscaled values. */
private[sparkzorder] final case class ExactNumbers(scale: Int)
    extends ValueDomain(s"exact($scale)") {

  override def hasher(ordinal: Int, dataType: DataType, seed: Long): SpecializedGetters => Long =
    dataType match {
      case ByteType => r => ValueHash.ofLong(r.getByte(ordinal).toLong, seed)
      case ShortType => r => ValueHash.ofLong(r.getShort(ordinal).toLong, seed)
      case IntegerType => r => ValueHash.ofLong(r.getInt(ordinal).toLong, seed)
      case LongType => r => ValueHash.ofLong(r.getLong(ordinal), seed)
      case d: DecimalType => r =>
          val value = r.getDecimal(ordinal, d.precision, d.scale)
          ValueHash.ofUnscaled(value.toJavaBigDecimal.setScale(scale).unscaledValue, seed)
    }
}

/** FLOAT and DOUBLE. All NaN values have one hash, and 0.0 and -0.0 have one hash. */
private[sparkzorder] case object RealNumbers extends ValueDomain("real") {
  override def hasher(ordinal: Int, dataType: DataType, seed: Long): SpecializedGetters => Long =
    dataType match {
      case FloatType =>
        r => ValueHash.ofLong(OrderedLongs.ofDouble(r.getFloat(ordinal).toDouble), seed)
      case DoubleType => r => ValueHash.ofLong(OrderedLongs.ofDouble(r.getDouble(ordinal)), seed)
    }
}

/** STRING and BINARY. */
private[sparkzorder] case object ByteStrings extends ValueDomain("bytes") {
  override def hasher(ordinal: Int, dataType: DataType, seed: Long): SpecializedGetters => Long =
    dataType match {
      case BinaryType => r => ValueHash.ofBytes(r.getBinary(ordinal), seed)
      case _ => r =>
          val text = r.getUTF8String(ordinal)
          XXH64.hashUnsafeBytes(text.getBaseObject, text.getBaseOffset, text.numBytes, seed)
    }
}

private[sparkzorder] object ValueDomain {

  /** The domain of a type; None if values of the type are not indexed, such as BOOLEAN and DATE. */
  def of(dataType: DataType): Option[ValueDomain] = dataType match {
    // before the case of strings, because CharType extends StringType in some Spark versions
    case _: CharType => None
    case ByteType | ShortType | IntegerType | LongType => Some(ExactNumbers(0))
    case d: DecimalType => Some(ExactNumbers(d.scale))
    case FloatType | DoubleType => Some(RealNumbers)
    case BinaryType => Some(ByteStrings)
    case other => OrderedType.of(other).filter(_ == StringOrder).map(_ => ByteStrings)
  }
}

/**
 * The hash of a value in its domain: XXH64, which is the same on all lines of Spark. SQL's function
 * `xxhash64` cannot be used, because it gives equal INT and BIGINT values different hashes.
 */
private[sparkzorder] object ValueHash {

  /** The hash of an integer, or of the ordered long of a floating-point number. */
  def ofLong(value: Long, seed: Long): Long = XXH64.hashLong(value, seed)

  /**
   * The hash of a decimal. If the unscaled value fits into 64 bits, it has the hash of the equal integer, so the
   * precision does not matter.
   */
  def ofUnscaled(value: BigInteger, seed: Long): Long =
    if (value.bitLength < 64) ofLong(value.longValue, seed) else ofBytes(value.toByteArray, seed)

  def ofBytes(value: Array[Byte], seed: Long): Long =
    XXH64.hashUnsafeBytes(value, Platform.BYTE_ARRAY_OFFSET.toLong, value.length, seed)
}
