// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.write

import java.lang.management.ManagementFactory
import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.{Job, TaskAttemptID, TaskType}
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.parquet.hadoop.{ParquetOutputFormat, ParquetRecordWriter}
import org.apache.parquet.io.api.RecordConsumer

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetWriteSupport}
import org.apache.spark.sql.types.StructType

/**
 * Processor seconds of one thread that writes the rows of one Parquet file, which lie in memory with a
 * place after them: by Spark's write support after a projection that leaves the place out, by
 * [[FlatRows]] after the same projection, and by [[FlatRows]] without it. The three take turns, and the
 * first third of the rounds warms up. Arguments: a Parquet file without nested columns, and rounds.
 * The JVM of tests has the first compiler alone; in sbt,
 *
 * {{{
 * set spark41 / Test / javaOptions -= "-XX:TieredStopAtLevel=1"
 * spark41/Test/runMain io.sparkzorder.write.WriteBenchmark FILE 18
 * }}}
 */
object WriteBenchmark {

  private final class Flat(schema: StructType) extends ParquetWriteSupport {
    private val rows = FlatRows.of(schema).get
    private var out: RecordConsumer = _
    override def prepareForWrite(consumer: RecordConsumer): Unit = {
      super.prepareForWrite(consumer)
      out = consumer
    }
    override def write(row: InternalRow): Unit = rows.write(row, out)
  }

  def main(args: Array[String]): Unit = {
    val Array(file, count) = args
    val rounds = count.toInt
    val spark = SparkSession.builder().master("local[1]")
      .config("spark.ui.enabled", "false")
      .config("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")
      .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS").getOrCreate()
    val frame = spark.read.parquet(file).selectExpr("*", "1L AS place")
    val rows = frame.queryExecution.toRdd.map(_.copy()).collect()
    val schema = StructType(frame.schema.dropRight(1))
    val job = Job.getInstance(spark.sessionState.newHadoopConf())
    new ParquetFileFormat().prepareWrite(spark, job, Map.empty, schema)
    // four row groups of two pages, as in a file of OPTIMIZE
    job.getConfiguration.setInt("parquet.block.row.count.limit", rows.length / 4 + 1)
    job.getConfiguration.setInt(ParquetOutputFormat.PAGE_ROW_COUNT_LIMIT, rows.length / 8 + 1)
    val narrow = UnsafeProjection.create(schema)
    val conf = job.getConfiguration
    val contenders = Seq[(String, () => Double)](
      "Spark's, projected" ->
        (() => seconds(new ParquetWriteSupport, rows.iterator.map(narrow), conf)),
      "ours, projected" -> (() => seconds(new Flat(schema), rows.iterator.map(narrow), conf)),
      "ours" -> (() => seconds(new Flat(schema), rows.iterator, conf)))
    val took = for (r <- 0 until rounds; i <- contenders.indices) yield {
      val (name, run) = contenders((i + r) % contenders.size)
      System.gc()
      (r, name, run())
    }
    contenders.foreach { case (name, _) =>
      val sorted = took.collect { case (r, `name`, s) if r >= rounds / 3 => s }.sorted
      println(f"$name%-20s ${sorted(sorted.size / 2)}%.3f s, ${sorted.head}%.3f to " +
        f"${sorted.last}%.3f, ${rows.length} rows")
    }
    spark.stop()
  }

  private def seconds(
      support: ParquetWriteSupport,
      rows: Iterator[InternalRow],
      conf: Configuration): Double = {
    val directory = Files.createTempDirectory("write")
    val path = new Path(directory.resolve("rows.parquet").toUri)
    val task =
      new TaskAttemptContextImpl(conf, new TaskAttemptID("write", 1, TaskType.REDUCE, 0, 0))
    val clock = ManagementFactory.getThreadMXBean
    val begun = clock.getCurrentThreadCpuTime
    val writer = new ParquetOutputFormat[InternalRow](support).getRecordWriter(task, path)
      .asInstanceOf[ParquetRecordWriter[InternalRow]]
    rows.foreach(writer.write(null, _))
    writer.close(task)
    val took = (clock.getCurrentThreadCpuTime - begun) / 1e9
    directory.toFile.listFiles.foreach(_.delete())
    directory.toFile.delete()
    took
  }
}
