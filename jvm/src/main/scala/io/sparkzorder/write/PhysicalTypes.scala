// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.math.BigInteger
import java.nio.{ByteBuffer, ByteOrder}

import org.apache.parquet.io.api.{Binary, RecordConsumer}
import org.apache.parquet.schema.{GroupType, LogicalTypeAnnotation, PrimitiveType, Type}
import org.apache.parquet.schema.LogicalTypeAnnotation.{TimestampLogicalTypeAnnotation, TimeUnit}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

import org.apache.spark.sql.catalyst.util.DateTimeUtils

/**
 * Stands between Spark's Parquet writer and the file. It converts the physical values that Spark
 * writes to the types of the input files: decimals as byte arrays, and timestamps in milliseconds
 * or as INT96. Every conversion is exact, because the values came from files of the same types.
 *
 * @param target schema of the file
 * @param spark schema of Spark's writer; same shape, other physical types
 */
private[sparkzorder] final class PhysicalTypes(
    out: RecordConsumer,
    target: GroupType,
    spark: GroupType)
    extends RecordConsumer {
  import PhysicalTypes._

  // the open groups of both schemas, the innermost group first and the root last
  private var targets: List[GroupType] = target :: Nil
  private var sparks: List[GroupType] = spark :: Nil
  private var targetField: List[Type] = Nil
  private var sparkField: List[Type] = Nil
  private var convert: Conversion = Same

  override def startMessage(): Unit = out.startMessage()
  override def endMessage(): Unit = out.endMessage()

  override def startField(field: String, index: Int): Unit = {
    targetField = targets.head.getType(index) :: targetField
    sparkField = sparks.head.getType(index) :: sparkField
    if (targetField.head.isPrimitive) {
      convert = conversion(targetField.head.asPrimitiveType(), sparkField.head.asPrimitiveType())
    }
    out.startField(field, index)
  }

  override def endField(field: String, index: Int): Unit = {
    targetField = targetField.tail
    sparkField = sparkField.tail
    out.endField(field, index)
  }

  override def startGroup(): Unit = {
    targets = targetField.head.asGroupType() :: targets
    sparks = sparkField.head.asGroupType() :: sparks
    out.startGroup()
  }

  override def endGroup(): Unit = {
    targets = targets.tail
    sparks = sparks.tail
    out.endGroup()
  }

  override def addInteger(value: Int): Unit = convert match {
    case Same => out.addInteger(value)
    case LongValue => out.addLong(value.toLong)
    case Bytes(width) => out.addBinary(twosComplement(value.toLong, width))
    case other => unexpected(other)
  }

  override def addLong(value: Long): Unit = convert match {
    case Same => out.addLong(value)
    case IntValue => out.addInteger(Math.toIntExact(value))
    case Millis => out.addLong(DateTimeUtils.microsToMillis(value))
    case Int96 => out.addBinary(int96(value))
    case Bytes(width) => out.addBinary(twosComplement(value, width))
    case other => unexpected(other)
  }

  override def addBinary(value: Binary): Unit = convert match {
    case Same => out.addBinary(value)
    case Bytes(width) => out.addBinary(resized(value.getBytes, width))
    case other => unexpected(other)
  }

  override def addBoolean(value: Boolean): Unit = out.addBoolean(value)
  override def addFloat(value: Float): Unit = out.addFloat(value)
  override def addDouble(value: Double): Unit = out.addDouble(value)
  override def flush(): Unit = out.flush()

  private def unexpected(c: Conversion): Nothing =
    throw new IllegalStateException(
      s"no conversion $c from ${sparkField.head} to ${targetField.head}")
}

private[sparkzorder] object PhysicalTypes {
  sealed trait Conversion
  case object Same extends Conversion
  case object LongValue extends Conversion
  case object IntValue extends Conversion
  case object Millis extends Conversion
  case object Int96 extends Conversion

  /** Two's complement, big-endian; `width` 0 stands for the fewest bytes that hold the value. */
  final case class Bytes(width: Int) extends Conversion

  /** True if at least one column needs a conversion. */
  def needed(target: GroupType, spark: GroupType): Boolean =
    (0 until target.getFieldCount).exists { i =>
      (target.getType(i), spark.getType(i)) match {
        case (t: PrimitiveType, s: PrimitiveType) => conversion(t, s) != Same
        case (t: GroupType, s: GroupType) => needed(t, s)
        case (t, s) => throw new IllegalStateException(s"$t and $s differ in shape")
      }
    }

  /** The conversion of a value from Spark's physical type to the physical type in the file. */
  def conversion(target: PrimitiveType, spark: PrimitiveType): Conversion =
    (spark.getPrimitiveTypeName, target.getPrimitiveTypeName) match {
      case (INT64, INT96) => Int96
      case (INT64, INT64) if unit(target).contains(TimeUnit.MILLIS) => Millis
      case (INT32, INT64) => LongValue
      case (INT64, INT32) => IntValue
      case (INT32 | INT64, FIXED_LEN_BYTE_ARRAY) => Bytes(target.getTypeLength)
      case (INT32 | INT64 | FIXED_LEN_BYTE_ARRAY, BINARY) => Bytes(0)
      case (FIXED_LEN_BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY)
          if spark.getTypeLength != target.getTypeLength =>
        Bytes(target.getTypeLength)
      case (a, b) if a == b => Same
      case (a, b) => throw new IllegalStateException(s"cannot write $a as $b (${target.getName})")
    }

  private def unit(t: PrimitiveType): Option[LogicalTypeAnnotation.TimeUnit] =
    t.getLogicalTypeAnnotation match {
      case ts: TimestampLogicalTypeAnnotation => Some(ts.getUnit)
      case _ => None
    }

  private def twosComplement(value: Long, width: Int): Binary =
    resized(BigInteger.valueOf(value).toByteArray, width)

  private[sparkzorder] def resized(bytes: Array[Byte], width: Int): Binary = {
    val minimal = new BigInteger(bytes).toByteArray
    if (width == 0) Binary.fromConstantByteArray(minimal)
    else {
      require(minimal.length <= width, s"${minimal.length} bytes do not fit into $width")
      val padded = new Array[Byte](width)
      java.util.Arrays.fill(padded, (if (minimal(0) < 0) -1 else 0).toByte)
      System.arraycopy(minimal, 0, padded, width - minimal.length, minimal.length)
      Binary.fromConstantByteArray(padded)
    }
  }

  private def int96(micros: Long): Binary = {
    val (day, nanos) = DateTimeUtils.toJulianDay(micros)
    val bytes = ByteBuffer.allocate(12).order(ByteOrder.LITTLE_ENDIAN)
    bytes.putLong(nanos).putInt(day)
    Binary.fromConstantByteArray(bytes.array())
  }
}
