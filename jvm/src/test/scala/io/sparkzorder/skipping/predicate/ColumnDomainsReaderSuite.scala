// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.predicate

import java.math.BigInteger

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.types._

import io.sparkzorder.index._
import io.sparkzorder.table.stats.ColumnStats

/** Columns of a table, read from indexes whose files store them in one way or another. */
class ColumnDomainsReaderSuite extends AnyFunSuite {
  import ColumnDomains._

  private def leaf(name: String, t: LeafType)(stats: ColumnStats): LeafEntry =
    LeafEntry(IndexedColumn(name.split('.').toSeq, t), stats)

  private def longs(nulls: Long, min: Long, max: Long, noNaN: Boolean = false): ColumnStats =
    ColumnStats(nulls, min, max, known = true, noNaN = noNaN)

  /** An index of files with 10 rows each. */
  private def index(files: Seq[LeafEntry]*): IndexContent =
    IndexContent.of(files.zipWithIndex.map { case (leaves, i) =>
      FileEntry(s"f$i", 1L, 1L, 10L, LeafColumns(leaves.map(_.column.path)), leaves)
    })

  private def read(
      content: IndexContent,
      name: String,
      t: DataType,
      nullWhereMissing: Boolean = true,
      caseSensitive: Boolean = false): Either[String, ColumnDomains] =
    new ColumnDomainsReader(content, caseSensitive)(
      DataColumn(name.split('.').toSeq, t, nullWhereMissing))

  private def info(column: Either[String, ColumnDomains]): Seq[Int] =
    column.fold(reason => fail(reason), c => (0 until c.count).map(c.info))

  private def bounds(column: Either[String, ColumnDomains], file: Int): (Any, Any) = {
    val c = column.fold(reason => fail(reason), identity)
    def of(values: StatValues): Any = values match {
      case LongStats(l) => l(file)
      case ByteStats(b) => b(file).toSeq
      case NoStats => fail("no bounds")
    }
    (of(c.min), of(c.max))
  }

  private val int = IntegerLeaf(32)

  test("bounds, null counts and columns of only NULLs") {
    val content = index(
      Seq(leaf("a", int)(longs(0, 1, 5))),
      Seq(leaf("a", int)(longs(3, 2, 4))),
      Seq(leaf("a", int)(ColumnStats(10, null, null, known = false))),
      Seq(leaf("a", int)(ColumnStats.unknown)))
    val column = read(content, "a", IntegerType)
    assert(info(column) ===
      Seq(Bounded | NoNulls | NoNaN, Bounded | NoNaN, NoValues | NoNaN, NoNaN))
    assert(bounds(column, 1) === ((2L, 4L)))
  }

  test("only FLOAT and DOUBLE may hold NaN") {
    val content = index(
      Seq(leaf("d", DoubleLeaf)(longs(1, 1, 5))),
      Seq(leaf("d", DoubleLeaf)(longs(1, 1, 5, noNaN = true))))
    assert(info(read(content, "d", DoubleType)) === Seq(Bounded, Bounded | NoNaN))
  }

  test("milliseconds become microseconds; what does not fit has no bounds") {
    val content = index(
      Seq(leaf("t", TimestampLeaf(millis = true, utc = true))(longs(1, -3, 7))),
      Seq(leaf("t", TimestampLeaf(millis = true, utc = true))(longs(1, 0, Long.MaxValue / 999))))
    val column = read(content, "t", TimestampType)
    assert(bounds(column, 0) === ((-3000L, 7000L)))
    assert(info(column) === Seq(Bounded | NoNaN, NoNaN))
    assert(read(content, "t", TimestampNTZType).isLeft)
  }

  test("short decimals of a wide column become bytes") {
    val content = index(Seq(leaf("m", DecimalLeaf(9, 2))(longs(0, -5, 5))))
    val column = read(content, "m", DecimalType(30, 2))
    def wide(n: Long) = IndexValue.wide(BigInteger.valueOf(n)).get.toSeq
    assert(bounds(column, 0) === ((wide(-5), wide(5))))
    assert(bounds(read(content, "m", DecimalType(18, 2)), 0) === ((-5L, 5L)))
    assert(read(content, "m", DecimalType(30, 3)).isLeft)
  }

  test("INT96 gives null counts alone") {
    val content = index(Seq(leaf("t", Int96Leaf)(ColumnStats(0, null, null, known = false))))
    val column = read(content, "t", TimestampType)
    assert(info(column) === Seq(NoNulls | NoNaN))
    assert(column.map(_.min) === Right(NoStats))
  }

  test("a column that files store in two types or spellings") {
    val content = index(
      Seq(leaf("a", int)(longs(0, 1, 2))),
      Seq(leaf("A", IntegerLeaf(64))(longs(0, 3, 4))),
      Seq(leaf("a", int)(longs(0, 5, 6)), leaf("A", IntegerLeaf(64))(longs(0, 7, 8))))
    val column = read(content, "a", LongType)
    // two columns of one file: nobody knows which one is read
    assert(info(column) === Seq(Bounded | NoNulls | NoNaN, Bounded | NoNulls | NoNaN, 0))
    assert(bounds(column, 0) === ((1L, 2L)) && bounds(column, 1) === ((3L, 4L)))
    // the table's column is narrower than what one file stores
    assert(info(read(content, "a", IntegerType)).take(2) === Seq(Bounded | NoNulls | NoNaN, NoNaN))
  }

  test("names that differ in case, for a reader that looks at it") {
    val content = index(Seq(leaf("a", int)(longs(0, 1, 2))), Seq(leaf("A", int)(longs(0, 3, 4))))
    val column = read(content, "a", IntegerType, caseSensitive = true)
    // the other spelling is not taken for a missing column either
    assert(info(column) === Seq(Bounded | NoNulls | NoNaN, NoNaN))
    assert(read(content, "B", IntegerType, caseSensitive = true).isLeft)
  }

  test("a column that a file lacks: NULL in every row, unless it may have a default") {
    val content = index(Seq(leaf("a", int)(longs(0, 1, 2))), Seq(leaf("b", int)(longs(0, 1, 2))))
    assert(info(read(content, "a", IntegerType)) === Seq(Bounded | NoNulls | NoNaN, NoValues))
    assert(info(read(content, "a", IntegerType, nullWhereMissing = false)) ===
      Seq(Bounded | NoNulls | NoNaN, NoNaN))
  }

  test("why the index says nothing of a column") {
    val content =
      index(Seq(leaf("s.x", int)(longs(0, 1, 2)), leaf("c", StringLeaf)(ColumnStats.none)))
    def reason(name: String, t: DataType) = read(content, name, t).swap.getOrElse(fail("it does"))
    assert(reason("y", IntegerType) === "the column y is not in the index")
    assert(reason("s.x", StringType) === "files store s.x as int32, not as STRING")
    assert(reason("c", CharType(3)).startsWith("the type CHAR(3)"))
    assert(read(content, "s.x", IntegerType).isRight)
  }
}
