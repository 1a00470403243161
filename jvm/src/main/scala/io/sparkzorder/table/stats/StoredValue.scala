package io.sparkzorder.table.stats

import java.lang.{Boolean => JBoolean}
import java.math.BigInteger

import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.LogicalTypeAnnotation.{TimestampLogicalTypeAnnotation, TimeUnit}
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

import org.apache.spark.sql.types.Decimal
import org.apache.spark.unsafe.types.UTF8String

/** A Spark internal value as a Parquet column of a given type stores it. */
private[sparkzorder] object StoredValue {

  def apply(value: Any, fileType: PrimitiveType): AnyRef =
    if (value == null) null
    else {
      fileType.getPrimitiveTypeName match {
        case PrimitiveTypeName.BOOLEAN => JBoolean.valueOf(value.asInstanceOf[Boolean])
        case PrimitiveTypeName.INT32 => Int.box(Math.toIntExact(integer(value, fileType)))
        case PrimitiveTypeName.INT64 => Long.box(integer(value, fileType))
        case PrimitiveTypeName.FLOAT => Float.box(number(value, fileType).floatValue)
        case PrimitiveTypeName.DOUBLE => Double.box(number(value, fileType).doubleValue)
        // has no usable min/max in any file, so no value is ever compared with
        case PrimitiveTypeName.INT96 => Binary.EMPTY
        case _ => bytes(value, fileType)
      }
    }

  private def integer(value: Any, fileType: PrimitiveType): Long = {
    fileType.getLogicalTypeAnnotation match {
      case t: TimestampLogicalTypeAnnotation if t.getUnit != TimeUnit.MICROS =>
        throw new IllegalArgumentException(s"a range cannot be judged on $fileType")
      case _ =>
    }
    value match {
      case decimal: Decimal => decimal.toUnscaledLong
      case _ => number(value, fileType).longValue
    }
  }

  private def number(value: Any, fileType: PrimitiveType): Number = value match {
    case number: Number => number
    case other => throw mismatch(other, fileType)
  }

  private def bytes(value: Any, fileType: PrimitiveType): Binary = value match {
    case string: UTF8String => Binary.fromConstantByteArray(string.getBytes)
    case string: String => Binary.fromString(string)
    case array: Array[Byte] => Binary.fromConstantByteArray(array)
    case decimal: Decimal => Binary.fromConstantByteArray(unscaled(decimal).toByteArray)
    case other => throw mismatch(other, fileType)
  }

  private def unscaled(decimal: Decimal): BigInteger = decimal.toJavaBigDecimal.unscaledValue

  private def mismatch(value: Any, fileType: PrimitiveType) = new IllegalArgumentException(
    s"the value $value (${value.getClass.getSimpleName}) does not fit the Parquet column $fileType")
}
