// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.rewrite

import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}
import org.apache.spark.sql.sparkzorder.TestAccess

import io.sparkzorder.commands.OptimizeTestBase

/** The columns of the result row, and what the Spark UI shows of a run. */
class OptimizeResultSuite extends OptimizeTestBase {

  test("the columns are as documented") {
    withTable("t") {
      sql("CREATE TABLE t (a INT) USING parquet")
      val result = sql("OPTIMIZE t DRY RUN")
      val sizes = "STRUCT<min: BIGINT, max: BIGINT, avg: DOUBLE, totalFiles: BIGINT NOT NULL, " +
        "totalSize: BIGINT NOT NULL>"
      val metrics = Seq(
        "numFilesAdded: BIGINT NOT NULL",
        "numFilesRemoved: BIGINT NOT NULL",
        s"filesAdded: $sizes NOT NULL",
        s"filesRemoved: $sizes NOT NULL",
        "partitionsOptimized: BIGINT NOT NULL",
        "numBatches: BIGINT NOT NULL",
        "totalConsideredFiles: BIGINT NOT NULL",
        "totalFilesSkipped: BIGINT NOT NULL",
        "startTimeMs: BIGINT NOT NULL",
        "endTimeMs: BIGINT NOT NULL",
        "numRows: BIGINT NOT NULL",
        "sampledRows: BIGINT NOT NULL",
        "shuffleBytes: BIGINT NOT NULL",
        "publishMillis: BIGINT NOT NULL",
        "retainedBytes: BIGINT NOT NULL",
        "retainedUntil: TIMESTAMP").mkString("STRUCT<", ", ", ">")
      val column = "STRUCT<name: STRING NOT NULL, filesPerPointQueryBefore: DOUBLE NOT NULL, " +
        "filesPerPointQueryAfter: DOUBLE NOT NULL, ideal: DOUBLE NOT NULL>"
      assert(describedColumns(result) === Seq(
        "path STRING NOT NULL",
        s"metrics $metrics NOT NULL",
        s"columns ARRAY<$column> NOT NULL",
        "phases MAP<STRING, BIGINT> NOT NULL",
        "dryRun BOOLEAN NOT NULL",
        "reason STRING"))
    }
  }

  test("the description of every job names statement and phase, and so do its stages") {
    withTableDir { dir =>
      write(shuffled(500, 2), dir)
      val seen = new java.util.concurrent.ConcurrentLinkedQueue[String]
      val stages = new java.util.concurrent.ConcurrentLinkedQueue[(String, Set[String])]
      val listener = new SparkListener {
        override def onJobStart(start: SparkListenerJobStart): Unit = {
          val description = String.valueOf(start.properties.getProperty("spark.job.description"))
          seen.add(description)
          stages.add(description -> start.stageInfos.map(_.name).toSet)
        }
      }
      TestAccess.drainListeners(spark.sparkContext)
      spark.sparkContext.addSparkListener(listener)
      try {
        sql(s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS ('verify' 'full')")
        TestAccess.drainListeners(spark.sparkContext)
      } finally spark.sparkContext.removeSparkListener(listener)
      val jobs = seen.toArray.toSeq.map(_.toString)
      assert(jobs.forall(_.startsWith(s"OPTIMIZE parquet.`$dir`: ")), jobs)
      assert(jobs.map(_.split(": ").last).toSet === Set("sample", "write", "verify"))
      // one sampling pass, whatever the number of columns
      assert(jobs.count(_.endsWith("sample")) === 1)
      stages.forEach { case (description, names) => assert(names === Set(description)) }
    }
  }

  test("times, the retention's end, and what a shuffle wrote") {
    withTableDir { dir =>
      write(shuffled(500, 2), dir)
      val start = System.currentTimeMillis()
      val row = optimize(
        s"OPTIMIZE '$dir' ZORDER BY (a, b) OPTIONS ('retention' '2h')",
        dir)(read(dir))
      val end = System.currentTimeMillis()
      val m = row.getStruct(1)
      assert(m.getAs[Long]("startTimeMs") >= start && m.getAs[Long]("endTimeMs") <= end)
      val until = m.getAs[java.sql.Timestamp]("retainedUntil").getTime
      assert(until >= start + 7200000 && until <= end + 7200000)
      assert(m.getAs[Long]("shuffleBytes") > 0)
      assert(m.getAs[Long]("publishMillis") <= end - start)
      assert(row.getMap[String, Long](3).keySet ===
        Set(
          "check",
          "list",
          "footers",
          "sample",
          "cuts",
          "write",
          "verify",
          "commit",
          "publish",
          "index",
          "refresh",
          "clean"))
      val bytes = hidden(dir, "_old_").map(_.length).sum
      assert(bytes === m.getAs[Long]("retainedBytes"))
    }
  }
}
