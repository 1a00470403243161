// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality

import java.nio.file.Files

import org.scalactic.source.Position
import org.scalatest.tagobjects.Slow

import org.apache.spark.SparkConf

import io.sparkzorder.ZOrderSessionSuite

/**
 * Thresholds of layout quality, on small tables. Nothing is timed: the numbers come from footers
 * and column indexes and are the same on every machine. [[QualityBenchmark]] measures large tables.
 */
class QualitySuite extends ZOrderSessionSuite {

  /** Interpretation is faster for small data. */
  override protected def sparkConf: SparkConf =
    super.sparkConf
      .set("spark.sql.codegen.wholeStage", "false")
      .set("spark.sql.codegen.factoryMode", "NO_CODEGEN")

  private lazy val base = Files.createTempDirectory("quality").toFile
  private lazy val lab = new QualityLab(spark, base)

  override def afterAll(): Unit =
    try lab.delete(base)
    finally super.afterAll()

  private def report(outcomes: Seq[Outcome]): Unit =
    QualityReport.markdown(outcomes).split('\n').foreach(info(_))

  private def atMost(limit: Double, outcomes: Seq[Outcome])(number: Outcome => Double): Unit = {
    val above = outcomes.map(o => (s"${o.name}, ${o.files.units} files", number(o)))
      .filterNot(_._2 <= limit)
    assert(above.isEmpty, s"above $limit")
  }

  private def evenFiles(outcomes: Seq[Outcome]): Unit = {
    atMost(Threshold.LargestFile, outcomes)(_.sizes.largestByRows)
    atMost(Threshold.LargestFile, outcomes)(_.sizes.largestByBytes)
    atMost(Threshold.SmallFiles.toDouble, outcomes)(_.sizes.small.toDouble)
  }

  // the limit of the mean is one of all numbers of columns, more of which are further from the ideal
  for ((columns, files, tags) <- Seq(
      (2 to 2, Seq(64), Nil),
      (2 to 5, Seq(64, 100), Seq(Slow)))) {
    lazy val uniform =
      columns.flatMap(d => lab.outcomes(QualityData.uniform(d, 80000), files))
    def threshold(name: String)(body: => Unit)(implicit pos: Position): Unit =
      test(s"${columns.head} to ${columns.last} uniform columns: $name", tags: _*)(body)

    threshold("point queries are near the ideal") {
      report(uniform)
      val mean = QualityReport.geometricMean(uniform.map(_.files.pointExcess))
      assert(mean <= Threshold.MeanExcess)
      atMost(Threshold.WorstExcess, uniform)(_.files.pointExcess)
    }

    threshold("no column pays for another") {
      uniform.foreach { o =>
        atMost(Threshold.columnExcess(o.columns.size), Seq(o))(_.files.columnExcess.max)
      }
    }

    for (share <- Seq(0.01, 0.1)) {
      threshold(s"ranges of $share of the rows") {
        atMost(Threshold.RangeExcess, uniform)(_.files.rangeExcess(share))
      }

      threshold(s"boxes of $share of the rows in two columns") {
        atMost(Threshold.RangeExcess, uniform)(_.files.boxExcess(share))
      }
    }

    threshold("files of one size")(evenFiles(uniform))
  }

  // a power of four, so that both columns get the same number of cuts
  for (data <- QualityData.skewed(60000)) {
    lazy val outcomes = lab.outcomes(data, Seq(64))
    val tags =
      if (data.name == "zipf 1.1 and uniform") Nil
      else Seq(Slow)
    def threshold(name: String)(body: => Unit)(implicit pos: Position): Unit =
      test(s"${data.name}: $name", tags: _*)(body)

    threshold("near a kd-tree over all rows") {
      report(outcomes)
      atMost(Threshold.AgainstOracle, outcomes)(_.againstOracle.max)
    }

    threshold("files of one size")(evenFiles(outcomes))
  }

  // a sixteenth of a file's rows, and more than that: pages are a sixteenth in both cases
  for ((limit, columns, tags) <- Seq(
      (500, Seq(2), Nil),
      (500, Seq(3), Seq(Slow)),
      (700, Seq(2, 3), Seq(Slow)))) {
    val what = s"${columns.mkString(" and ")} columns, at most $limit rows in a page"
    test(s"pages of a file skip too: $what", tags: _*) {
      withSQLConf("parquet.page.row.count.limit" -> limit.toString) {
        val paged = columns.flatMap(d => lab.outcomes(QualityData.uniform(d, 128000), Seq(16)))
        report(paged)
        assert(paged.forall(_.pages.units >= 200), "the test needs several pages a file")
        atMost(Threshold.PageExcess, paged)(_.pages.pointExcess)
      }
    }
  }

  test("each partition has cuts of its own", Slow) {
    val data = QualityData.partitioned(50, 60000)
    val conf = spark.sessionState.newHadoopConf()
    val outcome = PartitionOutcomes.of(lab, data, 100, 5, conf)
    info(s"${outcome.files} files")
    report(outcome.judged)
    assert(outcome.rowsBefore.size === 50)
    assert(outcome.rowsAfter === outcome.rowsBefore)
    val larger = outcome.judged.filter(_.files.units >= 16)
    assert(larger.nonEmpty)
    atMost(Threshold.WorstExcess, larger)(_.files.pointExcess)
    evenFiles(outcome.judged)
  }
}
