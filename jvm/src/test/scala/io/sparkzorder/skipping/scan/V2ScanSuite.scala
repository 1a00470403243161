// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.File

import org.apache.spark.SparkConf
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, FileScan}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/** Spark's V2 readers of files see committed runs and skip files, as the V1 readers do. */
class V2ScanSuite extends OverlayTestBase with AdaptiveSparkPlanHelper {

  override protected def sparkConf: SparkConf =
    super.sparkConf.set("spark.sql.sources.useV1SourceList", "")

  private def batches(df: DataFrame): Seq[FileScan] = {
    df.collect()
    collect(df.queryExecution.executedPlan) { case b: BatchScanExec => b }
      .map(_.scan.asInstanceOf[FileScan])
  }

  private def filesRead(df: DataFrame): Int =
    batches(df).flatMap(_.planInputPartitions().toSeq).flatMap {
      case p: FilePartition => p.files.map(_.filePath.toString).toSeq
    }.distinct.size

  for (format <- Seq("parquet", "orc")) {
    def table(dir: File): DataFrame = spark.read.format(format).load(dir.getPath)
    def fill(dir: File): Unit = {
      (0 to 2).foreach { n =>
        spark.range(n * 10L, n * 10L + 10).selectExpr("id a", "id b", "id % 3 c").coalesce(1)
          .write.mode("append").format(format).save(dir.getPath)
      }
      val _ = sql(s"CREATE ZORDER INDEX ON $format.`$dir`").collect()
    }

    test(s"$format: a filter lets files go") {
      withTableDir { dir =>
        fill(dir)
        assert(filesRead(table(dir)) === 3)
        assert(filesRead(table(dir).where("a = 15")) === 1)
        assert(bag(table(dir).where("a = 15 OR b > 27")).values.sum === 3)
        val shown = sql(s"SHOW SKIPPING FOR SELECT * FROM $format.`$dir` WHERE a = 15").collect()
        val equal = shown.filter(_.getAs[String]("predicate").contains("=")).head
        assert(equal.getAs[Boolean]("used") && equal.getAs[Long]("filesKept") === 1)
      }
    }
  }

  test("two scans of one relation share their exchange") {
    withTableDir { dir =>
      spark.range(100).selectExpr("id a", "id % 7 b").write.parquet(dir.getPath)
      val df = spark.read.parquet(dir.getPath)
      val side = df.where("a > 3").groupBy("b").count()
      val joined = side.union(side)
      joined.collect()
      assert(collect(joined.queryExecution.executedPlan) { case r: ReusedExchangeExec =>
        r
      }.size === 1)
    }
  }

  testSteps("each step of a publish shows whole tables") { every =>
    withTableDir { dir =>
      write(parted(200, 3), dir, "p")
      def fresh = spark.read.parquet(dir.getPath)
      assert(batches(fresh).size === 1)
      val stale = fresh
      val expected = bag(fresh)
      val steps = atEachStep(dir, every = every) { step =>
        check(dir, expected, s"fresh at $step")(fresh)
        check(dir, expected, s"stale at $step")(unplanned(stale))
        check(dir, expected.filter(_._2 < 0), s"filtered at $step")(fresh.where("a < -1000000"))
      }
      assert(steps > 5)
      check(dir, expected, "after")(fresh)
    }
  }
}
