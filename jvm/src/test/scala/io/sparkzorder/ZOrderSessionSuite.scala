// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import java.io.File

import org.apache.commons.io.FileUtils

import org.apache.spark.SparkConf
import org.apache.spark.sql.QueryTest
import org.apache.spark.sql.test.SharedSparkSession

/**
 * A suite with one session that has the extension, set up for small data. `-Dsparkzorder.test.publish=shadow` in
 * `javaOptions` makes the layouts of a suite beside the files, as `make test-shadow` does.
 */
abstract class ZOrderSessionSuite extends QueryTest with SharedSparkSession {

  /**
   * True if Spark checks a plan after each rule that has changed the plan. Most of the time of a small test
   * is planning, so only suites of rules of ours ask for the check ([[ValidatedPlans]]).
   */
  protected def validatesPlans: Boolean = false

  override protected def sparkConf: SparkConf =
    super.sparkConf
      .set("spark.sql.extensions", classOf[ZOrderExtensions].getName)
      .set("spark.sql.shuffle.partitions", "3")
      .set("spark.ui.enabled", "false")
      // each execution writes its plan down for the UI: in one line of text instead of two pages
      .set("spark.sql.ui.explainMode", "simple")
      .set("spark.hadoop.fs.file.impl", classOf[LocalFiles].getName)
      .set("spark.sql.planChangeValidation", validatesPlans.toString)
      .set("spark.sql.lightweightPlanChangeValidation", validatesPlans.toString)
      .setAll(sys.props.get("sparkzorder.test.publish").map("spark.zorder.publish" -> _))

  /** A run that was killed left its tables in the suite's warehouse, where this run makes its own. */
  override protected def beforeAll(): Unit = {
    val warehouse = sparkConf.get("spark.sql.warehouse.dir").stripPrefix("file:")
    FileUtils.deleteQuietly(new File(warehouse))
    super.beforeAll()
  }

  /** Like `withSQLConf`, which returns nothing on Spark 3.5. */
  protected def inConf[T](settings: (String, String)*)(body: => T): T = {
    var result: Option[T] = None
    withSQLConf(settings: _*) {
      result = Some(body)
    }
    result.get
  }

  /** Spark 3.5 asks how dates and timestamps before 1582 are meant before it writes them. */
  protected def writingOldDates[T](body: => T): T = inConf(
    "spark.sql.parquet.datetimeRebaseModeInWrite" -> "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite" -> "CORRECTED")(body)
}

/** A suite of rules of ours: after each of them, Spark checks the plan. */
trait ValidatedPlans extends ZOrderSessionSuite {
  override protected def validatesPlans: Boolean = true
}
