package io.sparkzorder.table.stats

import java.math.{BigDecimal, BigInteger}

import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.LogicalTypeAnnotation.{TimestampLogicalTypeAnnotation, TimeUnit}
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Bounds of a footer as Catalyst values, so that they compare with values of rows. */
object StatisticValue {

  /**
   * A bound as a value of `dataType`, decoded with the file's own type and scale.
   *
   * @return None where the file's type gives no such value
   */
  def apply(value: Any, t: PrimitiveType, dataType: DataType): Option[Any] =
    (value, dataType) match {
      case (b: java.lang.Boolean, BooleanType) => Some(b.booleanValue)
      case (n: Number, ByteType) => Some(n.byteValue)
      case (n: Number, ShortType) => Some(n.shortValue)
      case (n: Number, IntegerType | DateType | _: YearMonthIntervalType) => Some(n.intValue)
      case (n: Number, LongType | _: DayTimeIntervalType) => Some(n.longValue)
      case (n: java.lang.Float, FloatType) => Some(n.floatValue)
      case (n: Number, DoubleType) => Some(n.doubleValue)
      case (n: Number, TimestampType | TimestampNTZType) => Some(micros(n.longValue, t))
      case (n: Number, d: DecimalType) => decimal(BigInteger.valueOf(n.longValue), t, d)
      case (b: Binary, d: DecimalType) => decimal(new BigInteger(b.getBytes), t, d)
      // the 16 bytes of a UUID, which Iceberg shows as text, are no text
      case (b: Binary, _: StringType) if t.getPrimitiveTypeName == PrimitiveTypeName.BINARY =>
        Some(UTF8String.fromBytes(b.getBytes))
      case (b: Binary, BinaryType) => Some(b.getBytes)
      // TIME of Spark 4.1: nanoseconds in memory, microseconds in files
      case (n: Number, other) if other.typeName.startsWith("time(") => Some(n.longValue * 1000L)
      case _ => None
    }

  private def micros(value: Long, t: PrimitiveType): Long = t.getLogicalTypeAnnotation match {
    case ts: TimestampLogicalTypeAnnotation if ts.getUnit == TimeUnit.MILLIS => value * 1000L
    case _ => value
  }

  private def decimal(unscaled: BigInteger, t: PrimitiveType, d: DecimalType): Option[Decimal] = {
    val scale = t.getLogicalTypeAnnotation match {
      case a: org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation =>
        a.getScale
      case _ => d.scale
    }
    Some(Decimal(new BigDecimal(unscaled, scale), d.precision, d.scale))
  }
}
