// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.sparkzorder

import java.io.File

import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.sql.test.{SharedSparkSession, TestSparkSession}

/** A session that runs a failed task again, up to four times; usually tests run each task once. */
trait RetriedTasks extends SharedSparkSession {
  override protected def createSparkSession: TestSparkSession =
    new TestSparkSession(
      new SparkContext("local[2,4]", "retries", sparkConf.set("spark.sql.testkey", "true")))
}

object RetriedTasks {

  /** The files in which this process keeps the output of map tasks. */
  def shuffleFiles(): Seq[File] =
    SparkEnv.get.blockManager.diskBlockManager.getAllFiles().toList
      .filter(_.getName.startsWith("shuffle_"))
}
