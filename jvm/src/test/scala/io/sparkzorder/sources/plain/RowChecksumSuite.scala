// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import java.io.File

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.commands.OptimizeTestBase
import io.sparkzorder.conf.{PinnedSession, Settings}
import io.sparkzorder.table.{ParquetFiles, PathTarget, TableLister}
import io.sparkzorder.table.schema.TableSchema
import io.sparkzorder.table.stats.FooterReader

/** `verify=full` finds what footers cannot: a changed value in a column without bounds. */
class RowChecksumSuite extends OptimizeTestBase {

  private def inputs(dir: File): PlainInputs = {
    val session = PinnedSession.of(SparkLine.session(spark))
    val target = PathTarget(dir.getAbsolutePath, ParquetFiles)
    val files = new TableLister(SparkLine.session(spark), target).list()
    val footers = FooterReader.read(files.files, spark.sessionState.newHadoopConf(), ParquetFiles)
    val schema = new TableSchema(target.name, session.sessionState.conf, ParquetFiles)
      .union(files.catalogSchema, footers)
    val settings = new Settings(Map.empty, Map.empty, Map.empty).validate()
    PlainInputs(session, target, settings, files, footers, schema, Nil)
  }

  /** Takes the second table for the rewritten files of the first. */
  private def compare(before: DataFrame, after: DataFrame): Unit = withTempDir { base =>
    val dirs = Seq("before", "after").map(new File(base.getCanonicalFile, _))
    write(before, dirs.head)
    write(after, dirs.last)
    val (one, two) = (inputs(dirs.head), inputs(dirs.last))
    // tables without partitions have one folder each
    val written = two.files.map(f => f.copy(file = f.file.copy(folder = one.listed.folders.head)))
    new RowChecksum(one).check(one.listed, written)
  }

  private def differ(before: DataFrame, after: DataFrame): Unit =
    fails("ZORDER_VERIFICATION_FAILED", "checksums")(compare(before, after))

  private def rows(columns: String*): DataFrame =
    spark.range(0, 100, 1, 2).selectExpr("id" +: columns: _*)

  test("the same rows in another order and in other files") {
    val df = rows("if(id % 7 = 0, double('NaN'), id) d", "array(id, NULL) l", "struct(id x) s")
    compare(df, df.sort(df("id").desc).coalesce(1))
    compare(df, df.repartition(5))
  }

  // each with its old and its new value in row 42
  private val changes = Seq[(String, String, String, String)](
    ("NaN", "double('NaN')", "double('NaN')", "double(42)"),
    (
      "INT96",
      "timestamp_micros(id * 86400000000)",
      "timestamp_micros(0)",
      "timestamp_micros(1)"),
    ("5 KB strings", "repeat('x', 5000)", "repeat('x', 5000)", "concat(repeat('x', 4999), 'y')"),
    ("nested lists", "array(array(int(id)))", "array(array(1, 2))", "array(array(1), array(2))"),
    ("NULLs in lists", "array(id)", "array(1L, NULL)", "array(NULL, 1L)"),
    ("empty and missing lists", "array(id)", "cast(array() AS array<bigint>)", "NULL"),
    ("maps", "map(id, 'v')", "map(1L, 'a', 2L, 'b')", "map(1L, 'b', 2L, 'a')"),
    ("structs", "struct(id x, 1L y)", "struct(NULL x, 1L y)", "struct(1L x, NULL y)"),
    ("bytes", "binary(string(id))", "X'00'", "X'0000'"))

  for ((kind, usual, old, now) <- changes) test(s"one changed value: $kind") {
    def table(value: String) = rows(s"if(id = 42, $value, $usual) v")
    withSQLConf("spark.sql.parquet.outputTimestampType" ->
      (if (kind == "INT96") "INT96" else "TIMESTAMP_MICROS")) {
      compare(table(old), table(old))
      differ(table(old), table(now))
    }
  }

  test("values that change places: with those of other rows and of other columns, NULLs too") {
    val df = rows("id % 10 a", "id % 7 b")
    differ(df, rows("if(id < 2, (id + 1) % 2, id % 10) a", "id % 7 b"))
    differ(df, rows("id % 7 a", "id % 10 b"))
    differ(rows("id a", "cast(NULL AS bigint) b"), rows("cast(NULL AS bigint) a", "id b"))
  }

  test("rows lost and doubled, so that their number stays") {
    val df = rows("id % 10 a")
    differ(df, df.where("id <> 5").unionAll(df.where("id = 6")))
  }
}
