// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder

import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart, SparkListenerTaskEnd}
import org.apache.spark.sql.SparkSession

/** The number of jobs that ran during a block, and the rows that their tasks read from files. */
final case class JobCount(jobs: Int, rowsRead: Long)

object JobCounter {

  def count(spark: SparkSession)(body: => Unit): JobCount = {
    val jobs = new AtomicInteger
    val rows = new AtomicLong
    val listener = new SparkListener {
      override def onJobStart(start: SparkListenerJobStart): Unit = {
        val _ = start
        jobs.incrementAndGet()
      }
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
        rows.addAndGet(end.taskMetrics.inputMetrics.recordsRead)
    }
    org.apache.spark.sql.sparkzorder.TestAccess.drainListeners(spark.sparkContext)
    spark.sparkContext.addSparkListener(listener)
    try {
      body
      org.apache.spark.sql.sparkzorder.TestAccess.drainListeners(spark.sparkContext)
    } finally spark.sparkContext.removeSparkListener(listener)
    JobCount(jobs.get, rows.get)
  }
}
