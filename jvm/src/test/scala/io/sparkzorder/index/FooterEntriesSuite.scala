// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.index

import java.util.{Collections => JCollections}

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.orc.TypeDescription
import org.apache.parquet.bytes.BytesUtils
import org.apache.parquet.column.Encoding
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.hadoop.metadata.{ColumnChunkMetaData, ColumnPath, CompressionCodecName}
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.{MessageTypeParser, Types}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT32
import org.scalatest.funsuite.AnyFunSuite

import io.sparkzorder.table.{DataFile, OrcSchema}
import io.sparkzorder.table.stats.{ColumnStats, ParquetColumnStats, ScannedFile}

/** Which bounds of footers the index takes: those of FLOAT and DOUBLE by their writer, and those of ORC. */
class FooterEntriesSuite extends AnyFunSuite {
  private def footer(createdBy: String): ScannedFile = ScannedFile(
    DataFile.alone(new FileStatus(10L, false, 1, 100L, 5L, new Path("file:/t/a.parquet"))),
    2L,
    16L,
    MessageTypeParser.parseMessageType("message m { optional double d; }"),
    Map.empty,
    Nil,
    Array(ColumnStats(0L, Double.box(1), Double.box(2), known = true)),
    createdBy)

  private def entry(createdBy: String): FileEntry =
    new FooterEntries(ColumnChoice()).of(footer(createdBy), "a.parquet")

  private def isTrusted(createdBy: String): Boolean = entry(createdBy).leaves.head.stats.noNaN

  private val build = "(build db4183109d5b734ec5930d870cdae161e408ddba)"

  test("parquet-mr drops the bounds of a chunk with NaN from 1.10 to 1.17") {
    for (v <- Seq("1.10.0", "1.13.1", "1.15.2", "1.16.0", "1.17.0", "1.17.9", "1.17.0-SNAPSHOT"))
      assert(isTrusted(s"parquet-mr version $v $build"), v)
    for (v <- Seq("1.8.1", "1.9.0")) assert(!isTrusted(s"parquet-mr version $v $build"), v)
  }

  test("from 1.18 on parquet-java leaves NaN out of the bounds") {
    for (v <-
        Seq("1.18.0-SNAPSHOT", "1.18.0-rc.1", "1.18.0", "1.18.3", "1.19.0", "2.0.0", "2.10.1"))
      for (name <- Seq("parquet-mr", "parquet-java"))
        assert(!isTrusted(s"$name version $v $build"), v)
  }

  test(
    "bounds of FLOAT and DOUBLE of old writers may lack the values of a page that begins with NaN") {
    def isBounded(createdBy: String) = entry(createdBy).leaves.head.stats.known
    for (by <- Seq(
        s"parquet-mr version 1.8.1 $build",
        s"parquet-mr version 1.9.0 $build",
        "impala version 2.12.0-RELEASE (build 1)",
        "parquet-cpp version 1.3.2-SNAPSHOT",
        "parquet-mr",
        "parquet-rs version 4.4.0",
        "github.com/parquet-go/parquet-go version 0.20.0(build 1)",
        "Polars",
        "")) {
      assert(!isBounded(by), by)
    }
    for (by <- Seq(
        s"parquet-mr version 1.10.1 $build",
        s"parquet-java version 1.18.0 $build",
        "parquet-cpp-arrow version 14.0.1",
        "parquet-cpp version 1.5.1-SNAPSHOT",
        "impala version 4.0.0-RELEASE (build 1)",
        "parquet-mr-trino version 400 (build n/a)",
        "DuckDB version v1.1.3 (build 19864453f7)",
        "parquet-rs version 50.0.0",
        "DuckDB")) {
      assert(isBounded(by), by)
    }
  }

  /** True if the index takes the bounds of a column of bytes. */
  private def isBoundedBytes(column: String, createdBy: String): Boolean = {
    val bytes = Array(1, 2).map(b => Binary.fromConstantByteArray(Array(b.toByte)))
    val file = footer(createdBy).copy(
      schema = MessageTypeParser.parseMessageType(s"message m { optional $column; }"),
      leaves = Array(ColumnStats(0L, bytes(0), bytes(1), known = true)))
    new FooterEntries(ColumnChoice()).of(file, "a.parquet").leaves.head.stats.known
  }

  test("bounds of DECIMAL in bytes, and of strings, count only for writers that order them right") {
    val decimals = Seq("fixed_len_byte_array(1) d (DECIMAL(2,0))", "binary d (DECIMAL(20,0))")
    val texts = Seq("binary s (UTF8)", "binary s")
    val good = Seq(
      s"parquet-mr version 1.15.2 $build",
      "parquet-cpp-arrow version 14.0.1",
      "impala version 4.0.0-RELEASE (build 1)",
      "parquet-mr-trino version 400 (build n/a)",
      "DuckDB version v1.1.3 (build 19864453f7)")
    val goodForTexts = Seq(
      s"parquet-mr version 1.8.1 $build",
      "parquet-cpp-arrow version 3.0.0",
      "parquet-rs version 5.2.0",
      "")
    val bad = Seq("Polars", "parquet-rs version 5.1.0")
    for (by <- good; column <- decimals ++ texts) assert(isBoundedBytes(column, by), s"$by $column")
    for (by <- goodForTexts; column <- texts) assert(isBoundedBytes(column, by), s"$by $column")
    for (by <- goodForTexts ++ bad; column <- decimals) {
      assert(!isBoundedBytes(column, by), s"$by $column")
    }
    for (by <- bad; column <- texts) assert(!isBoundedBytes(column, by), s"$by $column")
    // a DECIMAL of few digits is an INT or a BIGINT
    val small = footer("Polars").copy(
      schema = MessageTypeParser.parseMessageType("message m { optional int32 d (DECIMAL(5,2)); }"),
      leaves = Array(ColumnStats(0L, Int.box(1), Int.box(2), known = true)))
    assert(new FooterEntries(ColumnChoice()).of(small, "a.parquet").leaves.head.stats.known)
  }

  test("statistics of a row group that contradict themselves say nothing about its values") {
    val t = Types.optional(INT32).named("i")
    def of(min: Int, max: Int, nulls: Long): ColumnStats = {
      val s: Statistics[_] =
        Statistics.getBuilderForReading(t).withMin(bytesOf(min)).withMax(bytesOf(max))
          .withNumNulls(nulls).build()
      ParquetColumnStats.of(ColumnChunkMetaData.get(
        ColumnPath.get("i"),
        t,
        CompressionCodecName.UNCOMPRESSED,
        null,
        JCollections.emptySet[Encoding],
        s,
        4L,
        0L,
        10L,
        100L,
        100L))
    }
    assert(of(1, 2, nulls = 9).bounds === Some((1, 2)))
    assert(!of(2, 1, nulls = 0).known && of(2, 1, nulls = 0).nulls === 0)
    for (nulls <- Seq(10L, 20L)) {
      assert(!of(1, 1, nulls).known && of(1, 1, nulls).nulls === -1, s"$nulls of 10")
    }
  }

  private def bytesOf(i: Int): Array[Byte] = BytesUtils.intToBytes(i)

  test("other writers, and texts that tell no version") {
    for (by <- Seq(
        "parquet-cpp-arrow version 14.0.1",
        "impala version 4.0.0-RELEASE (build 1)",
        "DuckDB",
        "parquet-mr",
        "parquet-mr version x",
        "",
        "x y z")) {
      assert(!isTrusted(by), by)
    }
  }

  test("ORC timestamps at the ends of their range: the bounds are widened without an overflow") {
    val orc = OrcSchema.of(TypeDescription.fromString("struct<t:timestamp>"), "a.orc")
    val hour = 3600L * 1000000
    for ((min, max) <- Seq((Long.MinValue + hour, 0L), (0L, Long.MaxValue - hour))) {
      val file = footer("").copy(
        schema = orc.parquet,
        keyValues = Map("org.apache.spark.version" -> "4.1.0"),
        leaves = Array(ColumnStats(0L, Long.box(min), Long.box(max), known = true)),
        orc = Some(orc))
      val leaf = new FooterEntries(ColumnChoice()).of(file, "a.orc").leaves.head
      assert(leaf.column.leafType === TimestampLeaf(millis = false, utc = true))
      val (least: Long, greatest: Long) = leaf.stats.bounds.get
      assert(least <= min && greatest >= max)
    }
  }
}
