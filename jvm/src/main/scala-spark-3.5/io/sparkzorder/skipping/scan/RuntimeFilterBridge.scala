// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.sql.catalyst.expressions.{DynamicPruningSubquery, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

private[sparkzorder] object RuntimeFilterBridge {

  /** In Spark 3.5, a filter has one position in `buildKeys`. In Spark 4 it has a list of positions. */
  def pruning(
      key: Expression,
      build: LogicalPlan,
      buildKeys: Seq[Expression],
      position: Int,
      onlyInBroadcast: Boolean): DynamicPruningSubquery =
    DynamicPruningSubquery(key, build, buildKeys, position, onlyInBroadcast)

  def positions(filter: DynamicPruningSubquery): Seq[Int] = Seq(filter.broadcastKeyIndex)

  /** Spark 3.5 hands no filter with a subquery to scans (SPARK-43402 is in 4.0). */
  val scansGetScalarSubqueries: Boolean = false
}
