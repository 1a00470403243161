// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.quality

import java.io.File
import java.nio.file.Files
import java.util.{LinkedHashMap, Map => JMap}

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.ZOrderExtensions

/**
 * Measures the quality of layouts on full sizes. Prints Markdown tables and writes all numbers to
 * the JSON file that the first argument names. Further arguments choose sections: `uniform`,
 * `skewed`, `paged`, `partitions`; the default is these. `five` (the five columns of `uniform`
 * alone) and `many` (10,000 files) are run by name only. Nothing is timed.
 */
object QualityBenchmark {
  private val rows = 1000000L

  def main(args: Array[String]): Unit = {
    val byDefault = Set("uniform", "skewed", "paged", "partitions")
    val known = byDefault ++ Set("five", "many")
    require(
      args.nonEmpty && args.tail.forall(known),
      s"usage: QualityBenchmark <JSON file to write> [${known.mkString(" | ")} ...]")
    val chosen = if (args.length == 1) byDefault else args.tail.toSet
    val base = Files.createTempDirectory("quality").toFile
    val session = newSession(base)
    try {
      val sections = run(session, new QualityLab(session, base), chosen)
      println(s"\n## Thresholds\n\n${QualitySummary.markdown(sections)}\n")
      write(new File(args(0)), sections)
    } finally {
      session.stop()
      org.apache.commons.io.FileUtils.deleteDirectory(base)
    }
  }

  private def newSession(base: File): Session = {
    val session = SparkSession.builder().master("local[2]").appName("quality")
      .config("spark.sql.extensions", classOf[ZOrderExtensions].getName)
      .config("spark.sql.shuffle.partitions", "8")
      .config("spark.sql.warehouse.dir", new File(base, "warehouse").getPath)
      .config("spark.ui.enabled", "false")
      .getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    SparkLine.session(session)
  }

  private def run(session: Session, lab: QualityLab, chosen: Set[String]): QualitySections = {
    // a full run takes many minutes, so each line is printed as soon as its table is measured
    def section(id: String, title: String)(tables: => Iterator[Seq[Outcome]]): Seq[Outcome] = {
      val judged = if (chosen(id)) tables else Iterator.empty
      judged.zipWithIndex.flatMap { case (outcomes, i) =>
        if (i == 0) print(s"\n## $title\n\n${QualityReport.head(outcomes.head)}")
        outcomes.foreach(o => println(QualityReport.line(o)))
        outcomes
      }.toIndexedSeq
    }
    def ofUniform(columns: Seq[Int]) = columns.iterator.map { d =>
      lab.outcomes(QualityData.uniform(d, rows), Seq(64, 100, 128, 256, 500, 1024))
    }
    val uniform = section("uniform", "Uniform columns")(ofUniform(2 to 5)) ++
      section("five", "Five uniform columns")(ofUniform(Seq(5)))
    // small files, so that many of them need few rows
    val many = section("many", "Very many files") {
      Iterator(lab.outcomes(QualityData.uniform(2, 2 * rows), Seq(10000)))
    }
    val skewed = section("skewed", "Skewed and correlated columns") {
      QualityData.skewed(rows).iterator.map(lab.outcomes(_, Seq(64, 100, 256)))
    }
    // row groups have at least 1 MiB and pages 20,000 rows, so these files have several of both
    val paged = section("paged", "Row groups and pages") {
      Iterator(2, 3).map(d => lab.outcomes(QualityData.uniform(d, 4 * rows), Seq(8)))
    }
    val folders = if (chosen("partitions")) Some(partitions(session, lab)) else None
    section("partitions", s"2,000 partitions, ${folders.map(_.files).sum} files: the largest")(
      folders.map(_.judged).iterator)
    QualitySections(uniform, skewed, paged, folders, many)
  }

  private def partitions(session: Session, lab: QualityLab): PartitionOutcomes =
    PartitionOutcomes.of(
      lab,
      QualityData.partitioned(2000, rows),
      files = 500,
      judged = 10,
      session.sessionState.newHadoopConf())

  private def write(file: File, s: QualitySections): Unit = {
    val all: JMap[String, Any] = new LinkedHashMap[String, Any]()
    all.put("uniform", QualityReport.json(s.uniform))
    all.put("skewed", QualityReport.json(s.skewed))
    all.put("paged", QualityReport.json(s.paged))
    all.put("partitions", QualityReport.json(s.partitions.toSeq.flatMap(_.judged)))
    all.put("many", QualityReport.json(s.many))
    all.put("thresholds", QualitySummary.of(s).map(_.json).asJava)
    Option(file.getAbsoluteFile.getParentFile).foreach(_.mkdirs())
    new ObjectMapper().writerWithDefaultPrettyPrinter().writeValue(file, all)
  }
}
