// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.stats

import org.apache.parquet.schema.{LogicalTypeAnnotation, PrimitiveType, Types}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT32
import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types._

/** Bounds of files whose column has another type than the table's column, which was widened. */
class WidenedColumnStatsSuite extends AnyFunSuite {

  private def range(t: PrimitiveType, dataType: DataType): Option[FileRange] =
    ColumnStats(0L, 100, 500, known = true).in(t, dataType).range

  test("whole numbers in a column of decimals have no digits after the point") {
    val plain: PrimitiveType = Types.required(INT32).named("a")
    assert(range(
      plain,
      DecimalType(12, 2)) === Some(FileRange(Decimal("100.00"), Decimal("500.00"))))
    val decimal: PrimitiveType =
      Types.required(INT32).as(LogicalTypeAnnotation.decimalType(2, 5)).named("a")
    assert(range(
      decimal,
      DecimalType(12, 4)) === Some(FileRange(Decimal("1.0000"), Decimal("5.0000"))))
  }

  test("days in a column of timestamps") {
    val days: PrimitiveType =
      Types.required(INT32).as(LogicalTypeAnnotation.dateType()).named("a")
    val day = 24L * 3600 * 1000000
    assert(range(days, TimestampNTZType) === Some(FileRange(100 * day, 500 * day)))
    assert(range(days, TimestampType) === None)
  }
}
