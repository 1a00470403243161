// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions.sampling

import org.apache.spark.sql.catalyst.plans.logical.{CTERelationRef, LogicalPlan, UnionLoopRef}

/**
 * Spark 4.0 already has the nodes of recursive queries. A call of a sampling function over a recursive query
 * fails in Spark 4.0, so the tests of such calls begin with 4.1.
 */
private[sparkzorder] object PlanBridge {

  /** Whether the node is the reference of a recursive query to its own rows. */
  def isRecursion(plan: LogicalPlan): Boolean = plan match {
    case _: UnionLoopRef => true
    case c: CTERelationRef => c.recursive
    case _ => false
  }
}
