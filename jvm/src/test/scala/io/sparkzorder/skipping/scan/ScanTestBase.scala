// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import java.io.File

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.HadoopFsRelation

import io.sparkzorder.skipping.SkippingTestBase

/** What tests of the scan's numbers share: a table whose files are known by heart, and its scans. */
abstract class ScanTestBase extends SkippingTestBase with AdaptiveSparkPlanHelper {
  import RuntimePruningScan._

  override protected def codegen: Boolean = true

  /** 16 files of 100 rows: `a` has four ranges of ten values, `b` four in each of them. */
  protected val grid: String =
    "SELECT id, int(id / 400) * 10 + id % 10 a, int(id / 100) % 4 * 10 + id % 10 b " +
      "FROM range(0, 1600, 1, 16)"

  protected def withGrid(body: File => Unit): Unit = withTableDir { dir =>
    sql(grid).write.parquet(dir.getPath)
    createIndex(dir)
    body(dir)
  }

  protected val oneFile = "a = 15 AND b = 25"
  protected val oneFileText = "ZOrderFiles: 1 of 16 (pruned by a: 12, b: 3)"

  /** Scans of a plan as it was executed, those of subqueries too. */
  protected def scansOf(df: DataFrame): Seq[FileSourceScanExec] =
    collectWithSubqueries(df.queryExecution.executedPlan) { case s: FileSourceScanExec => s }

  protected def text(df: DataFrame): String = df.queryExecution.toString

  /** Total, kept and pruned files by the metrics, and those without an entry. */
  protected def counts(scan: SparkPlan): Seq[Long] =
    Seq(Total, Kept, Pruned, NoEntry).map(scan.metrics(_).value)

  /** Asserts that a query gives the rows that it gives without skipping, and runs it. */
  protected def checkRows(df: => DataFrame): DataFrame = {
    val expected = withoutSkipping(bag(df))
    val frame = df
    assert(bag(frame) === expected)
    frame
  }

  /** With the same arguments. */
  protected def asSparksOwn(scan: FileSourceScanExec): FileSourceScanExec =
    (FileSourceScanExec.apply _).tupled(FileSourceScanExec.unapply(scan).get)

  protected def relationOf(scan: FileSourceScanExec): HadoopFsRelation = scan.relation
}
