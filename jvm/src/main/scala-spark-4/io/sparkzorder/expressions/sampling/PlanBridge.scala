// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions.sampling

import org.apache.spark.sql.catalyst.plans.logical.{CTERelationRef, LogicalPlan, UnionLoopRef}

/**
 * Recognizes recursive queries. Spark 4.0 has their nodes, too, but only the lines from 4.1 on are tested: a sampled
 * function over the result of a recursive query fails in 4.0.
 */
private[sparkzorder] object PlanBridge {

  /** Whether the node is the reference of a recursive query to its own rows. */
  def isRecursion(plan: LogicalPlan): Boolean = plan match {
    case _: UnionLoopRef => true
    case c: CTERelationRef => c.recursive
    case _ => false
  }
}
