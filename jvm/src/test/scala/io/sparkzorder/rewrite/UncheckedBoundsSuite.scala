// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import org.apache.parquet.io.api.Binary

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.commands.OptimizeTestBase
import io.sparkzorder.table.{ParquetFiles, PathTarget, TableLister}
import io.sparkzorder.table.stats.{ColumnStats, FooterReader, ScannedFile}
import io.sparkzorder.write.Verification

/**
 * Bounds that files do not have, or not exactly, are counted as unchecked and are no error: for each
 * kind the footers of real files before and after an OPTIMIZE. RowChecksumSuite has the same kinds
 * with `verify=full`.
 */
class UncheckedBoundsSuite extends OptimizeTestBase {

  private def footers(dir: java.io.File): IndexedSeq[ScannedFile] = {
    val files =
      new TableLister(
        SparkLine.session(spark),
        PathTarget(dir.getAbsolutePath, ParquetFiles)).list().files
    FooterReader.read(files, spark.sessionState.newHadoopConf(), ParquetFiles)
  }

  private def check(before: Seq[ScannedFile], after: Seq[ScannedFile]): Int =
    new Verification("the table", _ == _).checkAll(Iterator(before), after, _ => false)

  /** Optimizes a table; its footers before and after. */
  private def rewritten(
      df: DataFrame,
      options: (String, String)*): (Seq[ScannedFile], Seq[ScannedFile]) = {
    var both = (Seq.empty[ScannedFile], Seq.empty[ScannedFile])
    withTableDir { dir =>
      df.write.options(options.toMap).parquet(dir.getAbsolutePath)
      val before = footers(dir)
      optimize(
        s"OPTIMIZE '$dir' ZORDER BY id OPTIONS (${sizeFor(dir, 3)}, 'verify' 'full')",
        dir)(read(dir))
      both = (before, footers(dir))
    }
    both
  }

  /** How many of the columns stay unchecked, after the check that the run itself made. */
  private def unchecked(df: DataFrame, options: (String, String)*): Int = {
    val (before, after) = rewritten(df, options: _*)
    check(before, after)
  }

  private def rows(columns: String*): DataFrame =
    spark.range(0, 300, 1, 2).selectExpr("id" +: columns: _*)

  test("all known: nothing is unchecked") {
    assert(unchecked(rows("id % 7 a", "string(id) s", "struct(id x, double(id) y) t")) === 0)
  }

  test("NaN: Parquet keeps no bounds beside it") {
    assert(unchecked(rows("if(id % 50 = 0, double('NaN'), id) d", "float(id) f")) === 1)
  }

  test("INT96 has no bounds") {
    withSQLConf("spark.sql.parquet.outputTimestampType" -> "INT96") {
      assert(unchecked(rows("timestamp_micros(id * 1000000007L) at")) === 1)
    }
  }

  test("strings of 5 KB: Parquet drops bounds of 4 KB") {
    val (before, after) = rewritten(rows("concat(string(id), repeat('x', 5000)) s"))
    assert(before.forall(!_.leaves(1).known))
    assert(after.forall(_.leaves(1).known))
    assert(check(before, after) === 1)
  }

  test("bounds that another writer cut short: rounded up they are checked, else counted") {
    val df = rows("concat('a prefix that is long ', lpad(string(id), 5, '0')) s")
    val (before, after) = rewritten(df, "parquet.statistics.truncate.length" -> "8")
    assert(before.forall(f => bytes(f.leaves(1).max).length <= 8))
    assert(check(before, after) === 0)
    // as some write it: the first bytes of the greatest value, which are below it
    val cut = before.map { f =>
      val leaf = f.leaves(1)
      val prefix = Binary.fromReusedByteArray("a prefix".getBytes("UTF-8"))
      f.copy(leaves = f.leaves.updated(1, ColumnStats(leaf.nulls, prefix, prefix, known = true)))
    }
    assert(check(cut, after) === 1)
  }

  private def bytes(bound: Any): Array[Byte] = bound.asInstanceOf[Binary].getBytes

  test("nested lists: their nulls and bounds do not tell of rows") {
    assert(unchecked(rows("array(array(id, NULL)) l", "map('k', id) m", "struct(id x) s")) === 3)
  }

  test("statistics switched off by the writer") {
    val (before, after) =
      rewritten(rows("id % 7 a"), "parquet.column.statistics.enabled" -> "false")
    val off = before.forall(f => !f.leaves(1).known)
    assume(off, "the Parquet of Spark 3.5 has no such setting")
    assert(check(before, after) === 2)
  }
}
