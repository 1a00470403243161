// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.cluster.FolderGrid
import io.sparkzorder.ordered.grid.PlanStore
import io.sparkzorder.table.OrderingColumn

/**
 * The plans of a Delta or Iceberg table, in `_zorder/_grid` of its directory. The clean-up of Delta and
 * Iceberg skips names that begin with `_`. If the directory cannot be written, a plan is lost when its
 * statement ends.
 */
private[sources] final class PlansOfFormat(location: String, columns: Seq[OrderingColumn])
    extends RegionPlans {
  private lazy val store = new PlanStore(
    new Path(location),
    SparkLine.session(SparkSession.active).sessionState.newHadoopConf())
  private val names = columns.map(_.name)
  private val types = columns.map(_.dataType.json)

  override def read(id: String): Option[FolderGrid] = store.read(id, names, types)
  override def write(plan: RegionPlan): Unit = store.write(plan.id, names, types, plan.grid)
  override def remove(id: String): Unit = store.remove(id)

  override def removeUnused(used: Set[String], retainMs: Long): Unit =
    store.removeUnused(used, retainMs)
}
