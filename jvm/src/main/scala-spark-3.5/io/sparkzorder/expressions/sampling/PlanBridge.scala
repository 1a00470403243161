// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.expressions.sampling

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** There are no recursive queries before Spark 4. */
private[sparkzorder] object PlanBridge {

  def isSelfReference(plan: LogicalPlan): Boolean = {
    val _ = plan
    false
  }
}
