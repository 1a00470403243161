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
 * The quality of layouts on full sizes: Markdown tables on standard output, and all numbers in a JSON
 * file that its only argument names. Nothing is timed.
 */
object QualityBenchmark {
  private val rows = 1000000L

  def main(args: Array[String]): Unit = {
    require(args.length == 1, "usage: QualityBenchmark <file for the numbers, in JSON>")
    val base = Files.createTempDirectory("quality").toFile
    val session = newSession(base)
    try {
      val sections = run(session, new QualityLab(session, base))
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

  private def run(session: Session, lab: QualityLab): QualitySections = {
    def section(title: String)(cases: => Seq[Outcome]): Seq[Outcome] = {
      val outcomes = cases
      println(s"\n## $title\n\n${QualityReport.markdown(outcomes)}\n")
      outcomes
    }
    val uniform = section("Uniform columns") {
      (2 to 5).flatMap { d =>
        lab.outcomes(QualityData.uniform(d, rows), Seq(64, 100, 128, 256, 500, 1024))
      }
    }
    val skewed = section("Skewed and correlated columns") {
      QualityData.skewed(rows).flatMap(lab.outcomes(_, Seq(64, 100, 256)))
    }
    // row groups are at least 1 MiB and pages 20,000 rows: files of several of both
    val paged = section("Row groups and pages") {
      Seq(2, 3).flatMap(d => lab.outcomes(QualityData.uniform(d, 4 * rows), Seq(8)))
    }
    val partitions = PartitionOutcomes.of(
      lab,
      QualityData.partitioned(2000, rows),
      files = 500,
      judged = 10,
      session.sessionState.newHadoopConf())
    section(s"2,000 partitions, ${partitions.files} files: the largest")(partitions.judged)
    QualitySections(uniform, skewed, paged, partitions)
  }

  private def write(file: File, s: QualitySections): Unit = {
    val all: JMap[String, Any] = new LinkedHashMap[String, Any]()
    all.put("uniform", QualityReport.json(s.uniform))
    all.put("skewed", QualityReport.json(s.skewed))
    all.put("paged", QualityReport.json(s.paged))
    all.put("partitions", QualityReport.json(s.partitions.judged))
    all.put("thresholds", QualitySummary.of(s).map(_.json).asJava)
    Option(file.getAbsoluteFile.getParentFile).foreach(_.mkdirs())
    new ObjectMapper().writerWithDefaultPrettyPrinter().writeValue(file, all)
  }
}
