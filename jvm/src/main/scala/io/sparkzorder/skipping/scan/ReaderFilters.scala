// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.RebaseDateTime
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.table.{DataFormat, ParquetFiles}

/**
 * Tells which filters the reader of a format may get for row groups and pages. Spark hands readers the values of
 * a filter as objects of Java, and readers compare these objects by rules of their own. Either step can let a reader skip rows
 * that match: a DECIMAL with more digits than the file's type is cut, and then equals no value.
 */
private[scan] final class ReaderFilters(format: DataFormat) {
  private val isParquet = format == ParquetFiles

  /** True if the reader finds all rows for which the filter is true. */
  def isSafe(filter: Expression): Boolean = !filter.exists {
    // ORC's reader before ORC-1898 skips row groups that hold only NULL, although NOT (c <=> value) is true for NULL
    case Not(e) => e.exists(_.isInstanceOf[EqualNullSafe])
    // the values of a set are no children of the set
    case InSet(child, values) => !values.forall(isComparable(_, child.dataType))
    case Literal(value, t) => !isComparable(value, t)
    case e => isFloating(e.dataType)
  }

  /**
   * True if readers compare the value as Spark does. False for NULL, at which the readers of Spark 3.5 fail, and for types that are not listed here. Not listed is
   * DECIMAL: Parquet's reader cuts the digits that the type of the file has no room for.
   */
  private def isComparable(value: Any, t: DataType): Boolean = (value, t) match {
    case (null, _) => false
    case (_, BooleanType | ShortType | IntegerType | LongType) => true
    // the bounds of ORC's C++ writer before ORC-1725 are wrong
    case (_, ByteType) => isParquet
    case (days: Int, DateType) => isComparable(days)
    case (micros: Long, TimestampType) => isComparable(micros)
    case (text: UTF8String, _: StringType) => isComparable(text)
    case _ => false
  }

  /**
   * Before October 1582, two days that an old file stores may be read as the same day, and ORC's reader
   * looks days up in a bloom filter by another calendar than its writer. Unless
   * spark.sql.datetime.java8API.enabled is on, Spark hands readers the midnight of the driver's
   * time zone, and executors may have another zone.
   */
  private def isComparable(days: Int): Boolean =
    days >= RebaseDateTime.lastSwitchJulianDay && SQLConf.get.datetimeJava8ApiEnabled

  /**
   * In a column of milliseconds, Parquet's reader compares with the whole millisecond before the value. ORC
   * keeps the bounds of timestamps by the clock, which shows one hour twice where summer time ends.
   */
  private def isComparable(micros: Long): Boolean =
    isParquet && micros % MicrosOfMilli == 0 && micros >= RebaseDateTime.lastSwitchJulianTs

  /**
   * Text that is not UTF-8 comes back with other bytes. ORC's reader orders text by UTF-16, and the bounds
   * in its files by bytes.
   */
  private def isComparable(text: UTF8String): Boolean = {
    val string = text.toString
    UTF8String.fromString(string) == text && (isParquet || string.forall(_ < FirstNotAscii))
  }

  // Parquet's filter by dictionaries takes 0.0 and -0.0 for two values
  private def isFloating(t: DataType): Boolean = t match {
    case FloatType | DoubleType => true
    case _ => false
  }

  private val MicrosOfMilli = 1000L
  private val FirstNotAscii = 0x80
}
