package io.sparkzorder.util

import org.apache.spark.sql.ExperimentalMethods
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}

/**
 * Strategies that a session's planner asks before the strategies of every extension. Spark asks
 * extensions in the order in which they are named, and an extension may plan scans of every table, as
 * Delta's does.
 */
private[sparkzorder] object FirstStrategies {

  /** Puts strategies there. Does nothing if they are there. */
  def ensure(methods: ExperimentalMethods, ours: Seq[SparkStrategy]): Unit = methods.synchronized {
    val now = methods.extraStrategies
    if (!now.startsWith(ours)) methods.extraStrategies = ours ++ now.filterNot(ours.contains)
  }
}

/** Plans nothing. */
private[sparkzorder] object NoStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = Nil
}
