// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ScanOperation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.{FileIndex, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine

import io.sparkzorder.conf.{RelationConf, Settings}
import io.sparkzorder.skipping.predicate.{FilePruner, FilterOnBounds, TableColumns}
import io.sparkzorder.util.{FirstStrategies, JobCancellation}

/**
 * A leaf of an optimized plan that reads a table whose format lists the files and knows their bounds. A file
 * is tested by its path and by bounds that its format keeps for this path. A file without known bounds
 * is read. So a commit between the planning of a query and its run makes no difference.
 */
private[sparkzorder] trait FormatTable {

  /** The table in messages. */
  def name: String

  /** True if Spark and the format prune by the column while the query runs. */
  def isPrunedBySpark(column: Attribute): Boolean

  /** What the files of the table hold of some columns, for a decision while the query is planned. */
  def known(filters: Seq[Expression], columns: TableColumns): FilterOnBounds
}

/** A table that Spark reads by its interface for sources of version 2. */
private[sparkzorder] trait FormatBatchTable extends FormatTable {

  /** The number of files in some partitions of the format's own scan. */
  def files(partitions: Array[InputPartition]): Long

  /**
   * What is left of some partitions of the format's own scan.
   *
   * @param filters as the run of the query has given them values
   */
  def pruned(
      partitions: Array[InputPartition],
      filters: Seq[Expression],
      columns: TableColumns): PrunedPartitions
}

/** A table that Spark reads as files. */
private[sparkzorder] trait FormatFileTable extends FormatTable {

  /** True for the files of the table as the format's own strategy has planned them. */
  def isOf(location: FileIndex): Boolean

  /** Tests files by data filters; None if they keep every file. */
  def pruner(filters: Seq[Expression], columns: TableColumns): Option[FilePruner]
}

/**
 * @param total files that the format's own scan reads
 * @param kept those that are read
 * @param keptBytes their bytes
 */
private[sparkzorder] final case class PrunedPartitions(
    partitions: Array[InputPartition],
    total: Long,
    kept: Long,
    keptBytes: Long)

private[sparkzorder] object FormatTable extends PredicateHelper with Logging {

  /** Finds the table of a leaf. */
  type Finder = LogicalPlan => Option[FormatTable]

  // the formats are in packages above this one
  @volatile private var finder: Finder = (_: LogicalPlan) => None

  // leaves for which ranges of columns are derived, before filters are pushed to them
  @volatile private var taker: LogicalPlan => Boolean = (_: LogicalPlan) => false

  def findBy(other: Finder, takesRanges: LogicalPlan => Boolean): Unit = {
    finder = other
    taker = takesRanges
  }

  /** True for a leaf of a table of a format that prunes by ranges of columns. */
  def takesRanges(leaf: LogicalPlan): Boolean =
    try taker(leaf)
    catch {
      case e @ (_: LinkageError | NonFatal(_)) =>
        logDebug("a relation is not known", e)
        false
    }

  /** None for a leaf that is no scan of such a table, or of a kind that is not known. */
  def of(leaf: LogicalPlan): Option[FormatTable] =
    try finder(leaf)
    catch {
      // a query must not fail by this; it reads as without us
      case e @ (_: LinkageError | NonFatal(_)) =>
        logDebug("a scan is not known", e)
        None
    }

  def columnsOf(output: Seq[Attribute]): TableColumns = {
    val schema = org.apache.spark.sql.catalyst.types.DataTypeUtils.fromAttributes(output)
    new TableColumns(
      output,
      schema,
      new org.apache.spark.sql.types.StructType,
      SQLConf.get.resolver)
  }

  /** True for a filter that we have made of the keys of joins. */
  def isOfJoin(filter: Expression, r: LogicalPlan, table: FormatTable): Boolean =
    splitDisjunctivePredicates(filter).forall {
      case _: DynamicPruningSubquery | _: DynamicPruningExpression => true
      case _ => false
    } && isOnData(filter, r, table)

  /** True if a filter reads columns of the relation by which Spark does not prune. */
  def isOnData(e: Expression, r: LogicalPlan, table: FormatTable): Boolean =
    e.references.nonEmpty && e.references.subsetOf(r.outputSet) &&
      !e.references.exists(table.isPrunedBySpark)

  /** True for a comparison with scalar subqueries, and with no others. */
  def comparesWithSubquery(filter: Expression, r: DataSourceV2ScanRelation): Boolean =
    filter.references.nonEmpty && filter.references.subsetOf(r.outputSet) &&
      ScanFilters.comparesWithSubquery(filter)
}

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
