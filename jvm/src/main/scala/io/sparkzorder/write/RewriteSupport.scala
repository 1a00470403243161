// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.math.BigInteger
import java.nio.{ByteBuffer, ByteOrder}

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.hadoop.api.WriteSupport.WriteContext
import org.apache.parquet.io.api.{Binary, RecordConsumer}
import org.apache.parquet.schema.{
  GroupType,
  LogicalTypeAnnotation,
  MessageType,
  PrimitiveType,
  Type
}
import org.apache.parquet.schema.LogicalTypeAnnotation.{TimestampLogicalTypeAnnotation, TimeUnit}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.execution.datasources.parquet.{ParquetReadSupport, ParquetWriteSupport}
import org.apache.spark.sql.types._

/**
 * Spark's write support with another Parquet schema and other key-values. Values are converted to the types of
 * this schema.
 *
 * @param keyValues further key-values of the footer; those that Spark writes take precedence
 * @param notesSparkSchema true to write Spark's schema into the footer
 * @param dataSchema the columns to write; a row may have more columns at its end
 */
private final class RewriteSupport(
    target: MessageType,
    keyValues: Map[String, String],
    notesSparkSchema: Boolean,
    dataSchema: StructType)
    extends ParquetWriteSupport {
  private val flat = FlatRows.of(dataSchema)
  // removes further columns at the end of a row, because Spark's write support writes all columns of a row
  private lazy val columns = UnsafeProjection.create(dataSchema)
  private var spark: MessageType = _
  private var out: RecordConsumer = _

  override def init(configuration: Configuration): WriteContext = {
    val context = super.init(configuration)
    spark = context.getSchema
    val ofSpark = context.getExtraMetaData.asScala
      .filter { case (key, _) => notesSparkSchema || key != ParquetReadSupport.SPARK_METADATA_KEY }
    new WriteContext(target, (keyValues ++ ofSpark).asJava)
  }

  override def prepareForWrite(consumer: RecordConsumer): Unit = {
    out =
      if (PhysicalTypes.needed(target, spark)) new PhysicalTypes(consumer, target, spark)
      else consumer
    super.prepareForWrite(out)
  }

  override def write(row: InternalRow): Unit =
    if (flat.isDefined) flat.get.write(row, out)
    else super.write(if (row.numFields > dataSchema.length) columns(row) else row)
}

/**
 * Writes rows without nested columns in less time than Spark's write support. With the settings that a run pins
 * ([[io.sparkzorder.conf.PinnedSession]]), both write the same values.
 *
 * Spark calls a function object for each value. The function differs from column to column, so the JVM
 * cannot compile it into the loop. Here the loop itself has a case for each kind of value.
 *
 * @param names the names of the columns
 * @param kinds the kinds of the columns' values
 * @param precisions the precisions of decimals; 0 for other columns
 * @param scales the scales of decimals; 0 for other columns
 */
private[write] final class FlatRows private (
    names: Array[String],
    kinds: Array[Int],
    precisions: Array[Int],
    scales: Array[Int]) {
  import FlatRows._

  /** @param row may have more columns at its end, which are not written */
  def write(row: InternalRow, out: RecordConsumer): Unit = {
    out.startMessage()
    var i = 0
    while (i < kinds.length) {
      if (!row.isNullAt(i)) {
        out.startField(names(i), i)
        value(row, i, out)
        out.endField(names(i), i)
      }
      i += 1
    }
    out.endMessage()
  }

  private def value(row: InternalRow, i: Int, out: RecordConsumer): Unit = kinds(i) match {
    case Ints => out.addInteger(row.getInt(i))
    case Longs => out.addLong(row.getLong(i))
    case Strings => out.addBinary(Binary.fromReusedByteArray(row.getUTF8String(i).getBytes))
    case IntDecimals =>
      out.addInteger(row.getDecimal(i, precisions(i), scales(i)).toUnscaledLong.toInt)
    case LongDecimals => out.addLong(row.getDecimal(i, precisions(i), scales(i)).toUnscaledLong)
    case Doubles => out.addDouble(row.getDouble(i))
    case Floats => out.addFloat(row.getFloat(i))
    case Booleans => out.addBoolean(row.getBoolean(i))
    case Shorts => out.addInteger(row.getShort(i).toInt)
    case Bytes => out.addInteger(row.getByte(i).toInt)
    case Binaries => out.addBinary(Binary.fromReusedByteArray(row.getBinary(i)))
  }
}

private[write] object FlatRows {
  // constants, so that a match is one jump by a table
  private final val Ints = 0
  private final val Longs = 1
  private final val Strings = 2
  private final val IntDecimals = 3
  private final val LongDecimals = 4
  private final val Doubles = 5
  private final val Floats = 6
  private final val Booleans = 7
  private final val Shorts = 8
  private final val Bytes = 9
  private final val Binaries = 10

  /** None if some column has a nested or rare type, which is left to Spark. */
  def of(schema: StructType): Option[FlatRows] = {
    val types = schema.fields.map(_.dataType)
    val kinds = types.flatMap(kindOf(_))
    if (kinds.length < types.length) None
    else {
      Some(
        new FlatRows(
          schema.fieldNames,
          kinds,
          types.collect { case d: DecimalType => d.precision; case _ => 0 },
          types.collect { case d: DecimalType => d.scale; case _ => 0 }))
    }
  }

  private def kindOf(dataType: DataType): Option[Int] = dataType match {
    // with the settings of the run, Spark also writes dates, and timestamps in microseconds, unchanged
    case IntegerType | DateType | _: YearMonthIntervalType => Some(Ints)
    case LongType | TimestampType | TimestampNTZType | _: DayTimeIntervalType => Some(Longs)
    case _: StringType => Some(Strings)
    case d: DecimalType if d.precision <= Decimal.MAX_INT_DIGITS => Some(IntDecimals)
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS => Some(LongDecimals)
    case DoubleType => Some(Doubles)
    case FloatType => Some(Floats)
    case BooleanType => Some(Booleans)
    case ShortType => Some(Shorts)
    case ByteType => Some(Bytes)
    case BinaryType => Some(Binaries)
    case _ => None
  }
}

/**
 * Converts the physical values that Spark's Parquet writer writes to the types of the input files: decimals
 * as byte arrays, and timestamps in milliseconds or as INT96. Every conversion is exact, because the values
 * came from files of the same types.
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

  /**
   * The conversion of a value from Spark's physical type to the physical type in the file. Only a timestamp of Spark is
   * converted like a timestamp: Spark may read a timestamp of the file as a BIGINT, because another program has copied
   * Spark's schema into the footer. Then Spark reads and writes the number that is stored.
   */
  def conversion(target: PrimitiveType, spark: PrimitiveType): Conversion =
    (spark.getPrimitiveTypeName, target.getPrimitiveTypeName) match {
      case (INT64, INT96) if unit(spark).isDefined => Int96
      case (INT64, INT64) if unit(spark).isDefined && unit(target).contains(TimeUnit.MILLIS) =>
        Millis
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

  def resized(bytes: Array[Byte], width: Int): Binary = {
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
