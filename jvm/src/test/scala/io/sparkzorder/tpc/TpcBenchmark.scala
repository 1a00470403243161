// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import java.io.File
import java.lang.management.ManagementFactory

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.{ObjectMapper, SerializationFeature}
import com.fasterxml.jackson.module.scala.DefaultScalaModule

import org.apache.spark.sql.SparkSession

import io.sparkzorder.ZOrderExtensions

/** What one contender did in one query; `seconds`, `cpuSeconds` and `planSeconds` have the rounds. */
final case class Measured(
    contender: String,
    rows: Int,
    difference: Option[String],
    seconds: Seq[Double],
    cpuSeconds: Seq[Double],
    planSeconds: Seq[Double],
    scannedBytes: Long,
    plan: PlanCounts)

/** @param error why the query could not be run at all */
final case class MeasuredQuery(
    workload: String,
    query: String,
    error: Option[String],
    measured: Seq[Measured])

final case class Results(facts: Map[String, String], queries: Seq[MeasuredQuery])

/**
 * `make bench-tpcds`: all queries of TPC-DS and TPC-H on several layouts of the fact tables.
 * Arguments are `name=value`: `results`, `data`, `scale`, `files`, `rounds`, and if wanted
 * `workloads`, `contenders`, `queries` and `formats`, separated by commas. With `formats`, the fact
 * tables are Delta or Iceberg tables, read by the format alone and with us. With `planned=` no query is
 * run, and only files and bytes are counted. With `joins=` nothing is measured: the joins above each
 * scan of a fact table are printed.
 */
object TpcBenchmark {

  def main(args: Array[String]): Unit = {
    val options = args.map(_.split("=", 2)).map { case Array(k, v) => k -> v }.toMap
    def list(key: String): Option[Set[String]] = options.get(key).map(_.split(',').toSet)
    val scale = options("scale")
    val rounds = options.getOrElse("rounds", "3").toInt
    val target = new File(options("results")).getAbsoluteFile
    val formats = FormatContenders.Names.filter(f => list("formats").exists(_(f)))
    val spark = start(if (formats.isEmpty) Map.empty else FormatContenders.sessionSettings)
    val facts = Map(
      "scale" -> scale,
      "rounds" -> rounds.toString,
      "Spark" -> spark.version,
      "Java" -> System.getProperty("java.version"),
      "cores" -> "2",
      "heap" -> s"${Runtime.getRuntime.maxMemory >> 20} MiB",
      "load at the start" -> load)
    val done = Seq.newBuilder[MeasuredQuery]
    for (workload <- Workload.all if list("workloads").forall(_(workload.name))) {
      val base = new File(options("data"), s"${workload.name}-$scale")
      val data = new TpcData(workload, scale, base, options("files").toInt)
      val contenders =
        if (formats.isEmpty) Contender.all(data)
        else formats.flatMap(FormatContenders.of(_, data))
      val open = contenders.filter(c => list("contenders").forall(_(c.name))).map { contender =>
        println(s"${workload.name}: opening the tables, ${contender.name}")
        Contender.open(contender, workload, data, spark)
      }
      for (query <- workload.queries if list("queries").forall(_(query.name))) {
        if (options.contains("joins")) {
          JoinsAbove.of(open.head, query.text).foreach(l => println(s"${query.name}: $l"))
        } else {
          val measured = measure(workload, query) {
            if (options.contains("planned")) planned(query, open) else run(query, open, rounds)
          }
          println(line(measured))
          done += measured
          // what was measured survives a query that fails
          save(Results(facts + ("load at the end" -> load), done.result()), target)
        }
      }
    }
    println(s"raw numbers: $target")
    spark.stop()
    if (done.result().exists(_.measured.exists(_.difference.isDefined))) System.exit(1)
    System.exit(0)
  }

  private[tpc] def start(settings: Map[String, String] = Map.empty): SparkSession = {
    val builder = SparkSession.builder().master("local[2]").appName("TPC")
      .config("spark.sql.extensions", classOf[ZOrderExtensions].getName)
      .config("spark.sql.shuffle.partitions", "8")
      .config("spark.sql.session.timeZone", "UTC")
      .config("spark.driver.host", "127.0.0.1")
      .config("spark.driver.bindAddress", "127.0.0.1")
      .config("spark.ui.enabled", "false")
      // the names of tables are taken from the metadata of scans
      .config("spark.sql.maxMetadataStringLength", "1000")
      .config("spark.local.dir", new File("target/spark-local").getAbsolutePath)
      .config("spark.sql.warehouse.dir", new File("target/spark-warehouse").getAbsolutePath)
      // bytes of vectored reads of local files are not counted
      .config("spark.hadoop.parquet.hadoop.vectored.io.enabled", "false")
    settings.foreach { case (key, value) => builder.config(key, value) }
    val spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark
  }

  private def measure(workload: Workload, query: TpcQuery)(
      measured: => Seq[Measured]): MeasuredQuery =
    try MeasuredQuery(workload.name, query.name, None, measured)
    catch {
      case NonFatal(e) =>
        val error = s"${e.getClass.getSimpleName} ${e.getMessage}".linesIterator.next()
        MeasuredQuery(workload.name, query.name, Some(error), Nil)
    }

  /** The first run of each contender gives the rows and the plan; further runs give the seconds. */
  private[tpc] def run(
      query: TpcQuery,
      open: Seq[OpenContender],
      rounds: Int): Seq[Measured] = {
    val first = open.map(o => o -> QueryRun.of(o, query.text))
    val differences = first.map(QueryRun.difference(query, first.head, _))
    val further = (1 to rounds).map(_ => open.map(QueryRun.of(_, query.text))).transpose
    first.zip(differences).zipWithIndex.map { case (((o, run), difference), i) =>
      val timed = if (rounds > 0) further(i) else Seq(run)
      Measured(
        o.contender.name,
        run.rows.size,
        difference,
        timed.map(_.seconds),
        timed.map(_.cpuSeconds),
        timed.map(_.planSeconds),
        run.scannedBytes,
        run.plan)
    }
  }

  private def planned(query: TpcQuery, open: Seq[OpenContender]): Seq[Measured] =
    open.map(o => counted(o, PlannedFiles.of(o, query.text)))

  /** Of a query that was not run. */
  private[tpc] def counted(open: OpenContender, plan: PlanCounts): Measured =
    Measured(open.contender.name, 0, None, Seq(0), Seq(0), Seq(0), 0, plan)

  private def line(q: MeasuredQuery): String = {
    val cells = q.measured.map { m =>
      val files = m.plan.scans.map(_.files).sum
      val all = m.plan.scans.map(_.allFiles).sum
      val bytes = m.plan.scans.map(_.bytes).sum / 1e6
      val seconds = m.seconds.sorted.apply(m.seconds.size / 2)
      val wrong = m.difference.map(d => s" DIFFERENT ROWS: $d").getOrElse("")
      f"${m.contender}: $files of $all files, $bytes%.1f MB, $seconds%.2f s$wrong"
    }
    s"${q.workload} ${q.query}: ${q.error.getOrElse(cells.mkString("; "))}"
  }

  private def load: String =
    f"${ManagementFactory.getOperatingSystemMXBean.getSystemLoadAverage}%.1f"

  private val json = new ObjectMapper().registerModule(DefaultScalaModule)
    .enable(SerializationFeature.INDENT_OUTPUT)

  private[tpc] def save(results: Results, target: File): Unit = {
    target.getParentFile.mkdirs()
    json.writeValue(target, results)
  }
}
