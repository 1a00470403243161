// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.filesystems

import java.io.{File, PrintWriter}

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.{DataFrame, SparkSession}

/**
 * `make bench-store`: what statements and queries send to a store that answers each request after a while,
 * beside Spark alone. Writes a table in Markdown.
 *
 * Arguments: the file to write, rows, files before OPTIMIZE, milliseconds that are added to each request, rounds
 * of each query.
 */
object StoreBenchmark {
  private val bucket = "bench"

  def main(args: Array[String]): Unit = S3Server.program {
    val Array(rows, files, delayMs, rounds) = args.drop(1).map(_.toInt)
    val out = new PrintWriter(new File(args(0)).getAbsoluteFile, "UTF-8")
    def say(line: String): Unit = {
      println(line)
      out.println(line)
      out.flush()
    }
    S3Server.makeBucket(bucket)
    try new StoreBenchmark(rows, files, rounds, say).run(delayMs.toLong)
    finally out.close()
  }

  private def session(settings: (String, String)*): SparkSession = {
    val builder = SparkSession.builder().master("local[2]").config("spark.ui.enabled", "false")
      .config("spark.log.level", "ERROR").config("spark.sql.shuffle.partitions", "8")
    (S3Server.settings.toSeq ++ settings :+ StoreRequests.setting)
      .foldLeft(builder) { case (b, (k, v)) => b.config(k, v) }.getOrCreate()
  }

  // the extension is found on the class path, too
  private val alone = "spark.zorder.enabled" -> "false"
  private val ours = "spark.sql.extensions" -> "io.sparkzorder.ZOrderExtensions"
}

private final class StoreBenchmark(rows: Int, files: Int, rounds: Int, say: String => Unit) {
  import StoreBenchmark._

  private val table = s"s3a://$bucket/table"
  private val copy = s"s3a://$bucket/copy"

  def run(delayMs: Long): Unit = {
    write()
    StoreRequests.delayMs = delayMs
    say(s"$rows rows in $files files; each request takes $delayMs ms longer")
    say("")
    say("| what | seconds | requests | of these |")
    say("|---|---|---|---|")
    queries("Spark alone", table, alone)
    val optimizing = session(ours)
    val path = new Path(table)
    val bytes = path.getFileSystem(optimizing.sparkContext.hadoopConfiguration)
      .listStatus(path).map(_.getLen).sum
    // as many files as before
    def optimize(into: String = "") = optimizing.sql(s"OPTIMIZE '$table' ZORDER BY (a, b) $into " +
      s"OPTIONS ('targetFileSize' '${bytes / files}b')").collect()
    line("OPTIMIZE, beside the files")(optimize())
    line("OPTIMIZE again, nothing to do")(optimize())
    line("OPTIMIZE INTO another directory")(optimize(s"INTO '$copy'"))
    optimizing.stop()
    queries("with the extension, beside", table, ours)
    queries("with the extension, INTO", copy, ours)
    queries("Spark alone, after", table, alone)
    val after = session(ours)
    line("REFRESH ZORDER INDEX")(after.sql(s"REFRESH ZORDER INDEX ON '$table'").collect())
    line("SHOW LAYOUT HISTORY")(after.sql(s"SHOW LAYOUT HISTORY '$table'").collect())
    line("UNDO LAYOUT")(after.sql(s"UNDO LAYOUT '$table'").collect())
    line("VACUUM LAYOUT")(after.sql(s"VACUUM LAYOUT '$table' RETAIN 0 HOURS").collect())
    after.stop()
  }

  private def write(): Unit = {
    val spark = session()
    spark.range(0, rows.toLong, 1, files).selectExpr(
      "id",
      "pmod(hash(id), 1000000) a",
      "pmod(hash(id, 7), 1000000) b",
      "uuid() s").write.parquet(table)
    spark.stop()
  }

  /** A query for a value, in a new session of a new context and in the same one again. */
  private def queries(what: String, path: String, settings: (String, String)*): Unit = {
    val spark = session(settings: _*)
    def query(i: Int): DataFrame =
      spark.read.parquet(path).where(s"a BETWEEN ${i * 1000} AND ${i * 1000 + 99}")
    // classes are loaded before, by a table that is not on the store
    spark.range(1000).where("id % 7 = 3").collect()
    line(s"first query, $what")(query(0).collect())
    val df = query(1)
    line(s"second query, $what", rounds)(query(1).collect())
    line(s"the same data frame again, $what", rounds)(df.collect())
    spark.stop()
  }

  private def line(what: String, times: Int = 1)(body: => Any): Unit = {
    val runs = (1 to times).map { _ =>
      val begun = System.nanoTime()
      val (_, requests) = StoreRequests.of(body)
      ((System.nanoTime() - begun) / 1e9, requests)
    }
    val (seconds, requests) = runs.sortBy(_._1).apply(runs.size / 2)
    val spread =
      if (times == 1) "" else f" (${runs.map(_._1).min}%.2f to ${runs.map(_._1).max}%.2f)"
    val parts = requests.toSeq.sortBy(-_._2).map { case (name, n) => s"$n $name" }.mkString(", ")
    say(f"| $what | $seconds%.2f$spread | ${requests.values.sum} | $parts |")
  }
}
