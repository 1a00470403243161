// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.delta

import org.scalatest.Tag
import org.scalatest.tagobjects.Slow

import org.apache.spark.SparkConf
import org.apache.spark.sql.Row
import org.apache.spark.sql.sparkzorder.TestAccess

import io.sparkzorder.ZOrderExtensions
import io.sparkzorder.sources.{FormatAutoTests, FormatStatementTests}

/** What is the same for each format, on Delta tables; each change runs most of it on Iceberg tables alone. */
class DeltaCommonSuite
    extends DeltaTestBase
    with FormatAutoTests
    with FormatStatementTests {
  // as an installation beside Delta has it: Delta's rules and strategies come before ours
  override protected def sparkConf: SparkConf =
    super.sparkConf.set(
      "spark.sql.extensions",
      s"io.delta.sql.DeltaSparkSessionExtension,${classOf[ZOrderExtensions].getName}")
  override protected def commonTags: Seq[Tag] = Seq(Slow)

  test("files without statistics count for every point query before a run", Slow) {
    withSQLConf("spark.databricks.delta.stats.collect" -> "false") {
      onTable() {
        val row = sql("OPTIMIZE TABLE t ZORDER BY (a, b) OPTIONS (targetFileSize = '4k')").head()
        assert(gains(row).map(_.getDouble(1)) === Seq(8.0, 8.0), row)
        assert(gains(row).forall(g => g.getDouble(2) > 0 && g.getDouble(2) < 8), row)
      }
    }
  }

  test("older versions are not recorded, nor writes twice", Slow) {
    onTable() {
      ask(spark.read.format("delta").option("versionAsOf", "0").load(directory.toString)
        .where("a = 5"))
      assert(sql("SHOW WORKLOAD t").count() === 0)
      withSQLConf("spark.zorder.workload.enabled" -> "true") {
        sql("CREATE TABLE copy USING delta AS SELECT * FROM t WHERE a = 6")
        sql("INSERT INTO copy SELECT * FROM t WHERE a = 7")
        TestAccess.drainListeners(spark.sparkContext)
      }
      // each as a point query of `a`
      assert(sql("SHOW WORKLOAD t").collect().map(_.getLong(2)).toSeq === Seq(2L))
    }
  }

  test(
    "a filter on partitions lessens the bytes of a scan; a path is recorded like its table",
    Slow) {
    onTable("PARTITIONED BY (p)") {
      ask(
        spark.table("t").where("p = 1 AND a = 5"),
        spark.read.format("delta").load(directory.toString).where("b = 5"))
      val rows = sql(s"SHOW WORKLOAD delta.`$directory`").collect()
      val bytes = rows.map(r => r.getSeq[Row](0).head.getString(0) -> r.getLong(3)).toMap
      val share = bytes("a").toDouble / bytes("b")
      assert(share > 0.2 && share < 0.3, bytes)
      // Delta's VACUUM takes the notes for no file of the table
      withSQLConf("spark.databricks.delta.retentionDurationCheck.enabled" -> "false") {
        sql("VACUUM t RETAIN 0 HOURS")
      }
      assert(sql("SHOW WORKLOAD t").count() === rows.length)
    }
  }
}
