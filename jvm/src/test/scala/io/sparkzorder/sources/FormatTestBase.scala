// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import org.apache.spark.sql.DataFrame

import io.sparkzorder.commands.OptimizeTestBase

/** What the suites of Delta and Iceberg tables share. */
abstract class FormatTestBase extends OptimizeTestBase {

  /** Rows in no order of `a` and `b`, in `files` partitions. */
  protected def numbers(from: Int, until: Int, files: Int): DataFrame =
    spark.range(from, until, 1, files).selectExpr(
      "id",
      "pmod(hash(id), 1000) a",
      "pmod(hash(id, 7), 1000) b",
      "id % 4 p",
      "concat('s', id % 13) s")
}
