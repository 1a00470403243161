// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import java.io.PrintWriter
import java.nio.ByteBuffer
import java.nio.ByteOrder.LITTLE_ENDIAN
import java.nio.file.Files
import java.util.{Collections, Map => JavaMap}

import org.apache.commons.io.FileUtils
import org.apache.iceberg.{DataFiles, Metrics}
import org.apache.iceberg.hadoop.HadoopTables

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.delta.{DeltaLog, DeltaOperations}
import org.apache.spark.sql.delta.actions.AddFile

import io.sparkzorder.ZOrderExtensions

/**
 * `make bench-bounds`: what the first query on a version of a Delta or Iceberg table pays for the bounds of the
 * files, and what later queries pay. The tables have entries of files that do not exist, and the keys of the
 * join are in none of them, so that no file is read.
 */
object BoundsBenchmark {
  private val Rounds = 5

  def main(args: Array[String]): Unit = {
    val home = Files.createTempDirectory("bounds").toFile
    val out = new PrintWriter(args.head, "UTF-8")
    def say(line: String): Unit = {
      println(line)
      out.println(line)
      out.flush()
    }
    val spark = SparkSession.builder().master("local[2]").appName("bounds")
      .config(
        "spark.sql.extensions",
        s"${classOf[ZOrderExtensions].getName},io.delta.sql.DeltaSparkSessionExtension")
      .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
      .config("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
      .config("spark.sql.catalog.ice.type", "hadoop")
      .config("spark.sql.catalog.ice.warehouse", s"$home/ice")
      .config("spark.sql.warehouse.dir", s"$home/warehouse")
      .config("spark.sql.shuffle.partitions", "8")
      .config("spark.driver.host", "127.0.0.1")
      .config("spark.driver.bindAddress", "127.0.0.1")
      .config("spark.ui.enabled", "false")
      .getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try {
      spark.range(1000).selectExpr("int(id) - 10000 AS day", "int(id / 100) AS month")
        .write.parquet(s"$home/days")
      spark.read.parquet(s"$home/days").createOrReplaceTempView("days")
      say("| format | files | first query by keys, s | later ones, ms | by a literal, first, s | later ones, ms |")
      say("| --- | --- | --- | --- | --- | --- |")
      for (files <- args.lift(1).fold(Seq(62, 20000, 200000))(_.split(',').map(_.toInt).toSeq)) {
        Seq(
          "delta" -> delta(spark, s"$home/delta-$files", files) _,
          "iceberg" -> iceberg(spark, s"$home/ice", files) _)
          .foreach { case (format, made) =>
            val table = made()
            val byKeys =
              s"SELECT count(*) FROM $table f JOIN days d ON f.day = d.day WHERE d.month = 3"
            val byLiteral = s"SELECT count(*) FROM $table f WHERE f.day = -5"
            val (firstByLiteral, byLiteralLater) = times(spark, byLiteral)
            val (first, later) = times(spark, byKeys)
            say(
              f"| $format | $files%,d | $first%.2f | ${1000 * later}%.0f | $firstByLiteral%.2f | ${1000 * byLiteralLater}%.0f |")
          }
      }
    } finally {
      spark.stop()
      out.close()
      FileUtils.deleteDirectory(home)
    }
  }

  /** Seconds of the first run, and the median of some more. */
  private def times(spark: SparkSession, query: String): (Double, Double) = {
    def run(): Double = {
      val begun = System.nanoTime()
      assert(spark.sql(query).head().getLong(0) == 0)
      (System.nanoTime() - begun) / 1e9
    }
    val first = run()
    (first, Seq.fill(Rounds)(run()).sorted.apply(Rounds / 2))
  }

  // each file has 100 days, of 10,000 in all, and an item that tells nothing
  private def low(file: Int): Int = file % 100 * 100

  private def delta(spark: SparkSession, path: String, files: Int)(): String = {
    spark.sql(s"CREATE TABLE delta.`$path` (day INT, item INT, name STRING) USING delta")
    val adds = (0 until files).map { i =>
      val (min, max) = (low(i), low(i) + 99)
      AddFile(
        path = f"part-$i%08d.parquet",
        partitionValues = Map.empty,
        size = 100000000L,
        modificationTime = i.toLong,
        dataChange = true,
        stats = s"""{"numRecords":1000,"minValues":{"day":$min,"item":0,"name":"a"},""" +
          s""""maxValues":{"day":$max,"item":9,"name":"z"},"nullCount":{"day":0,"item":0,"name":0}}""")
    }
    val log = DeltaLog.forTable(spark, path)
    log.startTransaction(None).commit(adds, DeltaOperations.ManualUpdate)
    log.checkpoint(log.update())
    s"delta.`$path`"
  }

  private def iceberg(spark: SparkSession, warehouse: String, files: Int)(): String = {
    spark.sql(s"CREATE TABLE ice.db.t$files (day INT, item INT, name STRING) USING iceberg")
    val table = new HadoopTables(spark.sessionState.newHadoopConf()).load(s"$warehouse/db/t$files")
    def number(i: Int) = ByteBuffer.allocate(4).order(LITTLE_ENDIAN).putInt(0, i)
    def text(s: String) = ByteBuffer.wrap(s.getBytes("UTF-8"))
    def counts(n: Long): JavaMap[Integer, java.lang.Long] = {
      val map = new java.util.HashMap[Integer, java.lang.Long]
      (1 to 3).foreach(id => map.put(id, n))
      map
    }
    def bounds(day: Int, item: Int, name: String): JavaMap[Integer, ByteBuffer] = {
      val map = new java.util.HashMap[Integer, ByteBuffer]
      map.put(1, number(day))
      map.put(2, number(item))
      map.put(3, text(name))
      map
    }
    val append = table.newFastAppend()
    (0 until files).foreach { i =>
      val metrics = new Metrics(
        1000L,
        counts(1000000L),
        counts(1000L),
        counts(0L),
        Collections.emptyMap[Integer, java.lang.Long],
        bounds(low(i), 0, "a"),
        bounds(low(i) + 99, 9, "z"))
      append.appendFile(
        DataFiles.builder(table.spec).withPath(f"${table.location}/data/part-$i%08d.parquet")
          .withFormat("parquet").withFileSizeInBytes(100000000L).withMetrics(metrics).build())
    }
    append.commit()
    s"ice.db.t$files"
  }
}
