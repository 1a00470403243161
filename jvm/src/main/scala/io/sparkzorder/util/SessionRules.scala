// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.util

import org.apache.spark.sql.{ExperimentalMethods, SparkSession}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.sparkzorder.SparkLine

/**
 * Our strategies, which a session's planner applies before the strategies of all extensions. Spark applies the
 * strategies of extensions in the order in which the extensions are named. An extension that is named before ours may
 * plan scans of every table, as Delta's does.
 *
 * If one of our strategies has planned something, the strategies of other extensions are still called, because some
 * of them only check a plan, as Kyuubi's limit of partitions does. The plans that they return are dropped.
 */
private[sparkzorder] final case class FirstStrategies(
    session: SparkSession,
    ours: Seq[SparkStrategy])
    extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] =
    ours.iterator.map(_(plan)).find(_.nonEmpty).fold(Seq.empty[SparkPlan]) { planned =>
      SparkLine.session(session).sessionState.planner.extraPlanningStrategies.foreach(_(plan))
      planned
    }
}

private[sparkzorder] object FirstStrategies {

  /** Puts our strategies first in `extraStrategies`, unless they are first already. */
  def ensure(session: SparkSession, ours: Seq[SparkStrategy]): Unit = {
    val methods = session.experimental
    val first = FirstStrategies(session, ours)
    methods.synchronized {
      val now = methods.extraStrategies
      if (now.headOption != Some(first)) {
        // a cloned session has inherited the strategies of the session that it was cloned from
        methods.extraStrategies = first +: now.filterNot(_.isInstanceOf[FirstStrategies])
      }
    }
  }
}

/** Rules at the end of a session's optimizer. SparkSessionExtensions cannot put a rule there. */
private[sparkzorder] object LastRules {

  /** Appends a rule to `extraOptimizations`, unless it is there already. */
  def ensure(methods: ExperimentalMethods, rule: Rule[LogicalPlan]): Unit = methods.synchronized {
    if (!methods.extraOptimizations.contains(rule)) {
      methods.extraOptimizations = methods.extraOptimizations :+ rule
    }
  }
}
