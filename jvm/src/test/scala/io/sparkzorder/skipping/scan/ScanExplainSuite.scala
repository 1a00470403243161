// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.metrics.source.HiveCatalogMetrics
import org.apache.spark.sql.execution.ExplainMode

import io.sparkzorder.JobCounter

/** What EXPLAIN says of files, and that it costs no listing that Spark would not make. */
class ScanExplainSuite extends ScanTestBase {

  private val modes = Seq("simple", "extended", "codegen", "cost", "formatted")

  test("every kind of EXPLAIN, without a job") {
    withGrid { dir =>
      val df = read(dir).where(oneFile)
      for (mode <- modes) {
        var explained = ""
        val count = JobCounter.count(spark) {
          explained = df.queryExecution.explainString(ExplainMode.fromString(mode))
        }
        assert(explained.contains(oneFileText), s"$mode: $explained")
        assert(count.jobs === 0, mode)
      }
      for (mode <- Seq("", "EXTENDED", "CODEGEN", "COST", "FORMATTED")) {
        val text =
          sql(s"EXPLAIN $mode SELECT * FROM parquet.`$dir` WHERE $oneFile").head().getString(0)
        assert(text.contains(oneFileText), s"$mode: $text")
      }
      assert(checkRows(read(dir).where(oneFile)).count() === 10)
    }
  }

  test("predicates on several columns, one that prunes all, one that prunes nothing") {
    withGrid { dir =>
      def explained(p: String) = text(read(dir).where(p))
      assert(explained("a = 15 OR b = 25").contains("ZOrderFiles: 7 of 16 (pruned by (a, b): 9)"))
      assert(explained("a = 77").contains("ZOrderFiles: 0 of 16 (pruned by a: 16)"))
      assert(explained("a < 77").contains("ZOrderFiles: 16 of 16,") ||
        explained("a < 77").contains("ZOrderFiles: 16 of 16\n"))
    }
  }

  test("nothing is said without an index, without a filter that it can use, or when it is off") {
    withGrid { dir =>
      def isSilent(p: String) = !text(read(dir).where(p)).contains("ZOrderFiles")
      assert(isSilent("true") && isSilent("hash(a, b) = 16"))
      // Spark adds that b is not NULL
      assert(text(read(dir).where("hash(a) = b")).contains("ZOrderFiles: 16 of 16"))
      inConf("spark.zorder.skipping.enabled" -> "false")(assert(isSilent(oneFile)))
      assert(!isSilent(oneFile))
      sql(s"DROP ZORDER INDEX ON '$dir'").collect()
      assert(isSilent(oneFile))
    }
  }

  test("files that the index does not know are read and named") {
    withGrid { dir =>
      sql(grid).where("id < 300").write.mode("append").parquet(dir.getPath)
      val df = checkRows(read(dir).where(oneFile))
      assert(text(df).contains("pruned by a: 12, b: 3; not in the index: "))
    }
  }

  test("a data frame that was explained still sees a later run of OPTIMIZE") {
    withGrid { dir =>
      val df = read(dir).where(oneFile)
      val expected = bag(read(dir).where(oneFile))
      modes.foreach(m => df.queryExecution.explainString(ExplainMode.fromString(m)))
      sql(s"OPTIMIZE '$dir' ZORDER BY (b, a) OPTIONS (${sizeFor(dir, 4)})").collect()
      assert(bag(df) === expected)
    }
  }

  test(
    "a table of the catalog: numbers where Spark has listed the files, no listing for them else") {
    withTable("t") {
      sql(s"CREATE TABLE t USING parquet PARTITIONED BY (p) AS SELECT *, id % 2 p FROM ($grid)")
      sql("CREATE ZORDER INDEX ON t").collect()
      def explained(p: String) = text(sql(s"SELECT * FROM t WHERE $p"))
      assert(explained(s"p = 1 AND $oneFile").contains("ZOrderFiles: 1 of 16 ("))
      // Spark keeps listings of partitions
      spark.catalog.refreshTable("t")
      HiveCatalogMetrics.reset()
      assert(!explained(oneFile).contains("ZOrderFiles"))
      assert(HiveCatalogMetrics.METRIC_FILES_DISCOVERED.getCount === 0)
      val df = checkRows(sql(s"SELECT * FROM t WHERE $oneFile"))
      assert(counts(scansOf(df).head) === Seq(32, 2, 30, 0))
    }
  }
}
