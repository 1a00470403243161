// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping

import java.io.File

import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.index.{ColumnChoice, ColumnValues, FooterEntries, LeafEntry, LongStats}
import io.sparkzorder.table.{ParquetFiles, PathTarget, TableLister}
import io.sparkzorder.table.stats.{FooterReader, ScannedFile}

/** Bugs of peers in which skipping loses rows by wrong statistics, each as a test of its own. */
class StatisticsTrapsSuite extends SkippingTestBase {

  private def footerOf(dir: File): ScannedFile = {
    val files =
      new TableLister(SparkLine.session(spark), PathTarget(dir.getPath, ParquetFiles)).list().files
    FooterReader.read(files, spark.sessionState.newHadoopConf(), ParquetFiles).head
  }

  private def entryOf(footer: ScannedFile): LeafEntry =
    new FooterEntries(ColumnChoice()).of(footer, "f").leaves.head

  test("NaN: a chunk with NaN has no bounds, and NaN is the greatest value (hudi#18754)") {
    withTableDir { dir =>
      filesOf(
        dir,
        sql("SELECT double('NaN') d, float('NaN') f UNION ALL SELECT 1d, 1f"),
        sql("SELECT 1d d, 1f f UNION ALL SELECT 2d, 2f"),
        sql("SELECT -0.0d d, -0.0f f"))
      createIndex(dir)
      val df = read(dir)
      for (c <- Seq("d", "f"); t = if (c == "d") "double" else "float") {
        assert(keptFiles(df.where(s"$c > 5")) === 1)
        assert(keptFiles(df.where(s"$c = $t('NaN')")) === 1)
        assert(keptFiles(df.where(s"$c >= $t('NaN')")) === 1)
        assert(keptFiles(df.where(s"$c IN (7, $t('NaN'))")) === 1)
        assert(keptFiles(df.where(s"NOT ($c <= 5)")) === 1)
        assert(keptFiles(df.where(s"$c = 0")) >= 1)
        assert(keptFiles(df.where(s"$c < 0")) === 1)
        assert(keptFiles(df.where(s"$c = $t('Infinity')")) === 1)
      }
    }
  }

  test("NaN that a writer passed over in its bounds") {
    withTableDir { dir =>
      filesOf(dir, sql("SELECT double('NaN') d UNION ALL SELECT 1d UNION ALL SELECT 2d"))
      createIndex(dir)
      // as footers of Arrow, Impala and DuckDB have it: bounds of the numbers alone
      rewriteIndex(dir) { v =>
        val ends =
          Seq(1d, 2d).map(d => LongStats(Array(io.sparkzorder.bits.OrderedLongs.ofDouble(d))))
        v.copy(flags = Array(ColumnValues.Bounded), min = ends.head, max = ends.last)
      }
      val df = read(dir)
      for (p <- Seq(
          "d > 5",
          "d >= 5",
          "d = double('NaN')",
          "d IN (7, double('NaN'))",
          "NOT (d <= 5)",
          "d != 1",
          "NOT (d IN (1, 2))",
          "NOT (d < 3)")) {
        assert(keptFiles(df.where(p)) === 1, p)
      }
      for (p <- Seq("d = 7", "d < 1", "d IN (0, 7)", "d <=> 4")) {
        assert(keptFiles(df.where(p)) === 0, p)
      }
    }
  }

  test("who is known to notice NaN") {
    withTableDir { dir =>
      filesOf(dir, sql("SELECT 1d d"))
      val footer = footerOf(dir)
      def trusted(by: String) = entryOf(footer.copy(createdBy = by)).stats.noNaN
      assert(entryOf(footer).stats.noNaN, footer.createdBy)
      assert(trusted("parquet-mr version 1.13.1 (build db4183109d5b734ec5930d870cdae161e408ddba)"))
      assert(!trusted("parquet-mr version 1.8.1 (build 4aba4dae7bb0d4edbcf7923ae1339f28fd3f7fcf)"))
      for (by <-
          Seq("parquet-cpp-arrow version 14.0.1", "impala version 4.0", "DuckDB", "", "x y z")) {
        assert(!trusted(by), by)
      }
    }
  }

  test("strings over 4 KB have neither bounds nor a null count (hudi#18755)") {
    withTableDir { dir =>
      filesOf(
        dir,
        sql("SELECT repeat('x', 5000) s UNION ALL SELECT NULL"),
        sql("SELECT repeat('y', 5000) s"),
        sql("SELECT 'a' s"))
      createIndex(dir)
      val df = read(dir)
      assert(keptFiles(df.where("s IS NULL")) === 2)
      assert(keptFiles(df.where("s IS NOT NULL")) === 3)
      assert(keptFiles(df.where("s LIKE 'y%'")) === 2)
      assert(keptFiles(df.where("s = 'a'")) === 3)
    }
  }

  test("a null count that is not known is not zero (hudi#19645, trino#13389)") {
    withTableDir { dir =>
      filesOf(dir, sql("SELECT 1 i UNION ALL SELECT NULL"))
      createIndex(dir)
      assert(keptFiles(read(dir).where("i IS NULL")) === 1)
      rewriteIndex(dir)(v => v.copy(nulls = v.nulls.map(_ => -1L)))
      assert(keptFiles(read(dir).where("i IS NULL")) === 1)
      assert(keptFiles(read(dir).where("NOT (i <=> 1)")) === 1)
      assert(keptFiles(read(dir).where("i = 2")) === 0)
    }
  }

  test("cut maxima are rounded up (delta-kernel-rs#1003)") {
    withTableDir { dir =>
      val common = "c" * 70
      filesOf(dir, sql(s"SELECT '${common}a' s UNION ALL SELECT '${common}z'"), sql("SELECT 'b' s"))
      createIndex(dir)
      val df = read(dir)
      assert(keptFiles(df.where(s"s = '${common}m'")) === 1)
      assert(keptFiles(df.where(s"s > '${common}y'")) === 1)
      assert(keptFiles(df.where(s"s LIKE '${common}z%'")) === 1)
      assert(keptFiles(df.where(s"s != '${"c" * 64}'")) === 2)
      assert(keptFiles(df.where(s"NOT startswith(s, '${common}a')")) === 2)
    }
  }

  test("INT96 has null counts alone (trino#5083)") {
    inConf(
      "spark.sql.parquet.outputTimestampType" -> "INT96",
      "spark.sql.parquet.int96RebaseModeInWrite" -> "CORRECTED") {
      withTableDir { dir =>
        filesOf(
          dir,
          sql("SELECT timestamp'2020-01-01 00:00:00' t"),
          sql("SELECT timestamp'1020-01-01 00:00:00' t"),
          sql("SELECT cast(null as timestamp) t"))
        createIndex(dir)
        assert(keptFiles(read(dir).where("t = timestamp'1020-01-01 00:00:00'")) === 2)
        assert(keptFiles(read(dir).where("t IS NULL")) === 1)
      }
    }
  }
}
