// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.table.stats

import org.apache.hadoop.hive.common.`type`.HiveDecimal
import org.apache.hadoop.hive.serde2.io.HiveDecimalWritable
import org.apache.orc.OrcFile.{WriterImplementation, WriterVersion}
import org.apache.orc.TypeDescription
import org.apache.orc.impl.ColumnStatisticsImpl
import org.apache.parquet.io.api.Binary
import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.table.OrcSchema

/** What is believed of ORC's statistics. */
class OrcColumnStatsSuite extends AnyFunSuite {
  private val java = WriterVersion.ORC_14
  private val cpp = WriterVersion.from(WriterImplementation.ORC_CPP, 6)
  private val trino = WriterVersion.from(WriterImplementation.TRINO, 6)

  private def bounds(dataType: String, version: WriterVersion = java)(
      values: (ColumnStatisticsImpl => Unit)*): ColumnStats = {
    val leaf = OrcSchema.of(TypeDescription.fromString(s"struct<x:$dataType>"), "f").leaves.head
    val s = ColumnStatisticsImpl.create(leaf.types)
    values.foreach { update =>
      s.increment()
      update(s)
    }
    new OrcColumnStats(version).of(s, leaf, values.size.toLong)
  }

  private def integer(v: Long)(s: ColumnStatisticsImpl): Unit = s.updateInteger(v, 1)
  private def double(v: Double)(s: ColumnStatisticsImpl): Unit = s.updateDouble(v)
  private def decimal(v: String)(s: ColumnStatisticsImpl): Unit =
    s.updateDecimal(new HiveDecimalWritable(HiveDecimal.create(v)))
  private def text(v: String)(s: ColumnStatisticsImpl): Unit = {
    val bytes = v.getBytes("UTF-8")
    s.updateString(bytes, 0, bytes.length, 1)
  }

  private def of(b: ColumnStats): Option[(Any, Any)] =
    if (b.known) Some((b.min, b.max)) else None

  test("TINYINT outside of its range was counted without a sign") {
    assert(of(bounds("tinyint")(integer(-128), integer(127))) === Some((-128, 127)))
    assert(of(bounds("tinyint", cpp)(integer(-5), integer(5))) === Some((-5, 5)))
    // -1 was taken for 255
    assert(of(bounds("tinyint", cpp)(integer(5), integer(255))) === None)
    assert(of(bounds("smallint", cpp)(integer(5), integer(255))) === Some((5, 255)))
  }

  test("decimals of other writers than Java's are not known to be right") {
    val values = Seq(decimal("1.25") _, decimal("-7.5") _)
    assert(of(bounds("decimal(9,2)")(values: _*)) === Some((-750, 125)))
    for (version <- Seq(cpp, trino, WriterVersion.ORC_135)) {
      assert(of(bounds("decimal(9,2)", version)(values: _*)) === None, version)
    }
    assert(of(bounds("int", WriterVersion.ORIGINAL)(integer(1))) === None)
  }

  test("zeros: the bounds hold both, whichever the file says") {
    def bits(b: ColumnStats) = of(b).map { case (min, max) =>
      (min.toString, max.toString)
    }
    for (v <- Seq(0.0, -0.0); t <- Seq("double", "float")) {
      assert(bits(bounds(t)(double(v))) === Some(("-0.0", "0.0")))
    }
    assert(bits(bounds("double")(double(-0.0), double(3))) === Some(("-0.0", "3.0")))
    assert(bits(bounds("double")(double(-3), double(-0.0))) === Some(("-3.0", "0.0")))
    assert(of(bounds("double")(double(Double.NaN), double(1))) === None)
    assert(of(bounds("double")(double(1), double(Double.NaN))) === None)
    // the sum, which tells of NaN, is written by these two alone
    assert(of(bounds("double", cpp)(double(1))) === Some((1.0, 1.0)))
    assert(of(bounds("double", trino)(double(1))) === None)
  }

  test("a column without a count of values is not taken for a column of NULLs") {
    val leaf = OrcSchema.of(TypeDescription.fromString("struct<x:int>"), "f").leaves.head
    def isAllNull(version: WriterVersion, rows: Long): Boolean = {
      val none = ColumnStatisticsImpl.create(leaf.types)
      val stats = new OrcColumnStats(version).of(none, leaf, rows)
      stats.known && stats.nulls == rows
    }
    val unknown = WriterVersion.from(WriterImplementation.UNKNOWN, 6)
    assert(Seq(java, cpp, trino).forall(isAllNull(_, 5)))
    assert(!isAllNull(unknown, 5) && isAllNull(unknown, 0))
  }

  test("CHAR: bounds of values with their padding and without") {
    def range(lower: String, upper: String) =
      Some((Binary.fromString(lower), Binary.fromString(upper)))
    assert(of(bounds("char(5)")(text("ab   "), text("b    "))) === range("ab", "b    "))
    assert(of(bounds("char(5)")(text("ab"), text("b"))) === range("ab", "b    "))
    assert(of(bounds("char(3)")(text("ä€z"))) === range("ä€z", "ä€z"))
    assert(of(bounds("varchar(5)")(text("ab"), text("b"))) === range("ab", "b"))
    // "a" stands before "a\u0001" or after it, by whether it is padded
    assert(of(bounds("char(5)")(text("a\u0001"), text("b"))) === None)
    assert(of(bounds("char(5)")(text("a"), text("b\t"))) === None)
  }
}
