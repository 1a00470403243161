// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import java.io.File

import org.apache.spark.sql.DataFrame

import io.sparkzorder.workload.WorkloadCapture

/** A table `t` of a format, for tests that are the same for each format. */
trait TableOfFormat { this: FormatTestBase =>

  /** Name of the table in SQL. */
  protected def named: String = full("t")

  protected def directory: File

  /** Number of commits of OPTIMIZE. */
  protected def commits: Int

  /** Number of commits of anybody. */
  protected def allCommits: Int

  protected val small = "OPTIONS (targetFileSize = '4k')"

  protected def onTable(
      clauses: String = "",
      rows: Int = 8000,
      files: Int = 8)(body: => Unit): Unit =
    withTables {
      create("t", clauses, files, rows)
      WorkloadCapture.clear()
      body
    }

  protected def t: DataFrame = spark.table(named)
}
