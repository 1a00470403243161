package io.sparkzorder.tpc

import java.io.{File, PrintWriter}

import scala.util.Try

import org.apache.commons.io.FileUtils

import org.apache.spark.sql.SparkSession

import io.sparkzorder.workload.{RepeatedWorkload, WorkloadCapture}

/**
 * `make bench-auto`: ZORDER BY AUTO on the fact tables of TPC-DS without partitions, beside other
 * layouts. The queries of the training seeds are recorded, AUTO chooses, and the queries of the test
 * seeds are counted: files and bytes that their scans choose. No task reads the fact tables then, so
 * all numbers are the same on every machine.
 *
 * Arguments are `name=value`: `results`, `data`, `scale`, `files`, `train` and `test` (seeds,
 * separated by commas), and if wanted `queries` and `contenders`.
 */
object AutoBenchmark {
  // a driver would have seen each query several times before somebody asks for AUTO
  private val Repeated = 20

  def main(args: Array[String]): Unit = {
    val options = args.map(_.split("=", 2)).map { case Array(k, v) => k -> v }.toMap
    def seeds(key: String) = options(key).split(',').map(_.toInt).toSeq
    val (files, scale) = (options("files").toInt, options("scale"))
    val workload = Workload.tpcds
    val base = new File(options("data"), s"${workload.name}-$scale")
    val data = new TpcData(workload, scale, base, files)
    val queries = workload.queries.filter(q =>
      options.get("queries").forall(_.split(',').contains(q.name)))
    val target = new File(options("results")).getAbsoluteFile
    target.getParentFile.mkdirs()
    val out = new PrintWriter(target, "UTF-8")
    def say(line: String): Unit = {
      println(line)
      out.println(line)
      out.flush()
    }
    val spark = TpcBenchmark.start()
    val auto = layOut(spark, data, base, workload, files, queries, seeds("train"), say)
    val contenders = Seq(
      Contender("AUTO", Map.empty, (_, _, fact) => auto(fact.name)),
      Contender("date and item", Map.empty, _.optimized(_, _)),
      Contender.Partitioned,
      Contender.GeneratedOrder)
      .filter(c => options.get("contenders").forall(_.split(',').contains(c.name)))
    val open = contenders.map(Contender.open(_, workload, data, spark))
    val counted = for (seed <- seeds("test"); q <- queries) yield {
      val query = QueryVariants.of(q, seed)
      val plans = open.map(o => Try(PlannedFiles.of(o, query.text)).toOption)
      plans.find(_.isEmpty).foreach(_ => say(s"${q.name} of seed $seed could not be planned"))
      if (plans.exists(_.isEmpty)) None else Some((s"${q.name}.$seed", plans.flatten))
    }
    report(open, counted.flatten, say)
    out.close()
    spark.stop()
    System.exit(0)
  }

  /** Copies of the tables in the order of the generator, recorded and then laid out by AUTO. */
  private def layOut(
      spark: SparkSession,
      data: TpcData,
      base: File,
      workload: Workload,
      files: Int,
      queries: Seq[TpcQuery],
      seeds: Seq[Int],
      say: String => Unit): Map[String, File] = {
    val folders = workload.facts.map { fact =>
      val folder = new File(base, s"auto-$files/${fact.name}").getAbsoluteFile
      FileUtils.deleteDirectory(folder)
      folder.mkdirs()
      data.inGeneratedOrder(spark, fact).listFiles().filter(_.getName.endsWith(".parquet"))
        .foreach(FileUtils.copyFileToDirectory(_, folder))
      spark.sql(s"CREATE ZORDER INDEX ON '$folder'").collect()
      fact.name -> folder
    }.toMap
    WorkloadCapture.clear()
    val recorded = Contender(
      "recorded",
      Map("spark.zorder.workload.enabled" -> "true"),
      (_, _, fact) => folders(fact.name))
    val open = Contender.open(recorded, workload, data, spark)
    for (seed <- seeds; q <- queries) Try(PlannedFiles.of(open, QueryVariants.of(q, seed).text))
    folders.toSeq.sortBy(_._1).foreach { case (table, folder) =>
      RepeatedWorkload.of(folder, Repeated)
      spark.sql(s"SHOW WORKLOAD '$folder'").collect().take(6).foreach(r => say(s"  $table: $r"))
      val size = folder.listFiles().filter(_.getName.endsWith(".parquet")).map(_.length).sum / files
      val row = spark.sql(
        s"OPTIMIZE '$folder' ZORDER BY AUTO OPTIONS ('targetFileSize' '${size}b')").head()
      say(s"$table: ${row.getAs[String]("reason")}")
    }
    folders
  }

  private def report(
      open: Seq[OpenContender],
      counted: Seq[(String, Seq[PlanCounts])],
      say: String => Unit): Unit = {
    def share(bytes: Double, all: Double) = if (all > 0) bytes / all else 1.0
    for ((query, plans) <- counted if plans.head.scans.nonEmpty) {
      val cells = plans.map { p =>
        f"${100 * share(p.scans.map(_.bytes.toDouble).sum, p.scans.map(_.allBytes.toDouble).sum)}%.1f %%"
      }
      say(s"$query: ${cells.mkString(", ")}")
    }
    say(s"${counted.size} queries")
    open.zipWithIndex.foreach { case (o, i) =>
      val scans = counted.flatMap(_._2(i).scans)
      val (bytes, all) =
        (scans.map(_.bytes.toDouble).sum, scans.map(_.allBytes.toDouble).sum)
      val logs = counted.map(_._2(i).scans).filter(_.nonEmpty)
        .map(s =>
          math.log(share(s.map(_.bytes.toDouble).sum max 1, s.map(_.allBytes.toDouble).sum)))
      say(f"${o.contender.name}: ${scans.map(_.files.toLong).sum} of ${scans.map(_.allFiles.toLong).sum} files, " +
        f"${bytes / 1e6}%.0f of ${all / 1e6}%.0f MB, ${100 * share(bytes, all)}%.1f %%, geometric mean " +
        f"${100 * math.exp(logs.sum / math.max(1, logs.size))}%.1f %%; tables of ${o.sizes.values.map(_._1).sum} files")
      scans.groupBy(_.table).toSeq.sortBy(_._1).foreach { case (t, s) =>
        say(f"    $t: ${100 * share(s.map(_.bytes.toDouble).sum, s.map(_.allBytes.toDouble).sum)}%.1f %% of ${s.size} scans")
      }
    }
  }
}
