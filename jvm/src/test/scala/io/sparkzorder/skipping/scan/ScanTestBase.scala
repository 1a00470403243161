package io.sparkzorder.skipping.scan

import java.io.File

import org.apache.spark.SparkConf
import org.apache.spark.sql.{DataFrame, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.HadoopFsRelation

import io.sparkzorder.ZOrderExtensions
import io.sparkzorder.skipping.SkippingTestBase

/** What tests of the scan's numbers share: a table whose files are known by heart, and its scans. */
abstract class ScanTestBase extends SkippingTestBase with AdaptiveSparkPlanHelper {
  import MetricsScan._

  override protected def codegen: Boolean = true

  override protected def sparkConf: SparkConf =
    super.sparkConf.set(
      "spark.sql.extensions",
      s"${classOf[ZOrderExtensions].getName},${classOf[RestoringExtensions].getName}")

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

  /** As another extension may do it, which knows Spark's own scan alone. */
  protected def restoring[T](body: => T): T = {
    RestoringExtensions.isOn = true
    try body
    finally RestoringExtensions.isOn = false
  }

  protected def asSparksOwn(scan: FileSourceScanExec): FileSourceScanExec =
    RestoringExtensions.restored(scan)

  protected def relationOf(scan: FileSourceScanExec): HadoopFsRelation = scan.relation
}

/** Puts Spark's own scan in the place of ours, while it is on. */
class RestoringExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectColumnar(_ =>
      new ColumnarRule {
        override def preColumnarTransitions: Rule[SparkPlan] = RestoringExtensions
      })
}

object RestoringExtensions extends Rule[SparkPlan] {
  @volatile var isOn = false

  def restored(scan: FileSourceScanExec): FileSourceScanExec =
    (FileSourceScanExec.apply _).tupled(FileSourceScanExec.unapply(scan).get)

  override def apply(plan: SparkPlan): SparkPlan =
    if (!isOn) plan else plan.transformUp { case s: FileSourceScanExec => restored(s) }
}
