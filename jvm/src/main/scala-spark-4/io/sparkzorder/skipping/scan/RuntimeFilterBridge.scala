// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.sql.catalyst.expressions.{DynamicPruningSubquery, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

private[sparkzorder] object RuntimeFilterBridge {

  /** In Spark 4, a filter has a list of positions in `buildKeys`. Here the list always has one position. */
  def pruning(
      key: Expression,
      build: LogicalPlan,
      buildKeys: Seq[Expression],
      position: Int,
      onlyInBroadcast: Boolean): DynamicPruningSubquery =
    DynamicPruningSubquery(key, build, buildKeys, Seq(position), onlyInBroadcast)

  def positions(filter: DynamicPruningSubquery): Seq[Int] = filter.broadcastKeyIndices

  /** Spark 4 itself hands filters with scalar subqueries to scans. */
  val scansGetScalarSubqueries: Boolean = true
}
