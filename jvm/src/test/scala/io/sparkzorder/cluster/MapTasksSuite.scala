// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.cluster

import java.io.File

import org.apache.spark.sql.internal.SQLConf

import io.sparkzorder.ZOrderSessionSuite

class MapTasksSuite extends ZOrderSessionSuite {
  private val Inputs = 40

  /** The number of tasks that read 40 small files, each of which Spark would give a task. */
  private def tasks(rows: Long, files: Int, byUser: Option[Int], bytes: Long = 0): Int = {
    var found = 0
    withTempDir { dir =>
      found = tasks(new File(dir, "t").getPath, rows, bytes, files, byUser)
    }
    found
  }

  private def tasks(
      table: String,
      rows: Long,
      bytes: Long,
      files: Int,
      byUser: Option[Int]): Int = {
    spark.range(0, 400, 1, Inputs).write.parquet(table)
    val session = spark.newSession()
    session.conf.set(SQLConf.FILES_OPEN_COST_IN_BYTES.key, "128m")
    byUser.foreach(n => session.conf.set(SQLConf.FILES_MAX_PARTITION_NUM.key, n.toLong))
    val dealing = new MapTasks(session)
    // what an earlier batch needed does not count
    dealing.limit(1, 1, 1)
    dealing.limit(rows, bytes, files)
    session.read.parquet(table).rdd.getNumPartitions
  }

  test("blocks with many rows: as many tasks as Spark makes") {
    assert(tasks(rows = 1000000, files = 100, byUser = None) === Inputs)
  }

  test("blocks with few rows: fewer tasks, but some for each core") {
    val least = 3 * spark.sparkContext.defaultParallelism
    assert(least < 20)
    assert((least to least + 1).contains(tasks(rows = 400, files = 100, byUser = None)))
    assert((20 to 21).contains(tasks(rows = 20 * 64 * 100, files = 100, byUser = None)))
  }

  test("blocks with few rows that are large: as many tasks as for many rows") {
    val rows = 400
    assert(tasks(rows, files = 100, byUser = None, bytes = rows * 1000000L) === Inputs)
  }

  test("a limit of the user's own stays") {
    assert((10 to 11).contains(tasks(rows = 1000000, files = 100, byUser = Some(10))))
  }
}
