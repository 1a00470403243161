// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.ordering

import scala.util.Try

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.types.{CharType, DataType, StringType, VarcharType}

/** Which types are orderable. */
class OrderedTypeSuite extends AnyFunSuite {

  test("STRING, CHAR and VARCHAR are ordered by their bytes") {
    for (t <- Seq[DataType](StringType, CharType(3), VarcharType(3)))
      assert(OrderedType.of(t) === Some(StringOrder), t)
  }

  test("text with a collation has no order of bytes, whatever its kind") {
    // strings have collations from Spark 4.0 on, CHAR and VARCHAR from 4.2 on
    val parsed = Seq("STRING", "CHAR(3)", "VARCHAR(3)").flatMap(kind =>
      Try(CatalystSqlParser.parseDataType(s"$kind COLLATE UTF8_LCASE")).toOption)
    parsed.foreach(t => assert(OrderedType.of(t) === None, t))
  }
}
