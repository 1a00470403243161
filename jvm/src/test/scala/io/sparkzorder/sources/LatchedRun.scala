// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import org.apache.spark.sql.sparkzorder.SparkLine.Session

import io.sparkzorder.rewrite.RewriteRunner

/** A run of OPTIMIZE that calls `before` when all files are written and nothing is committed yet. */
private[sources] final class LatchedRun(
    user: Session,
    format: TableFormat,
    clauses: OptimizeClauses,
    before: () => Unit)
    extends RewriteRunner(user, format, None, clauses) {

  override protected def guard(batch: BatchPlan, written: IndexedSeq[FormatFile]): Unit = {
    super.guard(batch, written)
    before()
  }
}
