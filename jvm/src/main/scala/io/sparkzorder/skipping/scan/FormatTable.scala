// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.skipping.scan

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ScanOperation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.{FileIndex, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sparkzorder.SparkLine
import org.apache.spark.sql.types.StructType

import io.sparkzorder.conf.{RelationConf, Settings}
import io.sparkzorder.skipping.predicate.{FilePruner, FilterOnBounds, TableColumns}
import io.sparkzorder.util.FirstStrategies

/**
 * A table that a leaf of an optimized plan reads, and whose format (Delta or Iceberg) lists the files and keeps
 * their bounds. A file is tested by the bounds that the format keeps for its path, and a file without known
 * bounds is read. Therefore a commit between planning and running a query cannot cause a wrong skip.
 */
private[sparkzorder] trait FormatTable {

  /** The name of the table in messages. */
  def name: String

  /** True if Spark and the format already prune by the column while the query runs. */
  def isPrunedBySpark(column: Attribute): Boolean

  /** The filters compiled for the bounds of the files, for decisions while the query is planned. */
  def known(filters: Seq[Expression], columns: TableColumns): FilterOnBounds
}

/** A table that Spark reads as a data source of version 2. */
private[sparkzorder] trait FormatBatchTable extends FormatTable {

  /** The number of files in input partitions that the format has planned. */
  def files(partitions: Array[InputPartition]): Long

  /**
   * Removes files from input partitions that the format has planned.
   *
   * @param filters the filters, with the values that the run of the query has given them
   */
  def pruned(
      partitions: Array[InputPartition],
      filters: Seq[Expression],
      columns: TableColumns): PrunedPartitions
}

/** A table that Spark reads as files. */
private[sparkzorder] trait FormatFileTable extends FormatTable {

  /** True for the file index that the strategy of the format uses for this table. */
  def isOf(location: FileIndex): Boolean

  /** A pruner by data filters; None if the filters keep every file. */
  def pruner(filters: Seq[Expression], columns: TableColumns): Option[FilePruner]
}

/**
 * The input partitions that are left after pruning, and the number and size of their files.
 *
 * @param total the number of files before pruning
 */
private[sparkzorder] final case class PrunedPartitions(
    partitions: Array[InputPartition],
    total: Long,
    kept: Long,
    keptBytes: Long)

private[sparkzorder] object FormatTable extends Logging {

  /** A function from a leaf of a plan to the table that it reads. */
  type Finder = LogicalPlan => Option[FormatTable]

  // The packages of the formats set these two functions, because this package must not depend on those.
  @volatile private var finder: Finder = (_: LogicalPlan) => None

  // true for a leaf for which DerivedRanges adds ranges of columns before Spark pushes filters to it
  @volatile private var taker: LogicalPlan => Boolean = (_: LogicalPlan) => false

  def findBy(other: Finder, takesRanges: LogicalPlan => Boolean): Unit = {
    finder = other
    taker = takesRanges
  }

  /** True for a leaf whose table format prunes by ranges of columns. */
  def takesRanges(leaf: LogicalPlan): Boolean = orElse(false)(taker(leaf))

  /** The table that a leaf reads; None if the leaf is not a scan of such a table, or is not recognized. */
  def of(leaf: LogicalPlan): Option[FormatTable] = orElse(Option.empty[FormatTable])(finder(leaf))

  private def orElse[T](unknown: T)(found: => T): T =
    try found
    catch {
      // the query must not fail here: if no table is found, Spark plans the query as without this extension
      case e @ (_: LinkageError | NonFatal(_)) =>
        logDebug("a scan is not known", e)
        unknown
    }

  def columnsOf(output: Seq[Attribute]): TableColumns = {
    val schema = DataTypeUtils.fromAttributes(output)
    new TableColumns(output, schema, new StructType, SQLConf.get.resolver)
  }

  /** True for a filter that this extension has made from the keys of joins. */
  def isOfJoin(filter: Expression, r: LogicalPlan, table: FormatTable): Boolean =
    RuntimeFilters.isOfJoin(filter) && isOnData(filter, r, table)

  /** True if a filter reads columns of the relation, and only columns by which Spark does not prune. */
  def isOnData(e: Expression, r: LogicalPlan, table: FormatTable): Boolean =
    ScanFilters.isOnColumns(e, r) && !e.references.exists(table.isPrunedBySpark)
}

/**
 * Prunes scans of tables whose format lists the files for Spark's own reader (Delta). The files are pruned by the
 * keys of joins, the values of subqueries and lists of values. The strategy of the format plans the scan, which
 * also leaves out deleted rows. Afterwards, only the physical scan gets another file index, which returns the
 * format's own entries of the files that are left.
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

  /**
   * True for a filter with a list of values, because the format itself may test only the least and the greatest
   * value of the list.
   */
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
    val isPruned = Settings.ofSession(Settings.SkippingEnabled) && !Accelerators.areHere
    if ((rest eq plan) && !isPruned) Nil
    else if (!isPruned) ofOthers(rest)
    else {
      val keys = ScanFilters.keys(filters, r)
      ofOthers(rest).map(_.transformUp {
        case s: FileSourceScanExec
            if s.getClass == classOf[FileSourceScanExec] && table.isOf(s.relation.location) =>
          pruned(s, onFiles, keys, r, table)
      })
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

/** Prunes the listing of a [[FormatFileTable]]. */
private[sparkzorder] final class FormatPruning(
    val table: FormatFileTable,
    val columns: TableColumns)
    extends (Seq[Expression] => Option[FilePruner]) {

  /** A pruner by the filters. After an error, None: the query then reads all files and does not fail. */
  override def apply(filters: Seq[Expression]): Option[FilePruner] =
    PruningFailure.orElse(
      Option.empty[FilePruner],
      s"spark-zorder does not use the statistics of the files of ${table.name} for some filters")(
      table.pruner(filters, columns))
}
