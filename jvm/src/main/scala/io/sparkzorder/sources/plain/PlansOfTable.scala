// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.sources.plain

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging

import io.sparkzorder.cluster.FolderGrid
import io.sparkzorder.commands.TableState
import io.sparkzorder.ordered.grid.{GridOfRun, GridStore, PlanStore, SampledFolder}
import io.sparkzorder.sources.{FormatFolder, RegionPlan, RegionPlans}
import io.sparkzorder.util.Paths

/** The plans of a plain table, beside the grid that it keeps for writes. */
private[plain] final class PlansOfTable(table: TableState, inputs: PlainInputs)
    extends RegionPlans
    with Logging {
  private lazy val store = new PlanStore(table.root, table.conf)
  private val names = inputs.columns.map(_.name)
  private val types = inputs.columns.map(_.dataType.json)

  override def read(id: String): Option[FolderGrid] = store.read(id, names, types)

  override def write(plan: RegionPlan): Unit = {
    store.write(plan.id, names, types, plan.grid)
    storeGrid(plan)
  }

  override def remove(id: String): Unit = store.remove(id)

  override def removeUnused(used: Set[String], retainMs: Long): Unit =
    store.removeUnused(used, retainMs)

  /** A batch of the plan knows its region only, or the rows of a day. */
  private def storeGrid(plan: RegionPlan): Unit =
    try {
      val grids = new GridStore(table.root, table.conf)
      val folder = SampledFolder(
        Paths.relative(table.root, folderOf(plan.folder).folder.path),
        plan.sample,
        plan.rows,
        inputs.files.filter(_.file.folder == folderOf(plan.folder).folder).map(_.rows).sum,
        plan.files)
      GridOfRun.update(grids.read(), inputs.columns, Seq(folder), inputs.rows, None)
        .foreach(grids.write)
    } catch {
      case NonFatal(e) => logWarning("no grid was stored for writes", e)
    }

  private def folderOf(folder: FormatFolder): PlainFolder = folder match {
    case plain: PlainFolder => plain
    case other => throw new IllegalArgumentException(s"$other is a folder of another table")
  }
}
