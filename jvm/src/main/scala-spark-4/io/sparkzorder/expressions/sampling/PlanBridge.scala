// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions.sampling

import org.apache.spark.sql.catalyst.plans.logical.{CTERelationRef, LogicalPlan, UnionLoopRef}

/**
 * Recognizes recursive queries, in 4.0 as in later lines. A sampled function over the result of a recursive query fails
 * in 4.0, so such functions are tested from 4.1 on.
 */
private[sparkzorder] object PlanBridge {

  /** Whether the node is the reference of a recursive query to its own rows. */
  def isSelfReference(plan: LogicalPlan): Boolean = plan match {
    case _: UnionLoopRef => true
    case c: CTERelationRef => c.recursive
    case _ => false
  }
}
