// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import org.apache.parquet.io.api.{Binary, RecordConsumer}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

/**
 * Writes rows without nested columns, at less cost than Spark's write support. With the settings that a
 * run pins ([[io.sparkzorder.conf.PinnedSession]]), both write the same values.
 *
 * Spark calls a function object for each value. The function differs from column to column, so the JVM
 * cannot compile it into the loop. Here the loop itself has a case for each kind of value.
 *
 * @param names of the columns
 * @param kinds of the columns' values
 * @param precisions of decimals; 0 for other columns
 * @param scales of decimals; 0 for other columns
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

  /** None if a column is of a type that is left to Spark: a nested one, or a rare one. */
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
    // the run's settings write dates, and timestamps in microseconds, as they are
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
