// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Expression, In, InSet}
import org.apache.spark.sql.catalyst.planning.ScanOperation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.conf.{RelationConf, Settings}
import io.sparkzorder.skipping.predicate.{FilePruner, TableColumns}
import io.sparkzorder.util.{FirstStrategies, JobCancellation}

/**
 * Puts the keys of joins, values of subqueries and lists of values into scans of tables whose format lists the
 * files for Spark's own reader. The format's strategy plans the scan, with what it needs to leave out deleted
 * rows. Only the physical scan gets another listing, which holds the format's own entries of files.
 */
private[sparkzorder] object FormatFileStrategy extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case ScanOperation(_, _, filters, r: LogicalRelation)
        if Settings.ofSession(Settings.Enabled) && !ScanStrategy.canIndex(r) &&
          !r.isStreaming && filters.exists(f => FormatScanStrategy.isAtRunTime(f) || isList(f)) =>
      FormatTable.of(r) match {
        case Some(table: FormatFileTable) => planned(plan, filters, r, table)
        case _ => Nil
      }
    case _ => Nil
  }

  /** The format may test such a list by its least and greatest value alone. */
  private def isList(filter: Expression): Boolean = filter.exists {
    case i: In => i.list.size > 1
    case i: InSet => i.hset.size > 1
    case _ => false
  }

  private def planned(
      plan: LogicalPlan,
      filters: Seq[Expression],
      r: LogicalRelation,
      table: FormatFileTable): Seq[SparkPlan] = {
    val (rest, onFiles) = ScanFilters.split(plan)
    if ((rest eq plan) && (!Settings.ofSession(Settings.SkippingEnabled) || Accelerators.areHere)) {
      Nil
    } else {
      val own = ofOthers(rest)
      if (!Settings.ofSession(Settings.SkippingEnabled) || Accelerators.areHere) own
      else {
        val keys = ScanFilters.keys(filters, r)
        own.map(_.transformUp {
          case s: FileSourceScanExec
              if s.getClass == classOf[FileSourceScanExec] && table.isOf(s.relation.location) =>
            pruned(s, onFiles, keys, r, table)
        })
      }
    }
  }

  private def ofOthers(plan: LogicalPlan): Seq[SparkPlan] =
    SparkLine.session(SparkSession.active).sessionState.planner.strategies.iterator
      .filterNot(_.isInstanceOf[FirstStrategies]).map(_(plan)).find(_.nonEmpty).getOrElse(Nil)

  private def pruned(
      scan: FileSourceScanExec,
      onFiles: Seq[Expression],
      keys: Seq[KeysOfJoin],
      r: LogicalRelation,
      table: FormatFileTable): SparkPlan = {
    val relation = scan.relation
    val settings = new RelationConf(relation)
    val index = new ZOrderFileIndex(
      relation.location,
      relation,
      new TableRoots(None, settings),
      settings,
      new FormatPruning(table, FormatTable.columnsOf(r.output)),
      keys)
    val more = onFiles.filterNot(scan.dataFilters.contains)
    ZOrderFileScan.of(scan.copy(
      relation = relation.copy(location = index)(relation.sparkSession),
      dataFilters = scan.dataFilters ++ more))
  }
}

/** Prunes the listing of such a table. */
private[sparkzorder] final class FormatPruning(
    val table: FormatFileTable,
    val columns: TableColumns)
    extends (Seq[Expression] => Option[FilePruner]) {

  /** An error does not fail the query, which reads all files then. */
  override def apply(filters: Seq[Expression]): Option[FilePruner] =
    try table.pruner(filters, columns)
    catch {
      case PruningFailure(e) if !JobCancellation.isCauseOf(e) =>
        IndexPruning.failed(table.name, e)
        None
    }
}
