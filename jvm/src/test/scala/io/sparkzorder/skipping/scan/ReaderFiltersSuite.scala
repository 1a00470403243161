// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.sparkzorder.table.{DataFormat, OrcFiles, ParquetFiles}

/** Which values the reader of each format gets. */
class ReaderFiltersSuite extends AnyFunSuite {

  private def isSafe(format: DataFormat, value: Any, t: DataType): Boolean = {
    val filter = LessThan(AttributeReference("c", t)(), Literal(stored(value), t))
    new ReaderFilters(format).isSafe(filter)
  }

  private def stored(value: Any): Any = value match {
    case bytes: Seq[_] => bytes.map(_.asInstanceOf[Byte]).toArray
    case other => other
  }

  private val second = 1577836800000000L
  private val gap = -141432

  // value, type, whether Parquet's reader gets the value, and ORC's
  private val cases = Seq[(Any, DataType, Boolean, Boolean)](
    (7, IntegerType, true, true),
    (7L, LongType, true, true),
    (null, IntegerType, false, false),
    (7.toByte, ByteType, true, false),
    (Decimal("1.50"), DecimalType(9, 2), false, false),
    (0.0, DoubleType, false, false),
    (18000, DateType, false, false),
    // 10 October 1582
    (gap, DateType, false, false),
    (second, TimestampType, true, false),
    (second + 1000, TimestampType, true, false),
    (second + 1, TimestampType, false, false),
    (gap * 86400000000L, TimestampType, false, false),
    // 1899
    (-2210000000000000L, TimestampType, false, false),
    (UTF8String.fromString("text"), StringType, true, true),
    (UTF8String.fromString("größer"), StringType, true, false),
    (UTF8String.fromBytes(Array(0x6b, 0xff).map(_.toByte)), StringType, false, false),
    (Seq[Byte](1), BinaryType, false, false))

  for ((value, t, parquet, orc) <- cases) test(s"$value of ${t.sql}") {
    assert(isSafe(ParquetFiles, value, t) === parquet)
    assert(isSafe(OrcFiles, value, t) === orc)
  }

  test("days, where Spark hands readers days instead of midnights") {
    SQLConf.withExistingConf(new SQLConf) {
      SQLConf.get.setConf(SQLConf.DATETIME_JAVA8API_ENABLED, true)
      for (format <- Seq(ParquetFiles, OrcFiles)) {
        assert(isSafe(format, 18000, DateType))
        assert(!isSafe(format, gap, DateType))
        // 1 March 1500
        assert(!isSafe(format, -171595, DateType))
      }
    }
  }

  test("sets, and NULL that is distinct from a value") {
    val parquet = new ReaderFilters(ParquetFiles)
    val c = AttributeReference("c", IntegerType)()
    assert(parquet.isSafe(InSet(c, Set(1, 2))))
    assert(!parquet.isSafe(InSet(c, Set(1, null))))
    assert(parquet.isSafe(c <=> 1) && !parquet.isSafe(!(c <=> 1)))
    assert(parquet.isSafe(And(c > 1, c < 5)) && !parquet.isSafe(And(c > 1, !(c <=> 3))))
  }
}
