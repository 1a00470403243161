// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import org.apache.spark.sql.ExperimentalMethods
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/** Rules at the end of a session's optimizer, where an extension of Spark cannot put any. */
private[sparkzorder] object LastRules {

  /** Puts a rule there. Does nothing if it is there. */
  def ensure(methods: ExperimentalMethods, rule: Rule[LogicalPlan]): Unit = methods.synchronized {
    if (!methods.extraOptimizations.contains(rule)) {
      methods.extraOptimizations = methods.extraOptimizations :+ rule
    }
  }
}
