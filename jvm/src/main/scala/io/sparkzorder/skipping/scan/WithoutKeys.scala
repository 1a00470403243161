// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.sql.catalyst.expressions.PredicateHelper
import org.apache.spark.sql.catalyst.planning.{PhysicalOperation, ScanOperation}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import io.sparkzorder.conf.Settings

/**
 * Plans a scan while the extension is off, if the query was optimized while it was on. The filters by keys of joins
 * must then leave the plan, as they do in our other strategies: Spark would test rows by them. If a side has too many
 * keys, a second run gives NULL in their place, and no row would pass.
 */
private[sparkzorder] object WithoutKeys extends SparkStrategy with PredicateHelper {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] =
    if (Settings.ofSession(Settings.Enabled)) Nil
    else {
      val rest = withoutKeys(plan)
      if (rest eq plan) Nil else FormatFileStrategy.ofOthers(rest)
    }

  private def withoutKeys(plan: LogicalPlan): LogicalPlan = plan match {
    case ScanOperation(_, _, _, _: LogicalRelation) => ScanFilters.split(plan)._1
    case PhysicalOperation(_, filters, r: DataSourceV2ScanRelation)
        if filters.exists(FormatScanStrategy.isAtRunTime) =>
      FormatTable.of(r).fold(plan) { table =>
        val keys = filters.flatMap(splitConjunctivePredicates)
          .filter(FormatTable.isOfJoin(_, r, table))
        ScanFilters.without(plan, keys)
      }
    case _ => plan
  }
}
