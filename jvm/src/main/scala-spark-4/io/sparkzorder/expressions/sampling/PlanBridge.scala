// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions.sampling

import org.apache.spark.sql.catalyst.plans.logical.{CTERelationRef, LogicalPlan, UnionLoopRef}

/** Recursive queries: 4.0 has their nodes already; they are tested from 4.1 on. */
private[sparkzorder] object PlanBridge {

  /** Whether the node stands for the rows of the recursion that it is in. */
  def isRecursion(plan: LogicalPlan): Boolean = plan match {
    case _: UnionLoopRef => true
    case c: CTERelationRef => c.recursive
    case _ => false
  }
}
