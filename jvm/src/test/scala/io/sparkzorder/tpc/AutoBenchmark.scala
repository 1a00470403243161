// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.tpc

import java.io.{File, PrintWriter}

import scala.util.Try

import org.apache.commons.io.FileUtils

import io.sparkzorder.workload.{QueryNotes, WorkloadCapture}

/**
 * `make bench-auto`: ZORDER BY AUTO on the fact tables of TPC-DS or TPC-H without partitions, beside
 * other layouts. The queries of the training seeds are recorded, AUTO chooses, and the queries of the
 * test seeds are counted: files and bytes that their scans choose. No task reads the fact tables then,
 * so all numbers are the same on every machine.
 *
 * Arguments are `name=value`: `results`, `data`, `scale`, `files`, `train` and `test` (seeds,
 * separated by commas), and if wanted `workload`, `queries`, `contenders` (none: `contenders=`) and
 * `rivals=`, with which layouts are simulated on samples. With `rounds=3` the queries of the test seeds are
 * also run, the contenders in turns, after a first run that compares the rows. Notes of the queries are kept
 * beside the results for the next run, and `keep=` takes the tables that AUTO laid out
 * in an earlier run.
 */
object AutoBenchmark {
  // a driver would have seen each query several times before somebody asks for AUTO
  private val Repeated = 20

  def main(args: Array[String]): Unit = {
    val options = args.map(_.split("=", 2)).map { case Array(k, v) => k -> v }.toMap
    def list(key: String) = options.get(key).map(_.split(',').toSet)
    def seeds(key: String) = options(key).split(',').map(_.toInt).toSeq
    val (files, scale) = (options("files").toInt, options("scale"))
    val workload =
      Workload.all.find(_.name == options.getOrElse("workload", Workload.tpcds.name)).get
    val data =
      new TpcData(workload, scale, new File(options("data"), s"${workload.name}-$scale"), files)
    val queries = workload.queries.filter(q => list("queries").forall(_(q.name)))
    val target = new File(options("results")).getAbsoluteFile
    target.getParentFile.mkdirs()
    val out = new PrintWriter(target, "UTF-8")
    def say(line: String): Unit = {
      println(line)
      out.println(line)
      out.flush()
    }
    val run = new AutoRun(TpcBenchmark.start(), workload, data, files, target, say)
    val train = for (seed <- seeds("train"); q <- queries) yield QueryVariants.of(q, seed) -> seed
    val test = for (seed <- seeds("test"); q <- queries) yield QueryVariants.of(q, seed) -> seed
    if (options.contains("rivals")) {
      run.record(train ++ test)
      new AutoRivals(run, workload, data, files, say).report(queries, seeds("train"), seeds("test"))
    }
    val contenders = Seq(
      Contender("AUTO", Map.empty, new PlainFacts(data, (_, _, fact) => run.folder(fact))),
      Contender.partitioned(data),
      Contender("date and item", Map.empty, new PlainFacts(data, _.optimized(_, _))),
      Contender.generatedOrder(data)).filter(c => list("contenders").forall(_(c.name)))
    if (contenders.nonEmpty) {
      run.record(train)
      if (contenders.exists(_.name == "AUTO") && !options.contains("keep")) {
        run.layOut(train, Repeated)
      }
      options.get("rounds").map(_.toInt) match {
        case Some(rounds) =>
          new AutoSeconds(workload, run.open(contenders), target, say).report(test, rounds)
        case None => run.count(contenders, test)
      }
    }
    out.close()
    System.exit(0)
  }
}

/** The tables of one benchmark, and what queries leave in their records. */
final class AutoRun(
    val spark: org.apache.spark.sql.SparkSession,
    workload: Workload,
    data: TpcData,
    files: Int,
    target: File,
    say: String => Unit) {
  // a query that reads nothing counts as this share in geometric means
  private val LeastShare = 0.001
  private val notes = new File(s"$target.notes")

  def folder(fact: FactTable): File = new File(s"$target.tables", fact.name)

  def notesOf(fact: FactTable, query: String, seed: Int): Option[File] =
    Some(new File(notes, s"${fact.name}/$query.$seed.json")).filter(_.exists())

  /** A copy of each table in the order of the generator. */
  private def copyTables(): Unit = workload.facts.foreach { fact =>
    val to = folder(fact)
    FileUtils.deleteDirectory(to)
    to.mkdirs()
    data.inGeneratedOrder(spark, fact).listFiles().filter(_.getName.endsWith(".parquet"))
      .foreach(FileUtils.copyFileToDirectory(_, to))
    spark.sql(s"CREATE ZORDER INDEX ON '$to'").collect()
  }

  /** Notes the scans of the queries, unless an earlier run has done it. */
  def record(queries: Seq[(TpcQuery, Int)]): Unit = {
    def done(q: TpcQuery, seed: Int) = new File(notes, s"${q.name}.$seed.done")
    val missing = queries.filterNot { case (q, seed) => done(q, seed).exists() }
    if (missing.nonEmpty) {
      copyTables()
      WorkloadCapture.clear()
      val on = Map("spark.zorder.workload.enabled" -> "true")
      val recorded = Contender("recorded", on, new PlainFacts(data, (_, _, fact) => folder(fact)))
      val open = Contender.open(recorded, workload, data, spark)
      missing.foreach { case (q, seed) =>
        if (Try(PlannedFiles.of(open, q.text)).isFailure) say(s"${q.name}.$seed: no plan")
        workload.facts.foreach { fact =>
          QueryNotes.take(folder(fact), new File(notes, s"${fact.name}/${q.name}.$seed.json"))
        }
        WorkloadCapture.clear()
        FileUtils.touch(done(q, seed))
      }
    }
  }

  /** Lays the tables out by the notes of some queries. */
  def layOut(queries: Seq[(TpcQuery, Int)], times: Int): Unit = {
    copyTables()
    workload.facts.foreach { fact =>
      val to = folder(fact)
      val own = queries.flatMap { case (q, seed) => notesOf(fact, q.name, seed) }
      QueryNotes.put(to, own, times)
      val size = to.listFiles().filter(_.getName.endsWith(".parquet")).map(_.length).sum / files
      val row = spark.sql(
        s"OPTIMIZE '$to' ZORDER BY AUTO OPTIONS ('targetFileSize' '${size}b')").head()
      say(s"${fact.name}: ${row.getAs[String]("reason")}")
    }
  }

  def open(contenders: Seq[Contender]): Seq[OpenContender] =
    contenders.map(Contender.open(_, workload, data, spark))

  /** Counts what scans choose. */
  def count(contenders: Seq[Contender], queries: Seq[(TpcQuery, Int)]): Unit = {
    val open = this.open(contenders)
    val counted = queries.flatMap { case (q, seed) =>
      val plans = open.map(o => Try(PlannedFiles.of(o, q.text)).toOption)
      if (plans.exists(_.isEmpty)) say(s"${q.name}.$seed: no plan")
      else if (plans.head.get.scans.nonEmpty) {
        say(s"${q.name}.$seed: ${plans.flatten.map(p => share(p.scans)).mkString(", ")}")
      }
      if (plans.exists(_.isEmpty)) None else Some(s"${q.name}.$seed" -> plans.flatten)
    }
    val measured = counted.map { case (name, plans) =>
      val of = open.zip(plans).map { case (o, p) => TpcBenchmark.counted(o, p) }
      MeasuredQuery(workload.name, name, None, of)
    }
    // for the picture
    TpcBenchmark.save(
      Results(Map("scale" -> data.scale), measured),
      new File(s"$target".stripSuffix(".txt") + ".json"))
    say(s"${counted.size} queries")
    open.zipWithIndex.foreach { case (o, i) =>
      val scans = counted.flatMap(_._2(i).scans)
      val logs = counted.map(_._2(i).scans).filter(_.nonEmpty).map(s =>
        math.log(math.max(LeastShare, ratio(s))))
      say(
        f"${o.contender.name}: ${scans.map(_.files).sum} of ${scans.map(_.allFiles.toLong).sum} files, " +
          f"${scans.map(_.bytes).sum / 1e6}%.0f of ${scans.map(_.allBytes).sum / 1e6}%.0f MB, ${share(
              scans)}, geometric mean " +
          f"${100 * math.exp(logs.sum / math.max(1, logs.size))}%.1f %%; tables of " +
          s"${o.sizes.values.map(_._1).sum} files and ${o.sizes.values.map(_._2).sum / 1000000} MB")
      scans.groupBy(_.table).toSeq.sortBy(_._1).foreach { case (t, s) =>
        say(s"    $t: ${share(s)} of ${s.size} scans, ${s.map(_.bytes).sum / 1000000} MB")
      }
    }
  }

  private def ratio(scans: Seq[ScanCounts]): Double =
    scans.map(_.bytes).sum / scans.map(_.allBytes).sum.toDouble.max(1)

  private def share(scans: Seq[ScanCounts]): String = f"${100 * ratio(scans)}%.1f %%"
}
