// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sql

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.Origin

/** Spark 3.5 has no SQL scripts, and its parser refuses the text of a script before this method is called. */
private[sql] object ScriptPlans {

  def replace(script: LogicalPlan)(
      ours: (String, Origin) => Option[(LogicalPlan, Origin)]): LogicalPlan = {
    val _ = ours
    script
  }
}
